"""Where options come from: what was typed, the environment, pyproject; each value is parsed here.

The only reader of ``FACTORFAIR_*`` and of ``[tool.factorfair]``.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_factorfair.config.options import MODEL, OPTIONS, PREFIX, RunOption
from pytest_factorfair.errors import InputError, nearest

WAIVERS = "waivers"
"""Only in pyproject: a waiver has a reason and a date, and is reviewed with the code."""

TRUE = {"1", "true", "yes", "on"}
FALSE = {"0", "false", "no", "off"}


@dataclass(frozen=True, slots=True)
class Given:
    """An option's value, where the user gave it, and the folder its paths are relative to."""

    value: Any
    where: str
    folder: Path


def pyproject(root: Path) -> Mapping[str, Given]:
    """The table ``[tool.factorfair]``, by option name; empty without one.

    Raises:
        InputError: the file cannot be read, or has an unknown key.
    """
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


def check_variables(environment: Mapping[str, str]) -> None:
    """Refuse misspelt names of variables.

    Raises:
        InputError: a variable ``FACTORFAIR_*`` does not exist.
    """
    known = {option.variable for option in OPTIONS}
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in known:
            raise InputError(f"{name}: there is no such variable{nearest(name, known)}")


def collect(
    typed: Mapping[str, Given], environment: Mapping[str, str], table: Mapping[str, Given], *, here: Path
) -> dict[str, Given]:
    """Every option that was given, parsed, from the source that takes precedence.

    ``typed`` is what the command line or a call of ``run`` gives, by option name; ``here`` is the folder
    that paths in the environment are relative to.

    Raises:
        InputError: a value of the wrong form, or a variable ``FACTORFAIR_*`` that does not exist.
    """
    check_variables(environment)
    found: dict[str, Given] = {}
    for option in OPTIONS:
        if option.name in typed:
            raw = typed[option.name]
        elif environment.get(option.variable):
            raw = Given(environment[option.variable], option.variable, here)
        elif option.name in table:
            raw = table[option.name]
        else:
            continue
        found[option.name] = replace(raw, value=PARSERS[option.kind](option, raw))
    return found


def _text(option: RunOption, given: Given) -> str:
    if option.name == "samples" and type(given.value) is int:
        return str(given.value)
    if not isinstance(given.value, str) or not given.value.strip():
        raise InputError(f"{given.where}: expected text, got {given.value!r}")
    return given.value.strip()


def _texts(option: RunOption, given: Given) -> tuple[str, ...]:
    value = given.value
    if isinstance(value, dict) and option.name == "model-arg":
        value = [f"{key}={item}" for key, item in value.items()]
    if isinstance(value, str):
        value = [part for part in value.split(";") if part.strip()]
    if not isinstance(value, list):
        raise InputError(f"{given.where}: expected a list of texts, got {value!r}")
    return tuple(_text(option, replace(given, value=part)) for part in value)


def _integer(_option: RunOption, given: Given) -> int:
    try:
        return int(str(given.value))
    except ValueError:
        raise InputError(f"{given.where}: expected a whole number, got '{given.value}'") from None


def _amount(_option: RunOption, given: Given) -> float:
    try:
        amount = float(str(given.value))
    except ValueError:
        amount = 0.0
    if not 0 < amount < math.inf:
        raise InputError(f"{given.where}: expected a number above 0, got '{given.value}'")
    return amount


def _share(_option: RunOption, given: Given) -> float:
    try:
        share = float(str(given.value))
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise InputError(f"{given.where}: expected a share from 0 to 1, got '{given.value}'")
    return share


def _flag(_option: RunOption, given: Given) -> bool:
    if isinstance(given.value, bool):
        return given.value
    word = str(given.value).lower()
    if word not in TRUE | FALSE:
        raise InputError(f"{given.where}: expected true or false, got '{given.value}'")
    return word in TRUE


def _choice(option: RunOption, given: Given) -> str:
    if given.value not in option.choices:
        raise InputError(
            f"{given.where}: unknown value '{given.value}'{nearest(str(given.value), option.choices)}"
        )
    return str(given.value)


PARSERS: dict[str, Callable[[RunOption, Given], Any]] = {
    "text": _text,
    "texts": _texts,
    "integer": _integer,
    "amount": _amount,
    "share": _share,
    "flag": _flag,
    "choice": _choice,
}
