"""The spec of a model (``provider/model``, ``scheme:target``), parsed but not yet validated."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import unquote

from pytest_factorfair.domain import Checklist, Modality, Wanted, utf8
from pytest_factorfair.errors import InputError, MissingExtraError

_SCHEME = re.compile(r"([A-Za-z][\w+.-]*):(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model as named on the command line, and everything that its provider needs.

    ``text`` is the spec as typed, ``scheme`` the word before the colon ("" for an id such as
    ``openai/gpt-4o``) and ``target`` what follows it (the whole id without a scheme).
    ``options`` come from ``?a=b&c=d`` and exist only for ``sim:``; elsewhere a "?" belongs to
    the target. ``arguments`` are the run's ``KEY=VALUE`` pairs, as text. ``answers`` is the answer mode.
    ``asked`` is false if every answer comes from the store, so that the model needs no key. ``defaults`` are
    values for arguments that the provider accepts and the user did not give. ``further`` are the targets and
    options that a ``sim:`` spec adds with "+". ``folder`` is where the run exchanges questions for replies in
    files, instead of asking a service.
    """

    text: str
    scheme: str
    target: str
    options: Mapping[str, str]
    arguments: Mapping[str, str]
    checklists: tuple[Checklist, ...]
    answers: Wanted = "text"
    asked: bool = True
    defaults: Mapping[str, str] = field(default_factory=dict)
    further: tuple[tuple[str, Mapping[str, str]], ...] = ()
    folder: Path | None = None

    @property
    def modality(self) -> Modality:
        """The run's modality; all its checklists share it."""
        return self.checklists[0].modality if self.checklists else "text"

    @property
    def mode(self) -> Mapping[str, object]:
        """The answer mode as part of a model's identity; empty for text."""
        return {} if self.answers == "text" else {"answers": self.answers}

    def require(self, extra: str, *packages: str) -> None:
        """Check that packages are installed, without importing them.

        Raises:
            MissingExtraError: one is missing; the message names the extra that installs it.
        """
        if not all(find_spec(package) for package in packages):
            raise MissingExtraError(f"model '{self.text}'", extra)


def parse(  # noqa: PLR0913 - what a run knows of its models
    text: str,
    arguments: Mapping[str, str],
    *,
    checklists: tuple[Checklist, ...] = (),
    answers: Wanted = "text",
    asked: bool = True,
    defaults: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> ModelSpec:
    """Parse a spec; a colon after a slash belongs to an id (``ollama/llama3:8b``).

    Raises:
        InputError: not UTF-8, or an option of ``sim:`` that is not ``name=value`` or given twice.
    """
    if utf8(text) != text:
        raise InputError(f"model {text!a}: expected text in UTF-8")
    match = _SCHEME.fullmatch(text)
    scheme, target = match.groups() if match else ("", text)
    options: Mapping[str, str] = {}
    further: list[tuple[str, Mapping[str, str]]] = []
    if scheme == "sim":
        for respondent in target.split("+"):
            kind, _, query = respondent.partition("?")
            further.append((kind, options_in(query, f"model '{text}'")))
        target, options = further.pop(0)
    return ModelSpec(
        text,
        scheme,
        target,
        options,
        arguments,
        checklists,
        answers,
        asked,
        defaults or {},
        tuple(further),
        folder,
    )


def options_in(query: str, where: str) -> dict[str, str]:
    """Parse the options of a spec, the part after its "?"; error messages begin with ``where``.

    Raises:
        InputError: an option is not ``name=value``, or is given twice.
    """
    options: dict[str, str] = {}
    for part in filter(None, query.split("&")):
        name, equals, value = part.partition("=")
        if not (name and equals and value):
            raise InputError(f"{where}: '{part}' is not an option; write name=value")
        if name in options:
            raise InputError(f"{where}: option '{name}' is given twice; keep one")
        options[unquote(name)] = unquote(value)
    return options


def slug(spec: str) -> str:
    """Convert a spec for test ids and file names: lower case, only characters ``[a-z0-9._-]``."""
    return re.sub(r"[^a-z0-9._]+", "-", spec.lower()).strip("-")
