"""Load, validate and lint a checklist that is given by name or path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

from pydantic import ValidationError

from pytest_factorfair.checklist.fields import ChecklistHeader
from pytest_factorfair.checklist.locate import locate, shipped
from pytest_factorfair.checklist.overlay import resolve, spoken
from pytest_factorfair.checklist.problems import Problem, refuse, structural
from pytest_factorfair.checklist.selection import KEY, Selection, Selectors, reduced, selected
from pytest_factorfair.checklist.source import Node, Step, dotted
from pytest_factorfair.domain import ENGLISH, Checklist, Source, first_few, listed, plural
from pytest_factorfair.errors import ChecklistError, InputError, nearest
from pytest_factorfair.languages import language

LayoutT = TypeVar("LayoutT", bound=ChecklistHeader)
ChecklistT = TypeVar("ChecklistT", bound=Checklist)


@dataclass(frozen=True, slots=True)
class Files(Generic[LayoutT, ChecklistT]):
    """How the files of a benchmark are read.

    ``layout`` is the class of their content. Each of the ``rules`` yields the problems of a file that has
    passed the rules before it. ``truths`` names the truth sets that cover the whole file; it is empty if the
    file is the same under all of them, and ``build`` makes the checklist under one of them. ``lint`` finds
    bad style. Where the class of the layout does not suffice, ``read`` turns plain content into the layout,
    or raises pydantic's ValidationError, and ``schema`` makes its JSON Schema with a template of references
    such as ``#/$defs/{model}``. ``parts`` are the schemas of files that it may include, by name. ``sources``
    says who publishes the figures of a file that still has this content hash. ``selectors`` are the keys of
    ``only``, and ``tiny`` selects a first look at a model: some hundred calls, and every kind of question.
    ``texts`` are the ways to all texts of prompts, which a checklist in another language than the one that it
    extends must replace.
    """

    layout: type[LayoutT]
    build: Callable[[LayoutT, str], ChecklistT]
    rules: tuple[Callable[[LayoutT], Iterable[Problem]], ...] = ()
    truths: Callable[[LayoutT], tuple[str, ...]] = lambda _file: ()
    lint: Callable[[Node, LayoutT], Iterable[Problem]] = lambda _root, _file: ()
    read: Callable[[Any], LayoutT] | None = None
    schema: Callable[[str], dict[str, Any]] | None = None
    parts: Mapping[str, Callable[[], dict[str, Any]]] = field(default_factory=dict)
    sources: Callable[[LayoutT, str], tuple[Source, ...]] = lambda _file, _digest: ()
    selectors: Selectors = field(default_factory=dict)
    tiny: Callable[[LayoutT], Selection] = lambda _file: {}
    texts: Callable[[LayoutT], Iterable[tuple[Step, ...]]] = lambda _file: ()

    def parse(self, content: Any) -> LayoutT:
        """The layout of a file's plain content."""
        return (self.read or self.layout.model_validate)(content)

    def json_schema(self, reference: str) -> dict[str, Any]:
        """The layout's JSON Schema."""
        return (
            self.schema(reference) if self.schema else self.layout.model_json_schema(ref_template=reference)
        )


# Any, because the types depend on the benchmark that a file names.
FilesByBenchmark: TypeAlias = Mapping[str, Callable[[], Files[Any, Any]]]
"""Functions that return a benchmark's ``Files``, by name; imported only when called."""


def load(
    name_or_path: str, benchmarks: FilesByBenchmark, *, truth: str, base: Path, tiny: bool = False
) -> Checklist:
    """Load the checklist of a shipped name or a path (relative to ``base``) with a truth set.

    A ``tiny`` one is reduced to a first look, under a name of its own.

    Raises:
        ChecklistError: a file cannot be read or has invalid content; names file, line, field.
        InputError: there is no such checklist, or it has no such truth set.
    """
    files, root, file = parse(name_or_path, benchmarks, base=base)
    if tiny:
        file = _validated(reduced(root, files.selectors, files.tiny(file)), files)
        file = file.model_copy(update={"name": f"{file.name}_tiny"})
    truths = files.truths(file)
    if truths and truth not in truths:
        raise InputError(f"checklist '{file.name}' has no truth set '{truth}'; it has: {', '.join(truths)}")
    checklist: Checklist = files.build(file, truth)
    return replace(checklist, language=language(file.language), requested=name_or_path)


def lint(name_or_path: str, benchmarks: FilesByBenchmark, *, base: Path) -> tuple[str, ...]:
    """Find problems of style in a valid checklist: lines ``file:line: field: problem``, in the file's order.

    A problem of several texts is one line, about the first of them.

    Raises:
        InputError: the checklist is invalid, as in ``load``.
    """
    files, root, file = parse(name_or_path, benchmarks, base=base)
    findings: dict[str, dict[tuple[str, int], str]] = {}
    for problem in files.lint(root, file):
        node, beyond = root.find(problem.steps)
        line = str(node.error(problem.text, beyond=beyond))
        findings.setdefault(problem.text, {}).setdefault(node.position, line)
    return tuple(_all_in_one(lines) for lines in sorted(map(sorted, map(dict.items, findings.values()))))


LISTED = 3
"""Of a problem of several texts, how many further lines are listed."""


def _all_in_one(lines: Sequence[tuple[tuple[str, int], str]]) -> str:
    """The line of the first text with a problem, with the positions of the others."""
    ((first_file, _), line), *others = lines
    also = [str(number) if file == first_file else f"{file}:{number}" for (file, number), _ in others]
    if not also:
        return line
    return f"{line} (also on {'line' if len(others) == 1 else 'lines'} {listed(first_few(also, LISTED))})"


def parse(
    name_or_path: str, benchmarks: FilesByBenchmark, *, base: Path
) -> tuple[Files[Any, Any], Node, ChecklistHeader]:
    """Parse and validate a checklist: its benchmark's ``Files``, its merged tree and its layout.

    Raises:
        InputError: as ``load``, except for the truth set.
    """
    root = resolve(locate(name_or_path, relative_to=Path(), base=base), base)
    node, beyond = root.find(("protocol",))
    if beyond:
        raise root.error(f"missing; known: {', '.join(benchmarks)}", beyond=beyond)
    if node.value not in benchmarks:
        raise node.error(f"unknown protocol '{node.plain()}'{nearest(str(node.plain()), benchmarks)}")
    files = benchmarks[str(node.value)]()
    selection = selected(root, files.selectors)
    try:
        file = _validated(selection, files)
    except ChecklistError as error:
        if selection is root:
            raise
        _validated(root.without(KEY), files)  # its own problems come first
        raise root.mapping()[KEY].error(f"leaves no valid checklist: {error}") from None
    if root.language:  # it extends a checklist in another language
        refuse(selection, _untranslated(selection, files.texts(file)))
    return files, selection, file


def _language(root: Node) -> str:
    """The language of a checklist, as ``languages.language`` accepts it: a code, or the content of a file.

    Raises:
        ChecklistError: there is no such language, or its file is incomplete or has an invalid pattern.
    """
    node, beyond = root.find(("language",))
    if beyond:
        return ENGLISH.code
    if isinstance(node.value, str):
        return node.value  # a code: a path was replaced by the file's content
    from pytest_factorfair.checklist.language_file import content

    return content(node)


def _validated(root: Node, files: Files[Any, Any]) -> ChecklistHeader:
    """The layout of a tree, which passes all rules."""
    content: Any = root.plain()
    content["language"] = _language(root)
    try:
        file: ChecklistHeader = files.parse(content)
    except ValidationError as error:
        refuse(root, structural(error))
        raise
    for rule in files.rules:
        refuse(root, rule(file))
    return file


def _untranslated(root: Node, texts: Iterable[tuple[Step, ...]]) -> Iterator[Problem]:
    """Texts of an extended checklist that are in another language than the one that extends it."""
    language = spoken(root)
    foreign = [
        (node, steps) for steps in texts if (node := root.find(steps)[0]).language not in ("", language)
    ]
    if foreign:
        node, steps = foreign[0]
        translations = {f"{node.file.stem}_{language}" for node, _ in foreign} & {*shipped()}
        instead = "".join(f", or extend {name}" for name in sorted(translations))
        texts_left = plural(len(foreign), "text")
        # A language file is a node of its own file.
        code = isinstance(root.find(("language",))[0].value, str)
        yield Problem(
            ("language",) if code else (),
            f"{'' if code else 'language: '}is {language}, but {texts_left} of the extended checklist would "
            f"be asked in {node.language}, such as {dotted(steps)}; replace them{instead}",
        )
