"""Count what the pictures of one model show, and select the prompts of a score."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from types import MappingProxyType
from typing import Literal, Self

import numpy as np

from pytest_factorfair.benchmarks.faintbench.checklist import Faintbench, Part, PromptCase
from pytest_factorfair.benchmarks.faintbench.scoring.formulas import similarity
from pytest_factorfair.benchmarks.faintbench.scoring.optimised import optimised
from pytest_factorfair.domain import OUTCOMES, Estimator, Outcome, Record
from pytest_factorfair.statistics.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class PictureOutcomes:
    """Numbers of pictures by outcome, each (prompts,); those not lost show as many people as asked for.

    ``unparsed`` includes pictures of nobody and of too many or too few people.
    """

    asked: IntArray
    refused: IntArray
    unparsed: IntArray
    errors: IntArray

    @property
    def lost(self) -> IntArray:
        """Pictures that are missing, for whatever reason."""
        missing: IntArray = self.refused + self.unparsed + self.errors
        return missing


@dataclass(frozen=True, slots=True, eq=False)
class Gallery:
    """The counts of what the pictures of one model show.

    ``cases`` are the prompts. A *person* is a side of an implicit prompt, in their order: ``counts``
    and ``truth``, by attribute, are (people, k) pictures per group and demographic shares,
    ``prompt`` (people,) is each person's index among the cases, ``side`` counts from 0.
    ``words`` are, by kind and word, which prompts (cases,) have it; ``weights`` (cases,) are the subjects'.
    ``delivered`` (cases, 2, 2) are the pictures of explicit prompts by whether the left and the right person
    have the requested group ([1, 1]: both); a single person counts as both. ``soft`` has sums of
    probabilities in place of pictures, if the detector gave any. ``records`` are those counted.
    """

    model: str
    checklist: Faintbench
    cases: tuple[PromptCase, ...]
    words: Mapping[str, Mapping[str, BoolArray]]
    weights: FloatArray
    picture_outcomes: PictureOutcomes
    prompt: IntArray
    side: IntArray
    counts: Mapping[str, IntArray | FloatArray]
    truth: Mapping[str, FloatArray]
    delivered: IntArray | FloatArray
    soft: Gallery | None = None
    records: tuple[Record, ...] = ()

    def counted(self, estimator: Estimator) -> Gallery:
        """Counts for an estimator; ``published-code`` adds up probabilities, as the authors' scripts do."""
        return self.soft if estimator == "published-code" and self.soft else self

    @property
    def benchmark(self) -> str:
        return "faintbench"

    @property
    def comparison_key(self) -> str:
        """The checklist: other runs may have asked its prompts, too."""
        return self.checklist.name

    @property
    def vocabulary(self) -> Mapping[str, frozenset[str]]:
        """Every word that selects the gallery or some of its prompts, by kind."""
        return {
            "model": frozenset({self.model}),
            "checklist": frozenset({self.checklist.name}),
            **{kind: frozenset(self.words[kind]) for kind in ANSWERS},
            "attribute": frozenset(attribute.name for attribute in self.checklist.attributes),
        }

    def shares(self, attribute: str) -> FloatArray:
        """Demographic shares (people, k); negative ones, which occur in the published figures, count as 0."""
        possible = np.maximum(self.truth[attribute], 0.0)
        return np.asarray(possible / possible.sum(axis=-1, keepdims=True))

    def outcome_counts(self, attributes: Sequence[str]) -> IntArray:
        """Pictures of each prompt that were asked, refused, unparsed and errors, (cases, 4).

        A picture without a perceived group is unparsed. For an implicit prompt that is the maximum over its
        people and these attributes: a face may have a gender and no race.
        """
        outcomes, named = self.picture_outcomes, self.named(attributes)
        unparsed = outcomes.asked - outcomes.refused - outcomes.errors - named
        return np.stack([outcomes.asked, outcomes.refused, unparsed, outcomes.errors], axis=-1)

    def named(self, attributes: Sequence[str]) -> IntArray:
        """The number of pictures of each prompt (cases,) with a perceived group."""
        fewest = np.asarray(self.delivered.sum(axis=(1, 2)))
        fewest[self.prompt] = np.iinfo(np.int64).max
        for name in attributes:
            np.minimum.at(fewest, self.prompt, np.rint(self.counts[name].sum(axis=-1)).astype(np.int64))
        return fewest


def gallery(
    records: Iterable[Record], checklist: Faintbench, cases: Sequence[PromptCase], *, model: str
) -> Gallery:
    """Count the answers in one model's records of a checklist; other records are ignored.

    A picture counts if it shows as many people as its prompt asks for; sides are numbered from left to
    right. A group that could not be perceived does not match the requested one.
    """
    sheet = _Tabulation(checklist, cases)
    of_model = [record for record in records if record.case[:2] == (model, checklist.name)]
    for record in of_model:
        sheet.enter(record)
    return replace(sheet.gallery(model), records=tuple(of_model))


class _Tabulation:
    """Counts the pictures of one model, record by record."""

    def __init__(self, checklist: Faintbench, cases: Sequence[PromptCase]) -> None:
        self._checklist = checklist
        self._cases = tuple(cases)
        self._prompts = {case.id: prompt for prompt, case in enumerate(self._cases)}
        self._subjects = {subject.id: subject for subject in checklist.subjects}
        people = [
            (prompt, side)
            for prompt, case in enumerate(self._cases)
            if not case.requested
            for side in range(len(self._subjects[case.subject].sides))
        ]
        self._people = {person: row for row, person in enumerate(people)}
        self._counts: dict[str, IntArray] = {
            attribute.name: np.zeros((len(people), attribute.k), np.int64)
            for attribute in checklist.attributes
        }
        self._picture_outcomes: dict[Outcome, IntArray] = {
            outcome: np.zeros(len(self._cases), np.int64) for outcome in OUTCOMES
        }
        self._delivered: IntArray = np.zeros((len(self._cases), 2, 2), np.int64)
        self._soft = False
        self._soft_counts = {name: counts.astype(np.float64) for name, counts in self._counts.items()}
        self._soft_delivered = self._delivered.astype(np.float64)

    def enter(self, record: Record) -> None:
        """Add the pictures of one prompt; each has an answer per face, from left to right."""
        prompt = self._prompts[record.case.case]
        case = self._cases[prompt]
        sides = len(self._subjects[case.subject].sides)
        for _, picture in groupby(record.answers, key=lambda answer: answer.query):
            faces = list(picture)
            # A face without a recognised group still counts as a person.
            seen = sum(face.face for face in faces)
            outcome = ("answered" if seen == sides else "unparsed") if seen else faces[0].outcome
            self._picture_outcomes[outcome][prompt] += 1
            if outcome != "answered":
                continue
            self._soft |= any(face.shares for face in faces)
            if case.requested:
                (name,) = case.attributes
                pairs = zip(faces, case.requested, strict=True)
                delivered = [int(face.groups.get(name) == group) for face, group in pairs]
                self._delivered[prompt, delivered[0], delivered[-1]] += 1
                if sides == 1 and name in faces[0].shares:  # relations have no such score
                    share = min(optimised(faces[0].shares[name])[case.requested[0]], 1.0)
                    self._soft_delivered[prompt] += np.diag([1 - share, share])
                else:
                    self._soft_delivered[prompt, delivered[0], delivered[-1]] += 1
                continue
            for side, face in enumerate(faces):
                row = self._people[prompt, side]
                for name, group in face.groups.items():
                    groups = self._checklist.attribute(name).groups
                    self._counts[name][row, groups.index(group)] += 1
                    if name in face.shares:
                        shares = optimised(face.shares[name])
                        self._soft_counts[name][row] += [shares[group] for group in groups]
                    else:
                        self._soft_counts[name][row, groups.index(group)] += 1

    def gallery(self, model: str) -> Gallery:
        people = list(self._people)
        subjects = [self._subjects[self._cases[prompt].subject] for prompt, _ in people]
        truth = {
            attribute.name: np.array(
                [
                    [subject.sides[side].shares[attribute.name][group] for group in attribute.groups]
                    for subject, (_, side) in zip(subjects, people, strict=True)
                ],
                np.float64,
            ).reshape(len(people), attribute.k)
            for attribute in self._checklist.attributes
        }
        gallery = Gallery(
            model=model,
            checklist=self._checklist,
            cases=self._cases,
            words=_words(self._cases),
            weights=np.array([self._subjects[case.subject].weight for case in self._cases]),
            picture_outcomes=PictureOutcomes(
                asked=sum(self._picture_outcomes.values(), np.zeros(len(self._cases), np.int64)),
                refused=self._picture_outcomes["refused"],
                unparsed=self._picture_outcomes["unparsed"],
                errors=self._picture_outcomes["error"],
            ),
            prompt=np.array([prompt for prompt, _ in people], np.int64),
            side=np.array([side for _, side in people], np.int64),
            counts=self._counts,
            truth=truth,
            delivered=self._delivered,
        )
        soft = replace(gallery, counts=self._soft_counts, delivered=self._soft_delivered)
        return replace(gallery, soft=soft) if self._soft else gallery


def with_lost(gallery: Gallery, estimator: Estimator, *, worst: bool) -> Gallery:
    """The gallery with lost pictures imputed so that scores are lowest (``worst``) or highest.

    For implicit prompts, a person's lost pictures, including those without a group of the attribute, all get
    the group that lowers the score most, or each the group that raises it most. For explicit prompts they
    show none or all of the requested groups.
    """
    counted, asked = gallery.counted(estimator), gallery.picture_outcomes.asked
    outcomes = counted.delivered.copy()
    shown = 0 if worst else 1
    lost = np.rint(asked - outcomes.sum(axis=(1, 2))).astype(np.int64)
    outcomes[:, shown, shown] += lost * np.array([bool(case.requested) for case in gallery.cases])
    move = _lowered if worst else _raised
    counts = {}
    for name, observed in counted.counts.items():
        # The probabilities of a picture add up to 1 within rounding only.
        missing = np.rint(asked[gallery.prompt] - observed.sum(axis=-1)).astype(np.int64)
        truth = gallery.truth[name] if estimator == "published-code" else gallery.shares(name)
        counts[name] = move(observed.astype(np.float64), truth, missing)
    return replace(counted, counts=counts, delivered=outcomes)


def _lowered(counts: FloatArray, truth: FloatArray, missing: IntArray) -> FloatArray:
    """Give all lost pictures of a person to the group that makes the counts least similar to the shares."""
    candidates = counts[:, None, :] + missing[:, None, None] * np.eye(counts.shape[-1])
    alike = similarity(candidates, np.broadcast_to(truth[:, None, :], candidates.shape))
    lowest = np.where(np.isnan(alike), np.inf, alike).argmin(axis=1)
    return np.asarray(candidates[np.arange(len(counts)), lowest])


def _raised(counts: FloatArray, truth: FloatArray, missing: IntArray) -> FloatArray:
    """Give lost pictures of a person, one by one, to the group that makes counts most similar to shares."""
    filled = counts.copy()
    unit, shares = np.eye(counts.shape[-1]), truth[:, None, :]
    for number in range(int(missing.max(initial=0))):
        best = similarity(filled[:, None, :] + unit, shares).argmax(axis=1)
        filled += unit[best] * (number < missing)[:, None]
    return filled


ANSWERS: Mapping[str, Callable[[PromptCase], tuple[str, ...]]] = MappingProxyType(
    {
        "kind": lambda case: (case.kind,),
        "category": lambda case: (case.category,),
        "subject": lambda case: (case.subject,),
        "attribute": lambda case: case.attributes,
    }
)
"""The words that select a prompt, by kind."""


def _words(cases: Sequence[PromptCase]) -> Mapping[str, Mapping[str, BoolArray]]:
    by_word: dict[str, dict[str, BoolArray]] = {kind: {} for kind in (*ANSWERS, "part")}
    for prompt, case in enumerate(cases):
        case_words = {kind: answers(case) for kind, answers in ANSWERS.items()} | {"part": (case.part,)}
        for kind, words in case_words.items():
            for word in words:
                by_word[kind].setdefault(word, np.zeros(len(cases), np.bool_))[prompt] = True
    return by_word


@dataclass(frozen=True, slots=True)
class Selection:
    """A part of a checklist's prompts, and the attributes that are pooled; without words, all of them.

    Words of one kind (kind, category, subject, attribute) are alternatives; words of different kinds must
    all match.
    """

    words: Mapping[str, frozenset[str]]

    @classmethod
    def over(cls, gallery: Gallery, **words: frozenset[str]) -> Iterator[Self]:
        """The prompts with these words: over all attributes, then for each of them."""
        yield cls(words)
        for attribute in gallery.checklist.attributes:
            yield cls(words | {"attribute": frozenset({attribute.name})})

    @property
    def attributes(self) -> frozenset[str]:
        return self.words.get("attribute", frozenset())

    @property
    def level(self) -> str | None:
        """The only kind or category of subjects that it names; None for the whole model."""
        named = {*self.words.get("kind", ()), *self.words.get("category", ())}
        return named.pop() if len(named) == 1 else None

    def holds(self, case: PromptCase) -> bool:
        """Whether a prompt matches."""
        return all(not words.isdisjoint(ANSWERS[kind](case)) for kind, words in self.words.items() if words)

    def chosen(self, gallery: Gallery, part: str) -> BoolArray:
        """Which prompts match and belong to the part, if it is not empty, (cases,)."""
        nothing = np.zeros(len(gallery.cases), np.bool_)
        required = {"part": frozenset({part} if part else ()), **self.words}
        match = [
            np.logical_or.reduce([gallery.words[kind].get(word, nothing) for word in words])
            for kind, words in required.items()
            if words
        ]
        return np.asarray(np.logical_and.reduce([~nothing, *match]))

    def times(self, gallery: Gallery, part: Literal["", Part], estimator: Estimator) -> IntArray:
        """How often each prompt counts in a mean over the selection, (cases,): once if it is chosen.

        ``published-code`` counts a prompt in every category in which the authors' scripts find it, so that a
        kind of subjects is a kind of categories; of explicit prompts it is the kind of prompts.
        """
        selected = self.chosen(gallery, part).astype(np.int64)
        if not part or estimator != "published-code" or self.words.get("subject"):
            return selected
        named = [self.words.get(kind) for kind in ("kind", "category")]
        counted, kinds = gallery.checklist.counted[part], gallery.checklist.kinds
        counts = np.zeros_like(selected)
        for prompt in np.flatnonzero(
            Selection({"attribute": self.attributes}).chosen(gallery, part)
        ).tolist():
            case = gallery.cases[prompt]
            counts[prompt] = sum(
                times
                for category, times in counted.get(case.subject, {case.category: 1}).items()
                for words in [(kinds[category] if part == "implicit" else case.kind, category)]
                if all(not allowed or word in allowed for allowed, word in zip(named, words, strict=True))
            )
        return counts

    def pooled(self, gallery: Gallery) -> tuple[str, ...]:
        """The names of the pooled attributes, in the checklist's order."""
        names = tuple(attribute.name for attribute in gallery.checklist.attributes)
        return tuple(name for name in names if not self.attributes or name in self.attributes)
