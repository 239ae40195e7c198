"""Command line over environment over pyproject over defaults, resolved into one frozen value.

The only reader of ``config.getoption`` and of ``FACTORFAIR_*``. Everything that is wrong raises
InputError with one line that names where it was given.
"""

from __future__ import annotations

import math
import os
import tomllib
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_factorfair.domain import Estimator, Interval, Sampling
from pytest_factorfair.errors import InputError, nearest
from pytest_factorfair.options import MODEL, OPTIONS, Option

if TYPE_CHECKING:
    import pytest

DEFAULT_STORE = ".factorfair/responses.sqlite"
DEFAULT_REPORT = ".factorfair/report"

WAIVERS = "waivers"
"""Only in pyproject: a waiver has a reason and a date, and is reviewed with the code."""

MOST_LOOKS = 4

PREFIX = "FACTORFAIR_"

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off"}


@dataclass(frozen=True, slots=True)
class Preset:
    """Sizes, design, truth and estimator in one word; ``judged`` is false where it only allows a report."""

    sampling: Sampling
    truth: str
    judged: bool = True
    estimator: Estimator = "corrected"


PRESETS: dict[str, Preset] = {
    "smoke": Preset(Sampling("balanced", samples=24, objective=4, seed=0), "audited", judged=False),
    "ci": Preset(Sampling("balanced", samples=72, objective=24, seed=0), "audited"),
    "paper": Preset(Sampling("paper", samples=300, objective=3, seed=0), "published", estimator="plugin"),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything a run was asked to do; paths and the store URL are absolute."""

    models: tuple[str, ...]
    model_arguments: Mapping[str, str]
    checklists: tuple[str, ...]
    preset: str
    judged: bool
    sampling: Sampling
    truth: str
    estimator: Estimator
    interval: Interval
    gates: tuple[str, ...]
    on_inconclusive: str
    plan: bool
    looks: int
    baseline: str | None
    waivers: tuple[tuple[str, str, str], ...]
    detector: str | None
    connections: int
    max_rpm: int | None
    max_calls: int | None
    max_cost: float | None
    max_minutes: float | None
    run_file: str
    max_unread: float
    store: str
    replay: bool
    refresh: bool
    warm: bool
    report: str
    judge_selected: bool
    strict: bool
    base: str

    @property
    def limited(self) -> bool:
        """Whether calls are granted one by one."""
        return any((self.max_rpm, self.max_calls, self.max_cost, self.max_minutes))


@dataclass(frozen=True, slots=True)
class Given:
    """An option's value, where the user gave it, and the folder its paths are relative to."""

    value: Any
    where: str
    folder: Path


def resolve(config: pytest.Config) -> Settings:
    """Read all sources once.

    Raises:
        InputError: a value that cannot be right, naming where it was given.
    """
    table = _pyproject(config.rootpath)
    given = _given(config, os.environ, table)
    preset = PRESETS[given["preset"].value if "preset" in given else "ci"]
    root = config.rootpath
    store = _store(given.get("store"), root)

    def value(name: str, default: Any = None) -> Any:
        return given[name].value if name in given else default

    if value("replay", default=False) and value("refresh", default=False):
        raise InputError(
            "--factorfair-replay asks nothing and --factorfair-refresh asks everything: give one"
        )
    return Settings(
        models=tuple(dict.fromkeys(value("model"))),
        model_arguments=_arguments(given.get("model-arg")),
        checklists=_checklists(given.get("checklist")),
        preset=value("preset", "ci"),
        judged=preset.judged or "samples" in given,
        sampling=_sampling(given, preset),
        truth=value("truth", preset.truth),
        estimator=value("estimator", preset.estimator),
        interval=value("interval", "instrument"),
        gates=tuple(value("gate", ())),
        on_inconclusive=value("on-inconclusive", "warn"),
        plan=value("plan", default=False),
        looks=_looks(given),
        baseline=str(given["baseline"].folder / value("baseline")) if "baseline" in given else None,
        waivers=_waivers(table.get(WAIVERS)),
        detector=value("detector"),
        connections=_positive(given, "max-connections", 64),
        max_rpm=_limit(given, "max-rpm"),
        max_calls=_limit(given, "max-calls"),
        max_cost=value("max-cost"),
        max_minutes=value("max-minutes"),
        run_file=_run_file(store, root),
        max_unread=value("max-unread", 0.05),
        store=store,
        replay=value("replay", default=False),
        refresh=value("refresh", default=False),
        warm=value("warm", default=False),
        report=str(given["report"].folder / value("report") if "report" in given else root / DEFAULT_REPORT),
        judge_selected=value("judge-selected", default=False),
        strict=value("strict", default=False),
        base=str(config.invocation_params.dir),
    )


def _pyproject(root: Path) -> Mapping[str, Any]:
    path = root / "pyproject.toml"
    if not path.is_file():
        return {}
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {}).get("factorfair", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from None
    if not isinstance(table, dict):
        raise InputError(f"{path}: [tool.factorfair] must be a table")
    known = {option.toml: option for option in OPTIONS if option is not MODEL}
    for key in table:
        if key in (MODEL.toml, f"{MODEL.toml}s"):
            raise InputError(
                f"{path}: [tool.factorfair] {key}: a plain pytest must not start a paid run; "
                f"name the model on the command line or in {MODEL.variable}"
            )
        if key not in known and key != WAIVERS:
            close = nearest(key, {*known, WAIVERS})
            raise InputError(f"{path}: [tool.factorfair]: unknown key '{key}'{close}")
    names = {key: known[key].name if key in known else key for key in table}
    return {
        names[key]: Given(value, f"{path}: [tool.factorfair] {key}", root) for key, value in table.items()
    }


def _given(
    config: pytest.Config, environment: Mapping[str, str], table: Mapping[str, Given]
) -> dict[str, Given]:
    here = config.invocation_params.dir
    found: dict[str, Given] = {}
    _check_variables(environment)
    for option in OPTIONS:
        typed = config.getoption(option.dest, default=None)
        if typed not in (None, []):
            raw = Given(typed, option.flag, here)
        elif environment.get(option.variable):
            raw = Given(environment[option.variable], option.variable, here)
        elif option.name in table:
            raw = table[option.name]
        else:
            continue
        found[option.name] = replace(raw, value=PARSERS[option.kind](option, raw))
    return found


def _check_variables(environment: Mapping[str, str]) -> None:
    known = {option.variable for option in OPTIONS}
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in known:
            raise InputError(f"{name}: there is no such variable{nearest(name, known)}")


def _text(option: Option, given: Given) -> str:
    if option.name == "samples" and type(given.value) is int:
        return str(given.value)
    if not isinstance(given.value, str) or not given.value.strip():
        raise InputError(f"{given.where}: expected text, got {given.value!r}")
    return given.value.strip()


def _texts(option: Option, given: Given) -> tuple[str, ...]:
    value = given.value
    if isinstance(value, dict) and option.name == "model-arg":
        value = [f"{key}={item}" for key, item in value.items()]
    if isinstance(value, str):
        value = [part for part in value.split(";") if part.strip()]
    if not isinstance(value, list):
        raise InputError(f"{given.where}: expected a list of texts, got {value!r}")
    return tuple(_text(option, replace(given, value=part)) for part in value)


def _integer(_option: Option, given: Given) -> int:
    try:
        return int(str(given.value))
    except ValueError:
        raise InputError(f"{given.where}: expected a whole number, got '{given.value}'") from None


def _amount(_option: Option, given: Given) -> float:
    try:
        amount = float(str(given.value))
    except ValueError:
        amount = 0.0
    if not 0 < amount < math.inf:
        raise InputError(f"{given.where}: expected a number above 0, got '{given.value}'")
    return amount


def _share(_option: Option, given: Given) -> float:
    try:
        share = float(str(given.value))
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise InputError(f"{given.where}: expected a share from 0 to 1, got '{given.value}'")
    return share


def _flag(_option: Option, given: Given) -> bool:
    if isinstance(given.value, bool):
        return given.value
    word = str(given.value).lower()
    if word not in TRUE | FALSE:
        raise InputError(f"{given.where}: expected true or false, got '{given.value}'")
    return word in TRUE


def _choice(option: Option, given: Given) -> str:
    if given.value not in option.choices:
        raise InputError(
            f"{given.where}: unknown value '{given.value}'{nearest(str(given.value), option.choices)}"
        )
    return str(given.value)


PARSERS: dict[str, Callable[[Option, Given], Any]] = {
    "text": _text,
    "texts": _texts,
    "integer": _integer,
    "amount": _amount,
    "share": _share,
    "flag": _flag,
    "choice": _choice,
}


def _positive(given: Mapping[str, Given], name: str, default: int) -> int:
    if name not in given:
        return default
    number = int(given[name].value)
    if number < 1:
        raise InputError(f"{given[name].where}: expected a number of at least 1, got {number}")
    return number


def _limit(given: Mapping[str, Given], name: str) -> int | None:
    return _positive(given, name, 1) if name in given else None


def _sampling(given: Mapping[str, Given], preset: Preset) -> Sampling:
    sizes = {"samples": preset.sampling.samples, "objective": preset.sampling.objective}
    if "samples" in given:
        sizes |= _sizes(given["samples"])
    return Sampling(
        design=given["design"].value if "design" in given else preset.sampling.design,
        samples=sizes["samples"],
        objective=sizes["objective"],
        seed=given["seed"].value if "seed" in given else preset.sampling.seed,
    )


def _sizes(given: Given) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for part in given.value.split(","):
        name, _, number = part.strip().rpartition("=")
        if name not in ("", "objective"):
            raise InputError(f"{given.where}: unknown size '{name}'{nearest(name, ['objective'])}")
        if not number.strip().isdecimal() or int(number) < 1:
            raise InputError(
                f"{given.where}: expected N or N,objective=N with numbers of at least 1, got '{given.value}'"
            )
        sizes[name or "samples"] = int(number)
    return sizes


def _arguments(given: Given | None) -> dict[str, str]:
    arguments: dict[str, str] = {}
    for text in given.value if given else ():
        key, separator, value = text.partition("=")
        if not separator or not key.strip():
            raise InputError(f"{given.where if given else ''}: expected KEY=VALUE, got '{text}'")
        arguments[key.strip()] = value
    return arguments


def _looks(given: Mapping[str, Given]) -> int:
    """By default 4 where the sample size is the ci preset's own: it is the first look of four."""
    chosen = "samples" in given or ("preset" in given and given["preset"].value != "ci")
    looks = _positive(given, "looks", 1 if chosen else MOST_LOOKS)
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
        raise InputError(f"store '{given.value}': expected a URL such as sqlite:///responses.sqlite")
    return str(given.value)


def _checklists(given: Given | None) -> tuple[str, ...]:
    """Names as they are, files by their whole path."""
    if given is None:
        return ("fact_or_fair",)
    files = (".yaml", ".yml")
    names = (str(given.folder / name) if name.endswith(files) else name for name in given.value)
    return tuple(dict.fromkeys(names))


def _run_file(store: str, root: Path) -> str:
    """The run's own file: beside the store where that is a file."""
    _, is_file, path = store.partition("sqlite:///")
    folder = Path(path).parent if is_file else root / Path(DEFAULT_STORE).parent
    return str(folder / f"run-{uuid.uuid4().hex}.sqlite")
