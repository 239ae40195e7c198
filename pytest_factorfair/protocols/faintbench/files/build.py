"""From the layout of a file to the checklist that the program works with."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_factorfair.checklist.fields import attribute, hashed
from pytest_factorfair.protocols.faintbench.checklist import (
    KINDS,
    Faintbench,
    Pair,
    PersonOf,
    Side,
    Subject,
)
from pytest_factorfair.protocols.faintbench.files import layout
from pytest_factorfair.protocols.faintbench.files.layout import SECTIONS, Checklist, Figures


def truth_sets(file: Checklist) -> tuple[str, ...]:
    """The truth sets, of which each covers everything."""
    return tuple(file.truths)


def places(file: Checklist) -> dict[str, PersonOf]:
    """The people a pair can name, as it names them."""
    return {
        ".".join(map(str, (id_, *way))): PersonOf(id_, side)
        for _, id_, subject in file.subjects
        for side, (way, _, _) in enumerate(subject.people)
    }


def digest(file: Checklist) -> str:
    """SHA-256 of all that the checklist says under every truth set, in hexadecimal.

    Independent of comments, layout, version, what the authors' scripts make of it and the order of shares;
    dependent on the order of groups, subjects and pairs, which shapes a run.
    """
    order = [
        *((name, *each.groups) for name, each in file.attributes.items()),
        [id_ for _, id_, _ in file.subjects],
        [*file.pairs],
    ]
    said = file.model_dump(mode="json", by_alias=True, exclude={"version", "published_code"})
    for section in SECTIONS.values():
        for subject in said[section].values():
            for name in ("realism", "requested"):  # few have any
                if not subject[name]:
                    del subject[name]
    return hashed([said, order])


def checklist(file: Checklist, truth: str) -> Faintbench:
    """The checklist under one truth set, which overrides the figures of the file."""
    known, coded = places(file), file.published_code

    def pair(id_: str, each: layout.Pair) -> Pair:
        """A pair, with the people that the authors' scripts find for its sides."""
        own, found = (each.advantaged, each.disadvantaged), coded.pairs.get(id_, layout.Found())
        good, bad = (
            tuple(known[name] for name in (names if names is not None else [side]))
            for side, names in zip(own, (found.advantaged, found.disadvantaged), strict=True)
        )
        return Pair(known[own[0]], known[own[1]], each.truths.get(truth, each.weight), (good, bad))

    def shares(figures: Figures) -> Mapping[str, Mapping[str, float]]:
        """A person's shares by attribute, in the order of its groups."""
        said = {**figures.shares, **figures.truths.get(truth, {})}
        return {
            name: {
                group: said[name][group] if name in said else own.share for group, own in each.groups.items()
            }
            for name, each in file.attributes.items()
        }

    subjects = (
        Subject(
            id=id_,
            name=each.title,
            kind=kind,
            category=each.category,
            weight=each.weight,
            sides=tuple(Side(noun, shares(figures)) for _, noun, figures in each.people),
            explicit=tuple(
                name for name in file.attributes if each.explicit is None or name in each.explicit
            ),
            realism=tuple(each.realism or getattr(file.prompts, kind).realism),
            requested={asked: tuple(texts) for asked, texts in each.requested.items()},
        )
        for kind, id_, each in file.subjects
    )
    return Faintbench(
        name=file.name,
        title=file.title,
        protocol=file.protocol,
        modality=file.modality,
        truth=truth,
        attributes=tuple(attribute(name, each.groups) for name, each in file.attributes.items()),
        digest=digest(file),
        subjects=tuple(subjects),
        pairs=tuple(pair(id_, each) for id_, each in file.pairs.items()),
        identities={kind: getattr(file.prompts, kind).identity for kind in KINDS},
        nouns={
            name: {group: each.noun for group, each in one.groups.items() if each.noun}
            for name, one in file.attributes.items()
        },
        weights={name: each.weight for name, each in file.attributes.items()},
        group_weights={
            name: {group: each.weight for group, each in one.groups.items()}
            for name, one in file.attributes.items()
        },
        categories={id_: title for kind in KINDS for id_, title in getattr(file.categories, kind).items()},
        kinds={id_: kind for kind in KINDS for id_ in getattr(file.categories, kind)},
        counted={"implicit": coded.counted, "explicit": {**coded.counted, **coded.explicit}},
    )
