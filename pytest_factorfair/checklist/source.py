"""Parse YAML or JSON Lines to a tree whose nodes know the file and line of every value."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import yaml
from yaml.constructor import SafeConstructor

from pytest_factorfair.errors import ChecklistError

Scalar = str | int | float | bool | None
Step = str | int

LARGEST = 2_000_000
LARGEST_LINES = 100_000_000
DEEPEST = 20
NESTED = f"is nested more than {DEEPEST} levels deep"

LINES = ".jsonl"
"""The extension of files with a JSON object per line."""

# libyaml, if available, is ten times faster. Both loaders only build plain values.
_LOADER = cast("type[yaml.SafeLoader]", getattr(yaml, "CSafeLoader", yaml.SafeLoader))
_CONVERTED = frozenset(f"tag:yaml.org,2002:{name}" for name in ("int", "float", "bool", "null"))


@dataclass(frozen=True, slots=True)
class Node:
    """A value of a file, with its position (``line`` from 1) and the steps that lead to it in the file.

    ``language`` is that of its text, or of its key if it is a mapping, where a checklist that extends the
    file is in another language.
    """

    value: Mapping[str, Node] | tuple[Node, ...] | Scalar
    file: Path
    line: int
    steps: tuple[Step, ...]
    language: str = ""

    @property
    def position(self) -> tuple[str, int]:
        """File and line, as a key for sorting."""
        return str(self.file), self.line

    def without(self, key: str) -> Node:
        """A copy of the mapping without this key."""
        return replace(self, value={name: child for name, child in self.mapping().items() if name != key})

    def mapping(self, *path: str) -> Mapping[str, Node]:
        """The mapping that a path of keys leads to; empty if there is none."""
        node, beyond = self.find(path)
        return node.value if not beyond and isinstance(node.value, Mapping) else {}

    def changed(
        self, path: tuple[str, ...], change: Callable[[Mapping[str, Node]], Mapping[str, Node]]
    ) -> Node:
        """A copy in which the mapping that ``path`` leads to is changed, if there is one."""
        if not isinstance(self.value, Mapping) or (path and path[0] not in self.value):
            return self
        if not path:
            return replace(self, value=change(self.value))
        child = self.value[path[0]].changed(path[1:], change)
        return replace(self, value={**self.value, path[0]: child})

    def spoken(self, language: str) -> Node:
        """A copy in which all values of no other language are of this one."""
        value = self.value
        if isinstance(value, Mapping):
            value = {key: child.spoken(language) for key, child in value.items()}
        elif isinstance(value, tuple):
            value = tuple(child.spoken(language) for child in value)
        return replace(self, value=value, language=self.language or language)

    def plain(self) -> object:
        """The value as plain dicts, lists and scalars."""
        if isinstance(self.value, Mapping):
            return {key: child.plain() for key, child in self.value.items()}
        if isinstance(self.value, tuple):
            return [child.plain() for child in self.value]
        return self.value

    def find(self, steps: tuple[Step, ...]) -> tuple[Node, tuple[Step, ...]]:
        """The deepest existing node along ``steps``, and the remaining steps (none after a scalar)."""
        if not isinstance(self.value, (Mapping, tuple)):
            return self, ()
        child, step = None, steps[0] if steps else None
        if isinstance(self.value, Mapping):
            child = None if step is None else self.value.get(str(step))
        elif isinstance(step, int) and step < len(self.value):
            child = self.value[step]
        return (self, steps) if child is None else child.find(steps[1:])

    def error(self, problem: str, *, beyond: tuple[Step, ...] = ()) -> ChecklistError:
        """The error for a problem of this value, or of the missing value that ``beyond`` leads to."""
        field, text = (" ".join(part.split()) for part in (dotted((*self.steps, *beyond)), problem))
        return ChecklistError(self.file, self.line, field, text)


def dotted(steps: tuple[Step, ...]) -> str:
    """Format steps as a field path: ``topics.crime_rate.highest.scenarios[0]``."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).lstrip(".")


def read(file: Path, base: Path) -> Node:
    """Parse a YAML file; ``file`` is relative to ``base``, and shown like that in messages.

    Raises:
        ChecklistError: the file cannot be read, is larger than 2 MB, is not UTF-8 or YAML, or uses features
            that checklists do not allow: anchors, aliases, tags, a second document.
    """
    return _parsed(_text(file, base, LARGEST), file)


@lru_cache(maxsize=32)
def _parsed(text: str, file: Path) -> Node:
    """The tree of a text; checklists share the files that they extend and name."""
    try:
        _refuse_features(text, file)
        root = yaml.compose(text, Loader=_LOADER)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
        line = mark.line + 1 if mark else None
        # libyaml may reach its own limit before our check of the depth does.
        deep = problem == "exceeded maximum nesting depth"
        raise ChecklistError(file, line, "", NESTED if deep else f"is not valid YAML: {problem}") from None
    if not isinstance(root, yaml.MappingNode):
        raise ChecklistError(file, 1, "", "must be a mapping that begins with 'schema:'")
    return _mapping(root, Node({}, file, 1, ()))


def read_lines(file: Path, base: Path) -> Node:
    """Parse a JSON Lines file as a list of objects; blank lines are skipped.

    Raises:
        ChecklistError: the file cannot be read, is larger than 100 MB, is not UTF-8, or has a line that is
            not a JSON object.
    """
    objects = []
    for number, line in enumerate(_text(file, base, LARGEST_LINES).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line, object_pairs_hook=_once)
        except (ValueError, RecursionError) as error:
            raise ChecklistError(file, number, "", f"is not a line of JSON: {error}") from None
        if not isinstance(value, dict):
            raise ChecklistError(file, number, "", "must be a JSON object")
        objects.append(_json_node(value, Node(None, file, number, ())))
    return Node(tuple(objects), file, 1, ())


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Build a JSON object from its pairs.

    Raises:
        ValueError: a key occurs twice.
    """
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key '{next(name for name in names if names.count(name) > 1)}' is given twice")
    return mapping


def _json_node(value: Any, position: Node) -> Node:
    """Convert a JSON value to a tree; all its nodes have the same line."""
    tree: Mapping[str, Node] | tuple[Node, ...] | Scalar = value
    if isinstance(value, dict):
        tree = {key: _json_node(child, _at(position, key, position.line)) for key, child in value.items()}
    elif isinstance(value, list):
        tree = tuple(
            _json_node(child, _at(position, step, position.line)) for step, child in enumerate(value)
        )
    return Node(tree, position.file, position.line, position.steps)


def _text(file: Path, base: Path, largest: int) -> str:
    try:
        with (base / file).open("rb") as stream:
            content = stream.read(largest + 1)
    except FileNotFoundError:
        raise ChecklistError(file, None, "", "there is no such file") from None
    except OSError as error:
        raise ChecklistError(file, None, "", f"cannot be read: {error.strerror}") from None
    if len(content) > largest:
        raise ChecklistError(
            file, None, "", f"is larger than {largest // 1_000_000} MB, the limit for a checklist"
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ChecklistError(file, line, "", "is not UTF-8 text") from None


def _refuse_features(text: str, file: Path) -> None:
    """Reject unsafe features before a tree is built: aliases can exhaust the memory, nesting the stack."""
    depth = documents = 0
    for event in yaml.parse(text, Loader=_LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        documents += isinstance(event, yaml.DocumentStartEvent)
        line = event.start_mark.line + 1 if event.start_mark else None
        problem, tag = "", getattr(event, "tag", None)
        if getattr(event, "anchor", None) is not None:
            problem = "anchors (&) and aliases (*) are not allowed; write the value out, or quote it"
        elif tag is not None:
            problem = f"the tag {tag} is not allowed; write plain YAML"
        if depth > DEEPEST:
            problem = NESTED
        if documents > 1:
            problem = "a second document begins here; a file is one checklist"
        if problem:
            raise ChecklistError(file, line, "", problem)


def _build(node: yaml.Node, position: Node) -> Node:
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, position)
    if isinstance(node, yaml.SequenceNode):
        items = (
            _build(item, _at(position, step, item.start_mark.line + 1))
            for step, item in enumerate(node.value)
        )
        return Node(tuple(items), position.file, position.line, position.steps)
    value: Scalar = str(node.value)
    if node.tag in _CONVERTED:
        try:
            value = cast("Scalar", SafeConstructor().construct_object(node))
        except ValueError:
            raise position.error(f"{node.value} is not a number; write text in quotes") from None
    return Node(value, position.file, position.line, position.steps)


def _mapping(node: yaml.MappingNode, position: Node) -> Node:
    """Build a mapping; each value gets the line of its key, where users look for it."""
    children: dict[str, Node] = {}
    for key, value in node.value:
        line = key.start_mark.line + 1
        if not isinstance(key, yaml.ScalarNode) or key.tag in _CONVERTED:
            quoted = (
                f"write it in quotes: '{key.value}'" if isinstance(key, yaml.ScalarNode) else "write a word"
            )
            raise Node(None, position.file, line, position.steps).error(f"a key must be text; {quoted}")
        name = str(key.value)
        spot = _at(position, name, line)
        if name in children:
            raise spot.error(f"is given twice, first on line {children[name].line}")
        children[name] = _build(value, spot)
    return Node(children, position.file, position.line, position.steps)


def _at(position: Node, step: Step, line: int) -> Node:
    return Node(None, position.file, line, (*position.steps, step))
