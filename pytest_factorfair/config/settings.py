"""The settings of a run, in one frozen value.

The command line takes precedence over the environment, the environment over pyproject.toml, and this over
defaults. A wrong value raises InputError: one line that says where it was given.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from pytest_factorfair.benchmarks.canary import BASELINE_REPEATS, REPEATS
from pytest_factorfair.config import sources
from pytest_factorfair.config.options import FILES, OPTIONS
from pytest_factorfair.config.sources import OptionValue, Replicas
from pytest_factorfair.domain import AnswerMode, Ceilings, Estimator, Interval, Reuse, Sampling, Waiver
from pytest_factorfair.errors import InputError
from pytest_factorfair.models.spec import slug

DEFAULT_STORE = f".factorfair/{sources.STORE_FILE}"
DEFAULT_PICTURES = ".factorfair/images"
DEFAULT_REPORT = ".factorfair/report"

DEFAULTS = {option.name: False if option.kind == "flag" else option.default for option in OPTIONS}


@dataclass(frozen=True, slots=True)
class Preset:
    """A preset: sample sizes, design, truth set and estimator; ``judged`` is whether gates are judged.

    ``precise`` is the number of answers per topic and context at the first look if answers are probabilities,
    which carry more information than sampled letters; None for the same number.
    """

    sampling: Sampling
    truth: str
    judged: bool = True
    estimator: Estimator = "corrected"
    precise: int | None = None

    def samples(self, answers: AnswerMode) -> int:
        """The number of answers per topic and context."""
        precise_samples = self.precise if answers == "probabilities" else None
        return self.sampling.samples if precise_samples is None else precise_samples


TINY = "tiny"
"""The preset that reduces checklists to a first look, which no sample size makes worth a judgement."""

CANARY = "canary"
"""The preset that compares a model's answers to fixed questions with those of its first run, its baseline."""

PRESETS: dict[str, Preset] = {
    CANARY: Preset(
        Sampling("balanced", samples=1, objective=1, seed=0, repeats=REPEATS, declines="missing"), "audited"
    ),
    TINY: Preset(
        Sampling(
            "balanced",
            samples=8,
            objective=4,
            seed=0,
            images=12,
            prompts="implicit",
            per_prompt=8,
            declines="neutral",
        ),
        "audited",
        judged=False,
    ),
    "smoke": Preset(
        Sampling(
            "balanced",
            samples=24,
            objective=4,
            seed=0,
            images=4,
            prompts="characteristics",
            per_prompt=20,
            declines="neutral",
        ),
        "audited",
        judged=False,
    ),
    "ci": Preset(
        Sampling(
            "balanced",
            samples=72,
            objective=24,
            seed=0,
            images=20,
            prompts="implicit",
            per_prompt=50,
            declines="neutral",
        ),
        "audited",
        precise=24,  # with fewer answers, intervals do not have their coverage
    ),
    "paper": Preset(
        Sampling("paper", samples=300, objective=3, seed=0, images=20, prompts="all", per_prompt=800),
        "published",
        estimator="plugin",
    ),
}


SLURM_TASKS = "SLURM_ARRAY_TASK_COUNT"
"""Slurm's variable for the number of submitted tasks of an array, even if only some are submitted again."""

SCHEDULERS: Mapping[str, tuple[str, str, str]] = {
    "SLURM_ARRAY_TASK_ID": ("SLURM_ARRAY_TASK_MIN", "0", SLURM_TASKS),
    "JOB_COMPLETION_INDEX": ("", "0", sources.SHARDS),
    "CI_NODE_INDEX": ("", "1", "CI_NODE_TOTAL"),
}
"""The variables of schedulers: Slurm arrays, Kubernetes indexed Jobs and GitLab's ``parallel``.

By the variable of a job's index: the variable of the lowest index, its default, and the variable of the
number of jobs.
"""


NUMBER = re.compile(r"\d{1,9}")
"""Matches the number of a shard."""


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard: one of the ``count`` parts of a run, numbered from 1."""

    number: int
    count: int

    def __str__(self) -> str:
        return f"shard {self.number} of {self.count}"

    @classmethod
    def parsed(cls, setting: OptionValue, environment: Mapping[str, str]) -> Shard:
        """Parse ``I/N``, or ``auto`` for the variables that a scheduler sets for each job.

        Raises:
            InputError: the setting is neither, or no scheduler says which shard this is.
        """
        index, separator, count = setting.value.partition("/")
        base_index = "1"
        if setting.value == "auto":
            name = next((name for name in SCHEDULERS if environment.get(name)), None)
            if name is None:
                raise InputError(
                    f"{setting.where}: auto finds none of {', '.join(SCHEDULERS)}; give I/N, such as 2/8"
                )
            base_variable, base_index, total = SCHEDULERS[name]
            index, separator, count = environment[name], "/", environment.get(total, "")
            base_index = environment.get(base_variable, base_index)
            if not count:
                raise InputError(f"{setting.where}: auto needs {total}, the number of shards, besides {name}")
            if total == SLURM_TASKS and count == "1":
                raise InputError(
                    f"{setting.where}: auto finds a Slurm array of one task, such as one task of a larger "
                    f"array that is submitted again; name its shard, such as {index}/8"
                )
        if not separator or not all(map(NUMBER.fullmatch, (index, count, base_index))):
            raise InputError(
                f"{setting.where}: expected I/N, such as 2/8, or auto, got '{index}{separator}{count}'"
            )
        shard = cls(int(index) - int(base_index) + 1, int(count))
        if not 1 <= shard.number <= shard.count:
            raise InputError(f"{setting.where}: there is no {shard}; expected I/N with I from 1 to N")
        return shard


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a run; paths and the store's URL are absolute.

    ``shard`` is the part that this run asks. ``run`` is the name under which several controllers share
    limits, "" for a run with limits of its own. ``pictures`` is the folder or URL that the user names for
    pictures; without one, ``own_pictures`` is the folder for a store that is not a file. ``connections`` is
    the number for the whole run; a worker's settings have its share. ``cluster`` is the address of a Ray
    cluster, "" for any available one, None to stay in this process. ``sizes`` are the names given in
    ``samples``. ``first_baseline`` is the file to which the first run of a canary writes its report, as the
    baseline of later ones. ``origins`` says where each option was given, by its name. ``set_aside`` is the
    reason why declared gates are not in ``gates``, "" if they are. ``unread`` says which settings are not
    read, because pytest has another root folder than the current one.
    """

    models: tuple[str, ...]
    model_arguments: Mapping[str, str]
    checklists: tuple[str, ...] | None
    preset: str
    judged: bool
    sampling: Sampling
    answers: AnswerMode
    truth: str
    estimator: Estimator
    interval: Interval
    gates: tuple[str, ...]
    set_aside: str
    unread: str
    undecided: str
    plan: bool
    batch: str
    lock: str | None
    locked: str | None
    looks: int
    looks_after_fail: bool
    explain: bool
    baseline: str | None
    first_baseline: str | None
    waivers: tuple[Waiver, ...]
    detector: str | None
    detector_errors: str | None
    connections: int
    ceilings: Ceilings
    retries: int
    first_replies: int
    patience: float
    run: str
    cluster: str | None
    replicas: Replicas
    shard: Shard | None
    store: str
    pictures: str | None
    own_pictures: str
    reuse: Reuse
    max_age: float | None
    warm: bool
    report: str
    log: tuple[str, ...]
    base: str
    sizes: tuple[str, ...]
    origins: Mapping[str, str]

    def where(self, option: str) -> str:
        """Where an option was given, for the beginning of a message; its name if it was not given."""
        return self.origins.get(option, option)

    @property
    def folder(self) -> Path | None:
        """The folder in which batches are files; None if they are sent to services."""
        return Path(self.batch.removeprefix(FILES)) if self.batch.startswith(FILES) else None

    def sampled(self, answers: AnswerMode) -> Sampling:
        """The sampling that the run would have in this answer mode."""
        if "samples" in self.sizes:
            return self.sampling
        return replace(self.sampling, samples=PRESETS[self.preset].samples(answers))


def resolve(
    typed: Mapping[str, OptionValue],
    environment: Mapping[str, str],
    *,
    root: Path,
    here: Path,
    only: Collection[str] = tuple(DEFAULTS),
) -> Settings:
    """Resolve the settings from all sources: ``root`` is the project's folder, ``here`` the current folder.

    ``only`` are the names of the options that the environment and pyproject.toml may set, besides waivers.

    Raises:
        InputError: a value is invalid; names where it was given.
    """
    sources.check_variables(environment)
    table = {
        name: setting for name, setting in sources.pyproject(root).items() if name in (*only, sources.WAIVERS)
    }
    ignored = {option.variable for option in OPTIONS if option.name not in only}
    variables = {name: text for name, text in environment.items() if name not in ignored}
    given_options = sources.collect(typed, variables, table, here=here)
    values: dict[str, Any] = DEFAULTS | {name: setting.value for name, setting in given_options.items()}
    _check_together(given_options, values)
    first_baseline = None
    if values["preset"] == CANARY:
        given_options, first_baseline = _canary(given_options, root=root)
        values |= {name: setting.value for name, setting in given_options.items()}
    preset, sizes = PRESETS[values["preset"]], values["samples"] or {}
    judged = preset.judged or (bool(sizes) and values["preset"] != TINY)
    gates, set_aside = _gates(given_options, table, judged=judged)
    if first_baseline is not None:
        gates, set_aside = (), f"a first run, whose answers are now the baseline {Path(first_baseline).name}"
    estimator = values["estimator"] or preset.estimator
    if "images" in sizes:
        sizes = {**sizes, "per_prompt": sizes["images"], "per_scene": sizes["images"]}
    reuse, max_age = values["reuse"]
    looks = values["looks"] or 1
    if values["looks"] is None and values["preset"] == "ci" and not sizes:
        # With probabilities, errors are small from the start, and every look costs power.
        looks = 2 if values["answers"] == "probabilities" else 4
    checklists = None
    if (named := given_options.get("checklist")) is not None:
        files = (".yaml", ".yml")  # relative to the folder of the setting
        names = (str(named.folder / name) if name.endswith(files) else name for name in named.value)
        checklists = tuple(dict.fromkeys(names))
    waivers: tuple[Waiver, ...] = ()
    if (listed := table.get(sources.WAIVERS)) is not None:
        from pytest_factorfair import gates as gating  # lazy: imports numpy

        waivers = gating.waivers(listed.value, listed.where)
    # Most settings are the value of the option with their name; the following are not.
    options = {field.name: field.name.replace("_", "-") for field in fields(Settings)}
    settings = {name: values[option] for name, option in options.items() if option in values} | {
        "models": values["model"],
        "model_arguments": values["model-arg"] or {},
        "checklists": checklists,
        "judged": judged,
        "sampling": replace(
            preset.sampling,
            design=values["design"] or preset.sampling.design,
            seed=preset.sampling.seed if values["seed"] is None else values["seed"],
            declines=values["declines"]
            or ("missing" if estimator == "published-code" else preset.sampling.declines),
            **{
                "samples": preset.samples(values["answers"]),
                "repeats": preset.sampling.repeats if first_baseline is None else BASELINE_REPEATS,
                **sizes,
            },
        ),
        "sizes": tuple(sizes),
        "truth": values["truth"] or preset.truth,
        "estimator": estimator,
        "looks": looks,
        "gates": gates,
        "set_aside": set_aside,
        "first_baseline": first_baseline,
        "unread": sources.unread(root, here),
        "log": values["log"] or (),
        "reuse": reuse,
        "max_age": max_age,
        "waivers": waivers,
        "connections": values["max-connections"],
        "ceilings": Ceilings(*(values[f"max-{limit.name}"] for limit in fields(Ceilings))),
        "cluster": values["executor"],
        "replicas": values["replicas"] or Replicas(),
        "shard": Shard.parsed(given_options["shard"], environment) if "shard" in given_options else None,
        "store": values["store"] or f"sqlite:///{root / DEFAULT_STORE}",
        "own_pictures": str(root / DEFAULT_PICTURES),
        "report": values["report"] or str(root / DEFAULT_REPORT),
        "base": str(here),
        "origins": {name: setting.where for name, setting in {**table, **given_options}.items()},
    }
    return Settings(**settings)


def _check_together(given_options: Mapping[str, OptionValue], values: Mapping[str, Any]) -> None:
    """Reject options that exclude or require each other, and a model that is named twice.

    Raises:
        InputError: the options cannot be combined; names where they were given.
    """
    if values["shard"] and values["reuse"][0] == "only":
        shard, reuse = given_options["shard"].where, given_options["reuse"].where
        raise InputError(f"{shard} asks a part, and {reuse} nothing: give one")
    if values["batch"] and values["reuse"][0] == "only":
        batch, reuse = given_options["batch"].where, given_options["reuse"].where
        raise InputError(f"{batch} asks, and {reuse} asks nothing: give one")
    for model in values["model"]:
        if values["model"].count(model) > 1:
            raise InputError(f"{given_options['model'].where}: '{model}' is named twice: name it once")
    if values["explain"] and values["answers"] == "probabilities":
        words, none = given_options["explain"].where, given_options["answers"].where
        raise InputError(f"{words} needs replies in words, and {none} asks for probabilities: give one")
    if "lock" in given_options and not values["plan"]:
        raise InputError(f"{given_options['lock'].where}: needs --factorfair-plan, which asks nothing")
    if "replicas" in given_options and values["executor"] is None:
        raise InputError(f"{given_options['replicas'].where}: needs --factorfair-executor=ray")


def _canary(
    given_options: Mapping[str, OptionValue], *, root: Path
) -> tuple[dict[str, OptionValue], str | None]:
    """The options with the defaults of preset canary; and the baseline to write, if the model has none yet.

    Raises:
        InputError: there are several models, of which a baseline can follow one.
    """
    where = given_options["preset"].where
    models = given_options["model"].value
    if len(models) > 1:
        raise InputError(
            f"{where}: a canary follows one model, and {len(models)} are named: run one at a time"
        )
    defaults: dict[str, object] = {
        "checklist": (CANARY,),
        "reuse": ("none", None),
        "gate": ("default",),
        "baseline": str(root / f"factorfair-canary-{slug(models[0])}.json.gz"),
    }
    settings = {name: OptionValue(value, f"{where}: its {name}", root) for name, value in defaults.items()}
    settings |= given_options
    baseline = str(settings["baseline"].value)
    if "baseline" in given_options or Path(baseline).exists():
        return settings, None
    del settings["baseline"]
    if NO_GATES in settings["gate"].value:
        return settings, None
    return settings, baseline


NO_GATES = "none"
"""The value of ``gate`` that disables the gates of pyproject.toml."""


def _gates(
    given_options: Mapping[str, OptionValue], table: Mapping[str, OptionValue], *, judged: bool
) -> tuple[tuple[str, ...], str]:
    """The declared gates, and the reason why those of pyproject.toml are set aside ("" if they are not).

    Raises:
        InputError: ``none`` is combined with other gates, or the preset is too small to judge gates.
    """
    if "gate" not in given_options:
        return (), ""
    expressions, where = given_options["gate"].value, given_options["gate"].where
    if NO_GATES in expressions:
        if len(expressions) > 1:
            raise InputError(f"{where}: '{NO_GATES}' stands alone, got '{'; '.join(expressions)}'")
        overruled = "gate" in table and where != table["gate"].where
        return (), f"{where}={NO_GATES} sets the gates of pyproject.toml aside" if overruled else ""
    if judged:
        return expressions, ""
    in_table = {
        name
        for name in ("gate", "preset")
        if name in table and given_options[name].where == table[name].where
    }
    preset = given_options["preset"]
    if in_table == {"gate"}:
        return (), f"preset {preset.value} sets the gates of pyproject.toml aside"
    raise InputError(
        f"{where} and {preset.where}: preset {preset.value} is too small to judge a gate; "
        "take preset ci, or leave the gates out"
    )
