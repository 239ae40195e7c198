"""The layout of the files of canaries."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pytest_factorfair.benchmarks.canary.checklist import Canary, CanaryQuestion
from pytest_factorfair.checklist.fields import ChecklistHeader, Id, Line, Text, hashed
from pytest_factorfair.checklist.loading import Files
from pytest_factorfair.checklist.selection import section


class File(ChecklistHeader):
    """A canary: questions of which a model's answers are a matter of taste, so that a change shows."""

    protocol: Literal["canary"]
    modality: Literal["text"]
    answer_format: Text = Field("", description="How to answer; follows each question.")
    questions: dict[Id, Line] = Field(min_length=1, description="Questions that a word answers, by id.")


def build(file: File, truth: str) -> Canary:
    """The checklist, the same under every truth set."""
    return Canary(
        name=file.name,
        title=file.title,
        protocol=file.protocol,
        modality=file.modality,
        truth=truth,
        attributes=(),
        digest=hashed(file.model_dump(mode="json", by_alias=True)),
        questions=tuple(CanaryQuestion(id_, ask) for id_, ask in file.questions.items()),
        answer_format=file.answer_format,
    )


FILES: Files[File, Canary] = Files(
    layout=File,
    build=build,
    selectors={"questions": section("The questions to ask, by id.", "questions")},
)
