"""What was typed over environment over pyproject over defaults, resolved into one frozen value.

Everything that is wrong raises InputError with one line that names where it was given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_factorfair.config import sources
from pytest_factorfair.config.sources import Given
from pytest_factorfair.domain import AnswerMode, Estimator, Interval, Sampling
from pytest_factorfair.errors import InputError, nearest
from pytest_factorfair.redaction import shown_url

DEFAULT_STORE = ".factorfair/responses.sqlite"
DEFAULT_PICTURES = ".factorfair/images"
DEFAULT_REPORT = ".factorfair/report"

MOST_LOOKS = 4


@dataclass(frozen=True, slots=True)
class Preset:
    """Sizes, design, truth and estimator in one word; ``judged`` is false where it only allows a report.

    ``precise`` is the number of answers per topic and context, at the first look, where answers are
    probabilities: they tell more than drawn ones. None is the same number.
    """

    sampling: Sampling
    truth: str
    judged: bool = True
    estimator: Estimator = "corrected"
    precise: int | None = None

    def samples(self, answers: AnswerMode) -> int:
        """Answers per topic and context."""
        few = self.precise if answers == "probabilities" else None
        return self.sampling.samples if few is None else few


PRESETS: dict[str, Preset] = {
    "smoke": Preset(
        Sampling(
            "balanced", samples=24, objective=4, seed=0, images=4, prompts="characteristics", per_prompt=20
        ),
        "audited",
        judged=False,
    ),
    "ci": Preset(
        Sampling("balanced", samples=72, objective=24, seed=0, images=20, prompts="implicit", per_prompt=50),
        "audited",
        precise=24,  # with fewer, intervals do not keep their coverage
    ),
    "paper": Preset(
        Sampling("paper", samples=300, objective=3, seed=0, images=20, prompts="all", per_prompt=800),
        "published",
        estimator="plugin",
    ),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything a run was asked to do; paths and the store URL are absolute.

    ``run`` names a run whose limits several controllers share, "" one of this controller's own. ``pictures``
    is the folder of pictures of a store that is not a file. ``connections`` are those of the whole run; the
    settings that a worker receives have its share. ``sizes`` are the names of the sizes in ``samples``, and
    ``origins`` says where each option was given, by its name.
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
    on_inconclusive: str
    on_incomplete: str
    plan: bool
    explain_cache: bool
    looks: int
    explain: bool
    baseline: str | None
    waivers: tuple[tuple[str, str, str], ...]
    detector: str | None
    detector_errors: str | None
    connections: int
    max_rpm: int | None
    max_calls: int | None
    max_cost: float | None
    max_minutes: float | None
    retries: int
    patience: float
    run: str
    max_unparsed: float
    store: str
    pictures: str
    replay: bool
    refresh: bool
    warm: bool
    report: str
    judge_selected: bool
    strict: bool
    base: str
    sizes: tuple[str, ...]
    origins: Mapping[str, str]

    def sampled(self, answers: AnswerMode) -> Sampling:
        """The sampling of the same run if it asked for answers of this kind."""
        if "samples" in self.sizes:
            return self.sampling
        return replace(self.sampling, samples=PRESETS[self.preset].samples(answers))


def resolve(
    typed: Mapping[str, Given], environment: Mapping[str, str], *, root: Path, here: Path
) -> Settings:
    """Read all sources once: ``root`` is the project's folder, ``here`` the one that the run starts in.

    Raises:
        InputError: a value that cannot be right, naming where it was given.
    """
    table = sources.pyproject(root)
    given = sources.collect(typed, environment, table, here=here)
    preset = PRESETS[given["preset"].value if "preset" in given else "ci"]
    store = _store(given.get("store"), root)
    sizes = _sizes(given["samples"]) if "samples" in given else {}

    def value(name: str, default: Any = None) -> Any:
        return given[name].value if name in given else default

    if value("replay", default=False) and value("refresh", default=False):
        raise InputError(
            "--factorfair-replay asks nothing and --factorfair-refresh asks everything: give one"
        )
    if value("plan", default=False) and value("explain-cache", default=False):
        raise InputError("--factorfair-plan and --factorfair-explain-cache each ask nothing: give one")
    if value("explain", default=False) and value("answers", "text") == "probabilities":
        raise InputError(
            "--factorfair-explain asks for words and --factorfair-answers=probabilities for none: give one"
        )
    return Settings(
        models=tuple(dict.fromkeys(value("model"))),
        model_arguments=_arguments(given.get("model-arg")),
        checklists=_checklists(given.get("checklist")),
        preset=value("preset", "ci"),
        judged=preset.judged or "samples" in given,
        sampling=replace(
            preset.sampling,
            design=value("design", preset.sampling.design),
            seed=value("seed", preset.sampling.seed),
            **{"samples": preset.samples(value("answers", "text")), **sizes},
        ),
        answers=value("answers", "text"),
        truth=value("truth", preset.truth),
        estimator=value("estimator", preset.estimator),
        interval=value("interval", "instrument"),
        gates=tuple(value("gate", ())),
        on_inconclusive=value("on-inconclusive", "warn"),
        on_incomplete=value("on-incomplete", "fail"),
        plan=value("plan", default=False),
        explain_cache=value("explain-cache", default=False),
        looks=_looks(given, value("answers", "text")),
        explain=value("explain", default=False),
        baseline=_path(given.get("baseline")),
        waivers=_waivers(table.get(sources.WAIVERS)),
        detector=value("detector"),
        detector_errors=_path(given.get("detector-errors")),
        connections=_positive(given, "max-connections", 64),
        max_rpm=_limit(given, "max-rpm"),
        max_calls=_limit(given, "max-calls"),
        max_cost=value("max-cost"),
        max_minutes=value("max-minutes"),
        retries=_positive(given, "retries", 5, least=0),
        patience=value("patience", 300.0),
        run=value("run", ""),
        max_unparsed=value("max-unparsed", 0.05),
        store=store,
        pictures=str(root / DEFAULT_PICTURES),
        replay=value("replay", default=False),
        refresh=value("refresh", default=False),
        warm=value("warm", default=False),
        report=str(given["report"].folder / value("report") if "report" in given else root / DEFAULT_REPORT),
        judge_selected=value("judge-selected", default=False),
        strict=value("strict", default=False),
        base=str(here),
        sizes=tuple(sizes),
        origins={name: one.where for name, one in given.items()},
    )


def _path(given: Given | None) -> str | None:
    return None if given is None else str(given.folder / given.value)


def _positive(given: Mapping[str, Given], name: str, default: int, *, least: int = 1) -> int:
    if name not in given:
        return default
    number = int(given[name].value)
    if number < least:
        raise InputError(f"{given[name].where}: expected a number of at least {least}, got {number}")
    return number


def _limit(given: Mapping[str, Given], name: str) -> int | None:
    return _positive(given, name, 1) if name in given else None


def _sizes(given: Given) -> dict[str, Any]:
    """By the field of ``Sampling``. Any: mypy would check the numbers against every field of the class."""
    sizes: dict[str, Any] = {}
    for part in given.value.split(","):
        name, _, number = part.strip().rpartition("=")
        if name not in ("", "objective", "images"):
            raise InputError(f"{given.where}: unknown size '{name}'{nearest(name, ['objective', 'images'])}")
        if not number.strip().isdecimal() or int(number) < 1:
            raise InputError(
                f"{given.where}: expected N, objective=N or images=N with numbers of at least 1, "
                f"got '{given.value}'"
            )
        sizes[name or "samples"] = int(number)
    if "images" in sizes:
        sizes["per_prompt"] = sizes["images"]
    return sizes


def _arguments(given: Given | None) -> dict[str, str]:
    arguments: dict[str, str] = {}
    for text in given.value if given else ():
        key, separator, value = text.partition("=")
        if not separator or not key.strip():
            raise InputError(f"{given.where if given else ''}: expected KEY=VALUE, got '{text}'")
        arguments[key.strip()] = value
    return arguments


def _looks(given: Mapping[str, Given], answers: AnswerMode) -> int:
    """By default 4 where the sample size is the ci preset's own: it is the first look of four.

    Of probabilities two: their errors are small from the first, but each look costs some of the certainty.
    """
    chosen = "samples" in given or ("preset" in given and given["preset"].value != "ci")
    usual = 2 if answers == "probabilities" else MOST_LOOKS
    looks = _positive(given, "looks", 1 if chosen else usual)
    if looks > MOST_LOOKS:
        raise InputError(f"{given['looks'].where}: expected 1 to {MOST_LOOKS} looks, got {looks}")
    return looks


def _waivers(given: Given | None) -> tuple[tuple[str, str, str], ...]:
    """Plain tuples: settings travel to workers."""
    if given is None:
        return ()
    from pytest_factorfair.gates import waivers  # numpy: not for a run that has none

    found = waivers(given.value, given.where)
    return tuple((one.gate, one.reason, one.until) for one in found)


def _store(given: Given | None, root: Path) -> str:
    if given is None:
        return f"sqlite:///{root / DEFAULT_STORE}"
    prefix, separator, path = given.value.partition("sqlite:///")
    if separator and not prefix:
        return f"sqlite:///{given.folder / path}"
    if "://" not in given.value:
        raise InputError(
            f"store '{shown_url(given.value)}': expected a URL such as sqlite:///responses.sqlite"
        )
    return str(given.value)


def _checklists(given: Given | None) -> tuple[str, ...] | None:
    """Names as they are, files by their whole path; None leaves it to the models' modality."""
    if given is None:
        return None
    files = (".yaml", ".yml")
    names = (str(given.folder / name) if name.endswith(files) else name for name in given.value)
    return tuple(dict.fromkeys(names))
