"""Collect and parse options from the command line, the environment and pyproject.toml.

Only this module reads ``FACTORFAIR_*`` and ``[tool.factorfair]``.
"""

from __future__ import annotations

import math
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Self, get_args

from pytest_factorfair.config.options import FILES, GATE, MODEL, OPTIONS, PREFIX, RunOption
from pytest_factorfair.domain import Reuse
from pytest_factorfair.errors import InputError, nearest
from pytest_factorfair.redaction import shown_url

SHARDS = f"{PREFIX}SHARDS"
"""The variable for the number of shards of a Kubernetes Job; users set it, as Kubernetes does not."""

TABLE = "factorfair"
"""The table of pyproject.toml under ``tool``."""

WAIVERS = "waivers"
"""The key of waivers. Only pyproject.toml has it, so that reasons and dates are reviewed with the code."""

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off"}

BUCKETS = ("s3", "gs", "az")
"""The schemes of URLs for storing pictures."""

STORE_FILE = "responses.sqlite"
"""The file name of the store in a folder."""

SCHEME = re.compile(r"[A-Za-z][\w+.-]*:")
"""Matches the beginning of a URL."""

NAME = re.compile(r"\w[\w.-]*")
"""Matches the name of a run."""

AGE = re.compile(r"(\d+(?:\.\d+)?)\s*([hdw])")
UNITS = {"h": 3600, "d": 86_400, "w": 7 * 86_400}
"""Matches an age such as 12h; followed by the seconds of each unit."""

OLDEST = 1000 * 365 * 86_400
"""The maximum age in seconds that can be subtracted from today's date."""

MOST_ANSWERS = 100_000
"""The largest size, some 300 times the paper's."""

LARGEST = 2**31 - 1
"""The largest whole number that PostgreSQL stores as an integer."""

ALIKE = 0.7
"""The ratio of ``difflib`` from which a variable's name counts as a misspelling."""


@dataclass(frozen=True, slots=True)
class OptionValue:
    """The value of an option, where the user gave it, and the folder to which its paths are relative."""

    value: Any
    where: str
    folder: Path


@dataclass(frozen=True, slots=True)
class Replicas:
    """The copies of a model and of the detector.

    ``count`` copies of a model (None: as many as the GPUs allow) need ``gpus`` GPUs each. With 0
    ``detectors``, the detector stays in the controlling process.
    """

    count: int | None = None
    gpus: float = 1.0
    detectors: int = 0

    @classmethod
    def parsed(cls, setting: OptionValue) -> Self:
        """Parse N, gpus=F and detectors=M, in any order; gpus=0 requires N."""
        text = str(setting.value) if type(setting.value) is int else _text(setting)
        values: dict[str, float] = {}
        for part in text.split(","):
            name, equals, number = part.strip().rpartition("=")
            name = name if equals else "count"
            if name not in ("count", "gpus", "detectors") or name in values:
                raise InputError(f"{setting.where}: expected N[,gpus=F][,detectors=M], got '{text}'")
            try:
                values[name] = float(number) if name == "gpus" else int(number)
            except ValueError:
                values[name] = -1
            whole = name != "gpus" or values[name] <= 1 or values[name] % 1 == 0
            if not (name == "count") <= values[name] < 10**6 or not whole:
                raise InputError(
                    f"{setting.where}: expected N[,gpus=F][,detectors=M] with whole numbers, N of at least "
                    f"1, and F 0, a share or a whole number, got '{text}'"
                )
        if values.get("gpus") == 0 and "count" not in values:
            raise InputError(f"{setting.where}: with gpus=0, give the number of replicas: N,gpus=0")
        return cls(**values)  # type: ignore[arg-type]  # checked to be whole above


def pyproject(root: Path) -> Mapping[str, OptionValue]:
    """Read the table ``[tool.factorfair]``, by option name; empty without one.

    Raises:
        InputError: the file cannot be read, or has an unknown key.
    """
    path = root / "pyproject.toml"
    if not path.is_file():
        return {}
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from None
    tools = _tables(document, "tool")
    for prefix, tables in (("", document), ("tool.", tools), ("tool.pytest.", _tables(tools, "pytest"))):
        for name in tables:
            letters = re.sub(r"[^a-z]|pytest", "", name.lower())
            misspelt = f"{prefix}{name}" != f"tool.{TABLE}" and get_close_matches(
                TABLE, [letters], cutoff=0.8
            )
            if misspelt:  # its settings would be ignored
                raise InputError(f"{path}: there is no table [{prefix}{name}]; did you mean [tool.{TABLE}]?")
    table = tools.get(TABLE, {})
    if not isinstance(table, dict):
        raise InputError(f"{path}: [tool.factorfair] must be a table")
    options_by_key = {option.key: option for option in OPTIONS if option is not MODEL}
    for key in table:
        if key == MODEL.key:
            raise InputError(
                f"{path}: [tool.factorfair] {key}: a plain pytest must not start a paid run; "
                f"name the model on the command line or in {MODEL.variable}"
            )
        if key not in options_by_key and key != WAIVERS:
            close = nearest(key, {*options_by_key, WAIVERS})
            raise InputError(f"{path}: [tool.factorfair]: unknown key '{key}'{close}")
    names = {key: options_by_key[key].name if key in options_by_key else key for key in table}
    return {
        names[key]: OptionValue(value, f"{path}: [tool.factorfair] {key}", root)
        for key, value in table.items()
    }


def unread(root: Path, here: Path) -> str:
    """A line if the current folder's pyproject.toml has settings that are not read, as it is not the root.

    Options such as ``--rootdir`` and ``-c``, and ini files of tests, change pytest's root folder.
    """
    path = here / "pyproject.toml"
    try:
        if here.samefile(root) or TABLE not in tomllib.loads(path.read_text(encoding="utf-8"))["tool"]:
            return ""
    except (OSError, ValueError, LookupError, TypeError):  # no such file or table
        return ""
    return f"{path}: [tool.{TABLE}] is not read, nor are its gates: the root folder of this run is {root}"


def _tables(parent: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    tables = parent.get(name)
    return tables if isinstance(tables, dict) else {}


REPLACED: Mapping[str, str] = {
    "EXPLAIN_CACHE": "PLAN=true",
    "MAX_AGE": "REUSE=30d",
    "REFRESH": "REUSE=none",
    "REPLAY": "REUSE=only",
}
"""Variables of removed options, with what replaces them."""


def check_variables(environment: Mapping[str, str], *, strict: bool = True) -> None:
    """Reject variables ``FACTORFAIR_*`` that belong to no option; unless ``strict``, only misspelt ones.

    Raises:
        InputError: there is such a variable; names what replaced it, or the nearest name.
    """
    known_names = {option.variable.removeprefix(PREFIX) for option in OPTIONS} | {SHARDS.removeprefix(PREFIX)}
    names = {name.removeprefix(PREFIX) for name in environment if name.startswith(PREFIX)}
    for name in sorted(names - known_names):
        close = get_close_matches(name.upper(), known_names, n=1, cutoff=ALIKE)
        if name in REPLACED:
            advice = f"{PREFIX}{REPLACED[name]} replaces it"
        elif close:
            advice = f"did you mean '{PREFIX}{close[0]}'?"
        else:
            advice = "unset it"
        if strict or close:
            raise InputError(f"{PREFIX}{name}: there is no such variable; {advice}")


def check_no_gates(environment: Mapping[str, str], root: Path) -> None:
    """Reject an empty model variable (an unset variable of a CI job) if there are gates that it would skip.

    Raises:
        InputError: gates are declared, and the model's variable is empty.
    """
    declared = pyproject(root).get("gate")
    if declared or environment.get(GATE.variable):
        where = declared.where if declared else GATE.variable
        raise InputError(
            f"{MODEL.variable} is empty, and {where} declares gates: name the model, or unset the variable"
        )


def collect(
    typed: Mapping[str, OptionValue],
    environment: Mapping[str, str],
    table: Mapping[str, OptionValue],
    *,
    here: Path,
) -> dict[str, OptionValue]:
    """Parse every option that was given, from the source that takes precedence.

    An empty variable counts as unset: CI systems set a variable to nothing if its source does not exist.

    ``typed`` are the options from the command line or a call of ``run``, by name; ``here`` is the folder to
    which paths in the environment are relative.

    Raises:
        InputError: a value has the wrong form.
    """
    given_options: dict[str, OptionValue] = {}
    for option in OPTIONS:
        if option.name in typed:
            raw = typed[option.name]
        elif environment.get(option.variable):
            raw = OptionValue(environment[option.variable], option.variable, here)
        elif option.name in table:
            raw = table[option.name]
        else:
            continue
        given_options[option.name] = replace(raw, value=parsed(option, raw))
    return given_options


def parsed(option: RunOption, setting: OptionValue) -> Any:  # noqa: C901, PLR0911, PLR0912  # a case for each kind
    """Parse a value according to its option's kind.

    Texts become a tuple, pairs a dictionary of texts, sizes a dictionary of numbers by the field of
    ``Sampling``; paths become absolute.

    Raises:
        InputError: the value has the wrong form, or is outside the option's bounds.
    """
    setting = _not_blank(option, setting)
    value, where = setting.value, setting.where
    match option.kind:
        case "text":
            return _text(setting)
        case "name":
            if not NAME.fullmatch(text := _text(setting)):
                raise InputError(f"{where}: expected letters, digits, '.', '_' and '-', got '{text}'")
            return text
        case "path":
            return str(setting.folder / _text(setting))
        case "url":
            text = _text(setting)
            if "://" not in text and SCHEME.match(text):
                expected = "expected a file, a folder or a URL such as sqlite:///responses.sqlite"
                raise InputError(f"{where}: {expected}, got '{shown_url(text)}'")
            return store_url(text, setting.folder)
        case "pictures":
            return _pictures(setting)
        case "texts":
            return _texts(setting)
        case "pairs":
            items = (
                [f"{key}={argument}" for key, argument in value.items()] if isinstance(value, dict) else value
            )
            pairs = {}
            for text in _texts(replace(setting, value=items)):
                key, separator, argument = text.partition("=")
                if not separator or not key.strip() or not argument.strip():
                    raise InputError(f"{where}: expected KEY=VALUE, got '{text}'")
                pairs[key.strip()] = argument
            return pairs
        case "sizes":
            return _sizes(setting)
        case "executor":
            return _cluster(setting)
        case "replicas":
            return Replicas.parsed(setting)
        case "reuse":
            return _reuse(setting)
        case "batch":
            text = _text(setting)
            folder = text.removeprefix(FILES).strip()
            if text not in ("wait", "leave") and (not text.startswith(FILES) or not folder):
                raise InputError(f"{where}: expected wait, leave or files:DIR, got '{text}'")
            return FILES + os.path.normpath(setting.folder / folder) if text.startswith(FILES) else text
        case "flag":
            word = str(value).lower()
            if word not in TRUE | FALSE:
                raise InputError(f"{where}: expected true or false, got '{value}'")
            return word in TRUE
        case "choice":
            if value not in option.choices:
                close = nearest(str(value), option.choices)
                raise InputError(f"{where}: unknown value '{value}'{close}")
            return value
        case "integer" | "amount":
            return _number(option, setting)


def _not_blank(option: RunOption, setting: OptionValue) -> OptionValue:
    """Split the texts of a repeatable option, and reject a value that is blank or has a blank part.

    A blank gate would drop the gates of a source with lower precedence, and a blank checklist everything.

    Raises:
        InputError: the value, or a part of it, is empty or white space.
    """
    value = setting.value
    if option.repeatable and isinstance(value, str):
        value = value.split(";")
    parts = [*value.values()] if isinstance(value, dict) else value if isinstance(value, list) else [value]
    blank = [isinstance(part, str) and not part.strip() for part in parts]
    if all(blank) or any(blank):
        where = "" if all(blank) else f" in part {blank.index(True) + 1} of {len(parts)}"
        raise InputError(f"{setting.where}: expected {option.form}, got nothing{where}: {option.about}")
    return replace(setting, value=value)


def store_url(store: str, folder: Path | None = None) -> str:
    """The URL of a store that is given as a URL, a file or a folder; paths are relative to ``folder``.

    A path that does not exist names a file if it has an extension, otherwise a folder.
    """
    scheme, separator, remainder = store.partition("://")
    if separator and (scheme != "sqlite" or not remainder.startswith("/")):
        return store
    path = (folder or Path()) / (remainder[1:] if separator else store)
    if not separator and (path.is_dir() or not (path.suffix or path.is_file())):
        path /= STORE_FILE
    return f"sqlite:///{path}"


def _text(setting: OptionValue) -> str:
    if not isinstance(setting.value, str):
        raise InputError(f"{setting.where}: expected text, got {setting.value!r}")
    return setting.value.strip()


def _reuse(setting: OptionValue) -> tuple[Reuse, float | None]:
    """Parse which stored answers to take, and their maximum age in seconds, None for any."""
    text = _text(setting)
    for word in get_args(Reuse):
        if text == word:
            return word, None
    match = AGE.fullmatch(text)
    seconds = float(match[1]) * UNITS[match[2]] if match else 0.0
    if not 0 < seconds < OLDEST:
        expected = "all, none, only, or an age such as 12h, 7d or 2w"
        raise InputError(f"{setting.where}: expected {expected}, got '{text}'")
    return "all", seconds


def _pictures(setting: OptionValue) -> str:
    """Parse the place of pictures: an absolute folder, or the URL of a bucket."""
    text = _text(setting)
    scheme, separator, remainder = text.partition("://")
    if not separator:
        return os.path.normpath(setting.folder / text)
    if scheme not in BUCKETS:
        urls = ", ".join(f"{bucket}://BUCKET/PREFIX" for bucket in BUCKETS)
        raise InputError(f"{setting.where}: expected a folder, {urls}, got '{shown_url(text)}'")
    if not remainder.strip("/") or {"@", "?", "#"} & {*remainder}:
        raise InputError(
            f"{setting.where}: expected {scheme}://BUCKET/PREFIX, got '{shown_url(text)}'; credentials come "
            "from the environment"
        )
    return text.rstrip("/")


def _texts(setting: OptionValue) -> tuple[str, ...]:
    if not isinstance(setting.value, list):
        raise InputError(f"{setting.where}: expected a list of texts, got {setting.value!r}")
    return tuple(_text(replace(setting, value=part)) for part in setting.value)


def _sizes(setting: OptionValue) -> dict[str, int]:
    names = {"": "samples"} | {name: name for name in ("objective", "images", "repeats")}
    text = str(setting.value) if type(setting.value) is int else _text(setting)
    sizes: dict[str, int] = {}
    for part in text.split(","):
        name, _, number = part.strip().rpartition("=")
        if name not in names:
            raise InputError(f"{setting.where}: unknown size '{name}'{nearest(name, filter(None, names))}")
        if names[name] in sizes:
            raise InputError(f"{setting.where}: '{name or 'N'}' is given twice in '{text}'")
        if not (number := number.strip()).isdecimal() or not 1 <= float(number) <= MOST_ANSWERS:
            raise InputError(
                f"{setting.where}: expected N, objective=N, images=N or repeats=N with numbers from 1 to "
                f"{MOST_ANSWERS:,}, got '{text}'"
            )
        sizes[names[name]] = int(number)
    return sizes


def _cluster(setting: OptionValue) -> str | None:
    """Parse the executor: the address of a Ray cluster, "" for any cluster, None for this process."""
    text = _text(setting)
    host, _, port = text.removeprefix("ray:").rpartition(":")
    if text == "local":
        return None
    if text == "ray":
        return ""
    if not (text.startswith("ray:") and host and port.isdecimal() and float(port) < 2**16):
        raise InputError(f"{setting.where}: expected local, ray or ray:HOST:PORT, got '{text}'")
    return f"{host}:{port}"


def _number(option: RunOption, setting: OptionValue) -> float:
    try:
        number = (int if option.kind == "integer" else float)(str(setting.value))
    except ValueError:
        number = math.nan
    minimum, maximum = option.minimum, option.maximum
    if option.kind == "amount":
        right, expected = 0 < number < math.inf, "a number above 0"
    elif math.isnan(number) or minimum is None:
        right, expected = not math.isnan(number), "a whole number"
    elif maximum is None and number > LARGEST:
        right, expected = False, f"a whole number of at most {LARGEST:,}"
    elif maximum is None:
        right, expected = minimum <= number, f"a whole number of at least {minimum}"
    else:
        right, expected = minimum <= number <= maximum, f"a whole number from {minimum} to {maximum}"
    if not right:
        raise InputError(f"{setting.where}: expected {expected}, got '{setting.value}'")
    return number
