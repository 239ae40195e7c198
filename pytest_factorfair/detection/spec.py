"""What a user typed to name a detector, ``KIND:TARGET?name=value&...``, and its options read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote

from pytest_factorfair.errors import InputError, MissingExtraError, nearest

_NEEDED = {"images": ("cv2", "onnxruntime", "PIL"), "transformers": ("torch", "transformers")}


@dataclass(frozen=True, slots=True)
class DetectorSpec:
    """A detector as typed: ``text``, and that taken apart; a "?" begins the options."""

    text: str
    kind: str
    target: str
    options: Mapping[str, str]

    def wrong(self, problem: str) -> InputError:
        return InputError(f"detector '{self.text}': {problem}")

    def allow(self, *names: str) -> None:
        """Raises InputError for an option with another name."""
        for name in self.options:
            if name not in names:
                raise self.wrong(f"'{self.kind}' has no option '{name}'{nearest(name, names)}")

    def need(self, *extras: str) -> None:
        """Raises MissingExtraError where what an extra installs is absent."""
        for extra in extras:
            if not all(map(find_spec, _NEEDED[extra])):
                raise MissingExtraError(f"detector '{self.text}'", extra)

    def choice(self, name: str, known: Iterable[str]) -> str:
        """The option, which must be one of the known; the first of them where it is not given."""
        choices = tuple(known)
        value = self.options.get(name, choices[0])
        if value not in choices:
            raise self.wrong(f"{name} cannot be '{value}'{nearest(value, choices)}")
        return value

    def number(self, name: str, default: float, *, least: float = 0, most: float = 1) -> float:
        """The option as a number within bounds, both included."""
        try:
            value = float(self.options.get(name, default))
        except ValueError:
            value = float("nan")
        if not least <= value <= most:
            raise self.wrong(
                f"{name} must be a number from {least:g} to {most:g}, not '{self.options[name]}'"
            )
        return value

    def file(self, path: str) -> Path:
        """The file that a path names; a relative one starts at the folder pytest was started in."""
        found = Path(path).expanduser()
        if not path or not found.is_file():
            raise self.wrong(f"there is no file '{path}' in {Path.cwd()}")
        return found


def parse(text: str) -> DetectorSpec:
    """Take a spec apart.

    Raises:
        InputError: an option is not ``name=value``, or is given twice.
    """
    head, _, query = text.partition("?")
    kind, _, target = head.partition(":")
    options: dict[str, str] = {}
    spec = DetectorSpec(text, kind, target, options)
    for part in filter(None, query.split("&")):
        name, equals, value = part.partition("=")
        if not (name and equals and value):
            raise spec.wrong(f"'{part}' is not an option; write name=value")
        if name in options:
            raise spec.wrong(f"option '{name}' is given twice; keep one")
        options[unquote(name)] = unquote(value)
    return spec


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
