"""Checklists from published files of BBQ and its counterparts in other languages, which are not shipped."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import PurePath
from typing import NamedTuple

from pytest_factorfair.benchmarks.asking import ImportedChecklist, ImportRequest
from pytest_factorfair.benchmarks.items.bbq_files import BBQ, CABBQ, CBBQ, ESBBQ, KOBBQ, MBBQ
from pytest_factorfair.benchmarks.items.checklist import RESERVED, UNKNOWN, Condition, Valence
from pytest_factorfair.benchmarks.items.writing import ItemFields, option, written
from pytest_factorfair.benchmarks.published_files import Copies, Copy, Releases, Row, slug
from pytest_factorfair.domain import Language, plural
from pytest_factorfair.errors import InputError
from pytest_factorfair.languages import words

CONDITIONS: Mapping[str, Condition] = {
    "ambig": "ambiguous", "disambig": "disambiguated",
    "ambiguous": "ambiguous", "disambiguous": "disambiguated",
}  # fmt: skip
VALENCES: Mapping[str, Valence] = {"neg": "negative", "nonneg": "positive", "non_neg": "positive"}
LABELS: Mapping[str, int] = {"0": 0, "1": 1, "2": 2}

PEOPLE = 2
"""The number of people in every question; the third option is that nobody can know."""


class Question(NamedTuple):
    """A question about two people, from a ``row`` of a file.

    ``answers`` are the texts of its options and what they mean: groups if they are ``grouped``, else free
    words. ``right`` and ``stereotype`` are indices; a question without a stereotype has no bias score. Who is
    the answer to a question of negative ``valence`` did something bad; of positive, something else.
    """

    row: Row
    id: str
    condition: Condition
    context: str
    question: str
    answers: tuple[tuple[str, str], ...]
    right: int
    stereotype: int | None
    cluster: str
    category: str
    grouped: bool = True
    valence: Valence | None = None

    @property
    def item_id(self) -> str:
        """Its id in the checklist."""
        return f"{self.category}_{self.id}"

    @property
    def groups(self) -> list[str]:
        """The groups that its answers mean."""
        return [means for _, means in self.answers if self.grouped and means != UNKNOWN]

    def check(self, categories: dict[str, object], ids: set[str]) -> None:
        """Check its right answer and names, and its id and category against those of earlier questions.

        Raises:
            ChecklistError: one of them is wrong.
        """
        if (self.answers[self.right][1] == UNKNOWN) != (self.condition == "ambiguous"):
            raise self.row.error("the right answer is unknown in ambiguous questions only")
        source = self.row["category"]
        if (twin := categories.setdefault(self.category, source)) != source:
            raise self.row.error(f"category: '{twin}' and '{source}' are both '{self.category}'")
        if self.item_id in ids:
            raise self.row.error(f"another question has its id, '{self.item_id}'")
        ids.add(self.item_id)
        if any(len(text.splitlines()) > 1 for text, _ in self.answers):
            raise self.row.error("an answer has several lines")
        if reserved := {*RESERVED} & {*self.groups}:
            raise self.row.error(f"'{reserved.pop()}' cannot be the name of a group")

    @property
    def item(self) -> ItemFields:
        """The item that asks it."""
        marks = {"right": self.right, "stereotype": self.stereotype}
        return {
            "id": self.item_id,
            "condition": self.condition,
            "context": self.context,
            "question": self.question,
            "options": [
                option(text, means, **{mark: at == index for mark, at in marks.items()})
                for index, (text, means) in enumerate(self.answers)
            ],
            "cluster": f"{self.category}_{self.cluster}",
            "category": self.category,
            "groups": {self.category: self.groups} if self.groups else {},
            **({} if self.valence is None else {"valence": self.valence}),
        }


class Gathered(NamedTuple):
    """Questions as items, the groups that they name by attribute, and notes: their number, and cautions."""

    items: list[ItemFields]
    attributes: Mapping[str, list[str]]
    notes: tuple[str, ...]

    @classmethod
    def of(cls, questions: Iterable[Question]) -> Gathered:
        """Check and gather questions; those of which two answers mean the same are left out.

        Raises:
            ChecklistError: one of them is wrong.
        """
        items: list[ItemFields] = []
        attributes: dict[str, list[str]] = {}
        categories: dict[str, object] = {}
        ids: set[str] = set()
        unmarked, unusable = 0, 0
        for question in questions:
            question.check(categories, ids)
            if len({means for _, means in question.answers}) < len(question.answers):
                unusable += 1
                continue
            if question.groups:
                attributes.setdefault(question.category, []).extend(question.groups)
            unmarked += question.stereotype is None
            items.append(question.item)
        notes = [f"{plural(len(items), 'question')} of {plural(len(categories), 'category', 'categories')}"]
        if unmarked:
            notes.append(
                f"{plural(unmarked, 'question')} ({unmarked / max(len(items), 1):.0%}) without a "
                "stereotypical option: no bias score"
            )
        if unusable:
            notes.append(f"{plural(unusable, 'question')} left out: two answers mean the same")
        return cls(items, attributes, tuple(notes))


@dataclass(frozen=True, slots=True)
class BBQFormat:
    """How one of these benchmarks is imported: its ``title``, ``language`` and files, and a reader of rows.

    The files are in a ``folder`` of their repository; their rows have all ``keys``. Files with ``_control``
    in their names have a reader of their own. ``licence`` is a note on files that may not be passed on
    freely.
    """

    title: str
    language: str
    folder: str
    releases: Releases
    keys: tuple[str, ...]
    read: Callable[[Row], Question]
    control: Callable[[Row], Question] | None = None
    licence: str = ""

    def __call__(self, request: ImportRequest) -> ImportedChecklist:
        """Import all files as one checklist.

        Raises:
            InputError: the files cannot be read, or differ from the published ones.
        """
        copies = Copies(request, self.releases, self.folder)
        gathered = Gathered.of(question for copy in copies for question in self._questions(copy))
        if not gathered.items:
            raise InputError(f"{request.path}: has no questions")
        size, *cautions = gathered.notes
        notes = [size, *copies.notes, *cautions, *filter(None, [self.licence])]
        return written(
            request, self.title, gathered.attributes, gathered.items, notes, language=self.language
        )

    def _questions(self, copy: Copy) -> Iterator[Question]:
        """The questions of a file."""
        is_control = "_control" in PurePath(copy.name).stem
        return map((is_control and self.control) or self.read, copy.rows(self.keys))


def stereotype(row: Row, stereotyped: list[int]) -> int | None:
    """The person, 0 or 1, whom the stereotype suggests, given who is stereotyped.

    It is the stereotyped person if the question is negative, and the other one if it is not.
    """
    negative = valence(row) == "negative"
    if len(stereotyped) != 1:
        return None
    return stereotyped[0] if negative else 1 - stereotyped[0]


def valence(row: Row) -> Valence:
    """Whether it is bad to be the answer."""
    return row.choice("question_polarity", VALENCES)


CODED = (
    "example_id", "question_index", "question_polarity", "context_condition", "category",
    *(f"answer_info.ans{index}" for index in range(3)),
    "additional_metadata", "context", "question", "ans0", "ans1", "ans2", "label|answer_label",
)  # fmt: skip
"""The keys of BBQ's rows that are read; the copy on the Hugging Face Hub has another name for one."""


def coded(row: Row, *, control: bool = False) -> Question:
    """The question of a row of BBQ or MBBQ, whose answers have codes. A cluster is a template.

    MBBQ's ``control`` files have first names instead of groups; their bias is a baseline and no stereotype.

    Raises:
        ChecklistError: the row is wrong.
    """
    category = row.id("category")
    texts = [row.text(f"ans{index}") for index in range(3)]
    codes = [row.texts(f"answer_info.ans{index}") for index in range(3)]
    people = [index for index in range(3) if codes[index][-1] != "unknown"]
    if len(people) != PEOPLE:
        raise row.error(f"expected an answer that is unknown and {PEOPLE} people")
    if control:
        names = {index: texts[index] for index in people}
        target = None
    else:
        stereotyped = _stereotyped(row.texts("additional_metadata.stereotyped_groups"))
        # The last code is that of a region, where both people may be from; and where both have the same
        # codes, as in 12 Spanish questions, the text tells them apart.
        first, second = ([*codes[index], *texts[index].split()[-1:]] for index in people)
        position = next((at for at in (-2, 0, -1) if first[at] != second[at]), -1)
        names = {
            index: row.named(code[position], f"answer_info.ans{index}")
            for index, code in zip(people, (first, second), strict=True)
        }
        aimed = [
            at for at, code in enumerate((first, second))
            if stereotyped & {*(code[-1:] if position == -1 else code[:-1])}
        ]  # fmt: skip
        target = stereotype(row, aimed)
    return Question(
        row=row,
        id=row.id("example_id"),
        condition=row.choice("context_condition", CONDITIONS),
        context=row.text("context"),
        question=row.text("question"),
        answers=tuple((texts[index], names.get(index, UNKNOWN)) for index in range(3)),
        right=row.choice("label|answer_label", LABELS),
        stereotype=None if target is None else people[target],
        cluster=row.id("question_index"),
        category=f"{category}_control" if control else category,
        grouped=not control,
        valence=valence(row),
    )


WOMEN = ("woman", "girl", "mujer", "chica", "vrouw", "meisje", "kadın", "kız")  # noqa: RUF001 - Turkish
MEN = ("man", "boy", "hombre", "chico", "jongen", "adam", "erkek çocuk")
ALSO: Mapping[str, tuple[str, ...]] = {
    "low SES": ("lowSES",), "high SES": ("highSES",), "F": WOMEN, "M": MEN, "trans": ("trans_F", "trans_M"),
}  # fmt: skip
"""Further names that answers use for a stereotyped group, in all languages of MBBQ."""


def _stereotyped(groups: list[str]) -> set[str]:
    """The stereotyped groups under every name that answers use, as in the scripts of difference awareness."""
    names = {*groups}
    for group in groups:
        names.update(ALSO.get(group, ()))
        if group in ("Black", "African American", "Hispanic", "Latino", "Asian", "Arab"):
            names.update((f"F-{group}", f"M-{group}"))
    return names


SPANISH_KEYS = (
    "instance_id", "template_id", "question_polarity", "context_condition", "category", "stereotyped_groups",
    "answer_info.ans0", "answer_info.ans1", "context", "question", "ans0", "ans1", "question_type", "label",
)  # fmt: skip

FOLLOWS: Mapping[str, bool | None] = {"n/a": None, "pro-stereo": True, "anti-stereo": False}


def spanish(language: str) -> Callable[[Row], Question]:
    """A reader of EsBBQ or CaBBQ, whose third option is a placeholder. A cluster is a template."""

    def read(row: Row) -> Question:
        unknown = words(Language(language)).prompts.unknown
        # "m, árabe" is a man of that group.
        codes = [row.texts(f"answer_info.ans{index}")[-1] for index in range(PEOPLE)]
        groups = [code.rpartition(",")[2].strip() for code in codes]
        stereotyped = row.texts("stereotyped_groups")
        target = stereotype(row, [index for index in range(PEOPLE) if groups[index] in stereotyped])
        right = row.choice("label", LABELS)
        # The authors' mark, which differs from the rule in 16 of the 37,072 disambiguated questions.
        follows = row.choice("question_type", FOLLOWS)
        if follows is not None:
            target = right if follows else 1 - right
        answers = [
            (row.text(f"ans{index}"), row.named(groups[index], "answer_info")) for index in range(PEOPLE)
        ]
        return Question(
            row=row,
            id=row.id("instance_id"),
            condition=row.choice("context_condition", CONDITIONS),
            context=row.text("context"),
            question=row.text("question"),
            answers=(*answers, (unknown, UNKNOWN)),
            right=right,
            stereotype=target,
            cluster=row.id("template_id"),
            category=slug(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", row.text("category"))),
            valence=valence(row),
        )

    return read


KOREAN_KEYS = ("sample_id", "context", "question", "choices", "biased_answer", "answer")


def kobbq(row: Row) -> Question:
    """Read KoBBQ, whose rows name the stereotypical option. A cluster is a template with all its contexts."""
    match = re.fullmatch(r"(\w+)-(\d+)[a-z]-\d+-(amb|dis)-(?:bsd|cnt)", row.text("sample_id"))
    indices = {choice: index for index, choice in enumerate(row.texts("choices"))}
    if match is None or len(indices) != PEOPLE + 1:
        raise row.error(f"expected an id such as age-001a-002-amb-bsd and {PEOPLE + 1} different choices")
    category, template, condition = match.groups()
    return Question(
        row=row,
        id=slug(row.text("sample_id").removeprefix(category)),
        condition="ambiguous" if condition == "amb" else "disambiguated",
        context=row.text("context"),
        question=row.text("question"),
        answers=tuple((text, UNKNOWN if index == PEOPLE else text) for text, index in indices.items()),
        right=row.choice("answer", indices),
        stereotype=row.choice("biased_answer", indices),
        cluster=template,
        category=slug(category),
        grouped=False,
    )


CHINESE_KEYS = (
    "example_id", "question_index", "question_polarity", "context_condition", "category",
    "bias_targeted_groups", "context", "question", "ans0", "ans1", "ans2", "label",
)  # fmt: skip


def cbbq(row: Row) -> Question:
    """Read CBBQ. A person is stereotyped if the answer contains the targeted group, which is free text.

    Disambiguated questions have no stereotype: their right answer always goes against it, so that a model
    that follows the text would seem biased. A cluster is a template in one condition.
    """
    people = [row.text(f"ans{index}") for index in range(PEOPLE)]
    targeted = [index for index in range(PEOPLE) if row.text("bias_targeted_groups") in people[index]]
    condition = row.choice("context_condition", CONDITIONS)
    return Question(
        row=row,
        id=f"{condition}_{row.id('example_id')}",
        condition=condition,
        context=row.text("context"),
        question=row.text("question"),
        answers=(*((text, text) for text in people), (row.text("ans2"), UNKNOWN)),
        right=row.choice("label", LABELS),
        stereotype=stereotype(row, targeted) if condition == "ambiguous" else None,
        cluster=f"{condition}_{row.id('question_index')}",
        category=row.id("category"),
        grouped=False,
        valence=valence(row),
    )


def _mbbq(language: str) -> BBQFormat:
    return BBQFormat(
        "MBBQ (Neplenbroek et al. 2024)",
        language,
        "data",
        {name: git for name, git in MBBQ.items() if name.endswith(f"_{language}.jsonl")},
        CODED,
        coded,
        partial(coded, control=True),
        "no licence is stated for MBBQ: do not pass on its files",
    )


FORMATS: Mapping[str, BBQFormat] = {
    "bbq": BBQFormat("BBQ (Parrish et al. 2022)", "en", "data", BBQ, CODED, coded),
    "esbbq": BBQFormat(
        "EsBBQ (Ruiz-Fernández et al. 2025)", "es", "data_es", ESBBQ, SPANISH_KEYS, spanish("es")
    ),
    "cabbq": BBQFormat(
        "CaBBQ (Ruiz-Fernández et al. 2025)", "ca", "data_ca", CABBQ, SPANISH_KEYS, spanish("ca")
    ),
    "kobbq": BBQFormat("KoBBQ (Jin et al. 2024)", "ko", "data", KOBBQ, KOREAN_KEYS, kobbq),
    **{f"mbbq-{language}": _mbbq(language) for language in ("en", "es", "nl", "tr")},
    "cbbq": BBQFormat(
        "CBBQ (Huang and Xiong 2024)",
        "zh",
        "data",
        CBBQ,
        CHINESE_KEYS,
        cbbq,
        licence="CBBQ is licensed CC BY-SA 4.0: pass on what you make of it under the same licence",
    ),
}
