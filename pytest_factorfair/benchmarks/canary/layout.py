"""The layout of the files of canaries."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pytest_factorfair.benchmarks.canary.checklist import Canary, CanaryQuestion
from pytest_factorfair.checklist.fields import ChecklistHeader, Id, Layout, Line, Text, hashed
from pytest_factorfair.checklist.loading import Files
from pytest_factorfair.checklist.selection import section
from pytest_factorfair.languages import language, words


class Question(Layout):
    """A question, put once for each list of options, which have the letters from A in this order."""

    ask: Line
    options: list[list[Line]] = Field(min_length=1)


class File(ChecklistHeader):
    """A canary: questions of which a model's answers are a matter of taste, so that a change shows."""

    protocol: Literal["canary"]
    modality: Literal["text"]
    answer_format: Text | None = Field(
        None, description="How to answer; by default the words of the checklist's language."
    )
    questions: dict[Id, Question] = Field(min_length=1)


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
        questions=tuple(
            CanaryQuestion(f"{id_}-{number}", question.ask, tuple(options))
            for id_, question in file.questions.items()
            for number, options in enumerate(question.options, start=1)
        ),
        answer_format=file.answer_format or words(language(file.language)).prompts.answer_format,
    )


FILES: Files[File, Canary] = Files(
    layout=File,
    build=build,
    selectors={"questions": section("The questions to ask, by id.", "questions")},
)
