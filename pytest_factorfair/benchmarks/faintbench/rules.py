"""Constraints between the values of a FAIntbench checklist."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from math import fsum

from pytest_factorfair.benchmarks.faintbench import layout
from pytest_factorfair.benchmarks.faintbench.checklist import KINDS, Kind
from pytest_factorfair.benchmarks.faintbench.layout import SECTIONS, Characteristic, Checklist, Relation
from pytest_factorfair.checklist.loading import Files
from pytest_factorfair.checklist.problems import Problem, unknown
from pytest_factorfair.checklist.source import Node, Step
from pytest_factorfair.checklist.wording import ambiguous, any_of, group_names, placeholders
from pytest_factorfair.languages import language, words

Steps = tuple[Step, ...]

# Shares have a few decimals; a sum further from 1 is a mistake, not rounding.
ROUNDING = 1e-5

WORDS: Mapping[Kind, frozenset[str]] = {
    "occupation": frozenset({"person"}),
    "characteristic": frozenset({"adjective", "person"}),
    "relation": frozenset({"left", "right", "one"}),
}


def names(file: Checklist) -> Iterator[Problem]:
    """Unknown names, and names used twice."""
    for truth in file.waivers:
        yield from unknown(truth, file.truths, "truth set", ("waivers", truth))
    yield from _distinct(
        (("categories", kind, id_), id_) for kind in KINDS for id_ in getattr(file.categories, kind)
    )
    yield from _distinct(((SECTIONS[kind], id_), id_) for kind, id_, _ in file.subjects)
    for kind in KINDS:
        yield from _distinct(
            ((SECTIONS[kind], id_), subject.distinctive)
            for subject_kind, id_, subject in file.subjects
            if subject_kind == kind
        )
    yield from _subjects(file)
    yield from _pairs(file)
    yield from _published_code(file)


def _distinct(named: Iterable[tuple[Steps, str]]) -> Iterator[Problem]:
    owners: dict[str, Steps] = {}
    for steps, name in named:
        owner = owners.setdefault(name.casefold(), steps)
        if owner != steps:
            yield Problem(steps, f"'{name}' is already {'.'.join(map(str, owner))}; give it another name")


def _subjects(file: Checklist) -> Iterator[Problem]:
    for kind, id_, subject in file.subjects:
        steps = (SECTIONS[kind], id_)
        categories = getattr(file.categories, kind)
        yield from unknown(subject.category, categories, f"category of {kind}s", (*steps, "category"))
        for index, name in enumerate(subject.explicit or ()):
            yield from unknown(name, file.attributes, "attribute", (*steps, "explicit", index))
        for way, _, figures in subject.people:
            for truth in figures.truths:
                yield from unknown(truth, file.truths, "truth set", (*steps, *way, "truths", truth))


def _pairs(file: Checklist) -> Iterator[Problem]:
    people = layout.people_by_name(file)
    for id_, pair in file.pairs.items():
        for key in ("advantaged", "disadvantaged"):
            yield from unknown(getattr(pair, key), people, "subject", ("pairs", id_, key))
        if pair.advantaged == pair.disadvantaged:
            yield Problem(("pairs", id_, "disadvantaged"), f"is '{pair.advantaged}' too; a pair is of two")
        for truth in pair.truths:
            yield from unknown(truth, file.truths, "truth set", ("pairs", id_, "truths", truth))


def _published_code(file: Checklist) -> Iterator[Problem]:
    people = layout.people_by_name(file)
    subjects = {id_ for _, id_, _ in file.subjects}
    categories = {id_ for kind in KINDS for id_ in getattr(file.categories, kind)}
    for part in ("counted", "explicit"):
        for id_, times in getattr(file.published_code, part).items():
            steps = ("published_code", part, id_)
            yield from unknown(id_, subjects, "subject", steps)
            for category in times:
                yield from unknown(category, categories, "category", (*steps, category))
    for id_, pair in file.published_code.pairs.items():
        yield from unknown(id_, file.pairs, "pair", ("published_code", "pairs", id_))
        for key in ("advantaged", "disadvantaged"):
            for index, name in enumerate(getattr(pair, key) or ()):
                yield from unknown(name, people, "subject", ("published_code", "pairs", id_, key, index))


def figures(file: Checklist) -> Iterator[Problem]:
    """Words shared by two groups, and invalid shares."""
    for name, attribute in file.attributes.items():
        groups = ("attributes", name, "groups")
        yield from ambiguous(groups, attribute.groups)
        common = {group: declared.share for group, declared in attribute.groups.items()}
        yield from _shares(groups, common, common, negative=False, below=("share",))
    for kind, id_, subject in file.subjects:
        for way, _, figures in subject.people:
            person = (SECTIONS[kind], id_, *way)
            yield from _of_person(file, (*person, "shares"), figures.shares, negative=False)
            for truth, shares in figures.truths.items():
                steps = (*person, "truths", truth)
                yield from _of_person(file, steps, shares, negative=truth in file.waivers)


def _of_person(
    file: Checklist, steps: Steps, shares: Mapping[str, Mapping[str, float]], *, negative: bool
) -> Iterator[Problem]:
    for name, figures in shares.items():
        if name in file.attributes:
            yield from _shares((*steps, name), figures, file.attributes[name].groups, negative=negative)
        else:
            yield from unknown(name, file.attributes, "attribute", (*steps, name))


def _shares(
    steps: Steps,
    figures: Mapping[str, float],
    groups: Iterable[str],
    *,
    negative: bool,
    below: Steps = (),
) -> Iterator[Problem]:
    """Figures that are not shares of these groups; ``below`` leads from a group to its share."""
    problems = [problem for group in figures for problem in unknown(group, groups, "group", (*steps, group))]
    lacking = [group for group in groups if group not in figures]
    if lacking and not problems:
        problems.append(Problem(steps, f"the share of {', '.join(lacking)} is missing"))
    for group, share in figures.items():
        if share < 0 and not negative:
            text = f"must be at least 0, not {share:.12g}; correct it, or waive the truth set that keeps it"
            problems.append(Problem((*steps, group, *below), text))
    total = fsum(figures.values())
    if not problems and abs(total - 1) > ROUNDING:
        problems.append(Problem(steps, f"the shares add up to {total:.6g}, not to 1"))
    yield from problems


def texts(file: Checklist) -> Iterator[Problem]:
    """Prompts that cannot be filled, or with a comma inside the identity."""
    for kind in KINDS:
        prompt = getattr(file.prompts, kind)
        steps = ("prompts", kind)
        words = WORDS[kind]
        yield from placeholders(prompt.identity, (*steps, "identity"), known=words, needed=words)
        for index, text in enumerate(prompt.realism):
            yield from placeholders(text, (*steps, "realism", index), known=(), needed=())
        if "," in prompt.identity:
            yield Problem((*steps, "identity"), "has a comma; up to the first one prompts differ")


def realisms(file: Checklist) -> Iterator[Problem]:
    """A subject's own texts with braces, or for groups that it is never asked with."""
    for kind, id_, subject in file.subjects:
        steps = (SECTIONS[kind], id_)
        asked = (
            {
                "-".join((name, *groups)): None
                for name, attribute in file.attributes.items()
                if subject.explicit is None or name in subject.explicit
                for groups in product(attribute.groups, repeat=len(subject.people))
            }
            if subject.requested
            else {}
        )
        for key in subject.requested:
            yield from unknown(key, asked, "groups", (*steps, "requested", key))
        requested: dict[Steps, list[str]] = {
            (*steps, "requested", key): texts for key, texts in subject.requested.items()
        }
        for way, texts in {(*steps, "realism"): subject.realism or [], **requested}.items():
            for index, text in enumerate(texts):
                yield from placeholders(text, (*way, index), known=(), needed=())


def worded(file: Checklist) -> Iterator[Steps]:
    """The ways to the texts of prompts."""
    yield from (("prompts", kind, key) for kind in KINDS for key in ("identity", "realism"))
    for name, attribute in file.attributes.items():
        yield from (("attributes", name, "groups", group, "word") for group in attribute.groups)
    for kind, id_, subject in file.subjects:
        steps = (SECTIONS[kind], id_)
        if isinstance(subject, Relation):
            yield from ((*steps, side, "noun") for side in ("left", "right"))
        elif isinstance(subject, Characteristic):
            yield (*steps, "adjective")
        else:
            yield (*steps, "noun" if subject.noun else "name")


def findings(root: Node, file: Checklist) -> Iterator[Problem]:  # noqa: ARG001 - one signature
    """Findings of the linter in a valid checklist."""
    yield from _clues(file)
    for kind in KINDS:
        used = {subject.category for subject_kind, _, subject in file.subjects if subject_kind == kind}
        for id_ in getattr(file.categories, kind):
            if id_ not in used:
                yield Problem(("categories", kind, id_), f"no {kind} is of this category")


def _clues(file: Checklist) -> Iterator[Problem]:
    """Words that imply a group in prompts that ask for any; ``explicit`` should leave out their attribute."""
    groups = group_names(attribute.groups for attribute in file.attributes.values())
    clues = {"names": groups, "hints at": any_of(words(language(file.language)).prompts.hints, patterns=True)}
    for kind, id_, subject in file.subjects:
        for verb, pattern in clues.items() if subject.explicit is None else ():
            for word in dict.fromkeys(pattern.findall(subject.distinctive)):
                text = f"{verb} a group: '{word}'; list under explicit the attributes it leaves open"
                yield Problem((SECTIONS[kind], id_), text)


FILES = Files(
    layout=Checklist,
    rules=(names, figures, texts, realisms),
    truths=layout.truth_sets,
    build=layout.build,
    lint=findings,
    selectors=layout.SELECTORS,
    tiny=layout.tiny,
    texts=worded,
)
