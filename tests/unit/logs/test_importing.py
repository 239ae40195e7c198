"""Checklists of what logs asked: each question once, as BBQ's own files would give it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_factorfair import benchmarks
from pytest_factorfair.benchmarks.asking import ImportedChecklist, ImportRequest
from pytest_factorfair.benchmarks.items.logged import from_log
from pytest_factorfair.config.settings import PRESETS
from pytest_factorfair.errors import InputError
from pytest_factorfair.logs import formats
from pytest_factorfair.logs.log import Log, LoggedItem, LoggedReply
from pytest_factorfair.logs.matching import match
from tests.extras import needs
from tests.project import DATA
from tests.unit.benchmarks.items import files

LOGS = DATA / "logs"

ROW = files.bbq(3, "nonneg", "disambig", label=0)
METADATA = {name: ROW[name] for name in ("question_index", "question_polarity", "context_condition", "category",
                                         "answer_info", "additional_metadata")}  # fmt: skip


def imported(monkeypatch: pytest.MonkeyPatch, *items: LoggedItem) -> ImportedChecklist:
    replies = [LoggedReply("?", "A", f"log:{number}", item=item) for number, item in enumerate(items)]
    monkeypatch.setattr(formats, "open_log", lambda _: Log("a log", {}, lambda: iter(replies)))
    return from_log(ImportRequest(Path("run.eval"), "made", "made"))


def items_of(checklist: ImportedChecklist) -> list[dict[str, Any]]:
    return [json.loads(line) for line in checklist.files["made.jsonl"].splitlines()]


def of_inspect(*order: int) -> LoggedItem:
    """The question as a task of Inspect has it, with shuffled choices: the metadata has no texts of options."""
    texts = [ROW[f"ans{number}"] for number in order]
    options = tuple(zip("ABC", texts, strict=True))
    question = f"Context: {ROW['context']}\n\nQuestion: {ROW['question']}"
    metadata = METADATA | {"source_id": 3}
    return LoggedItem("Age_00003", question, "", options, ("ABC"[order.index(0)],), metadata)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 0, 2)])
def test_shuffled_choices_keep_their_groups(monkeypatch: pytest.MonkeyPatch, order: tuple[int, ...]) -> None:
    """And a question in two orders is one."""
    checklist = imported(monkeypatch, of_inspect(*order), of_inspect(0, 1, 2))
    (item,) = items_of(checklist)
    assert (item["id"], item["context"], item["question"]) == ("age_3", ROW["context"], ROW["question"])
    assert item["options"] == [
        {"text": "The grandfather", "means": "old", "right": True},
        {"text": "The grandson", "means": "nonold", "stereotype": True},
        {"text": "Can't be determined", "means": "unknown"},
    ]
    assert (item["groups"], item["valence"]) == ({"age": ["old", "nonold"]}, "positive")
    assert checklist.gated


@pytest.mark.parametrize(
    ("metadata", "problem"),
    [
        ({"context_condition": "dim"}, "unknown context_condition 'dim'"),
        ({"answer_info": {"ans0": ["a", "old"], "ans1": 7, "ans2": []}}, "answer_info.ans1: expected a list"),
    ],
)
def test_a_row_of_bbq_that_is_wrong_is_one_line(
    monkeypatch: pytest.MonkeyPatch, metadata: dict[str, Any], problem: str
) -> None:
    item = of_inspect(0, 1, 2)
    with pytest.raises(InputError) as caught:
        imported(monkeypatch, replace(item, metadata={**item.metadata, **metadata}))
    assert str(caught.value).startswith(f"run.eval: question Age_00003: {problem}")


def test_other_questions_become_facts(monkeypatch: pytest.MonkeyPatch) -> None:
    def item(name: str, *options: str, target: str = "A", **metadata: str) -> LoggedItem:
        return LoggedItem(
            name, f"What is {name}?", "", tuple(zip("ABC", options, strict=False)), (target,), metadata
        )

    checklist = imported(
        monkeypatch,
        item("x", "yes", "no", category="Easy questions"),
        item("X ", "yes", "no", target="B"),
        item("y", "yes", "yes"),
        item("z", "yes", "no", target="C"),
        item("w", "yes", "no "),
    )
    assert items_of(checklist) == [
        {"id": "x", "condition": "fact", "question": "What is x?", "category": "easy_questions",
         "options": [{"text": "yes", "right": True}, {"text": "no"}]},
        {"id": "x_2", "condition": "fact", "question": "What is X ?", "category": "items",
         "options": [{"text": "yes"}, {"text": "no", "right": True}]},
        {"id": "w", "condition": "fact", "question": "What is w?", "category": "items",
         "options": [{"text": "yes", "right": True}, {"text": "no"}]},
    ]  # fmt: skip
    said = "category, question_polarity, context_condition, answer_info and additional_metadata"
    assert checklist.notes == (
        f"no bias gate judges 3 questions: the log does not say what a log of BBQ says ({said})",
        "2 questions left out: without a right answer, or with options that are empty, equal or too many",
    )
    assert not checklist.gated


def test_a_log_without_questions_with_options(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"^run\.eval: no question in it has options and a right answer$"):
        imported(monkeypatch)


SCORED = "samples_own_bbq_2026-11-28T11-31-37.214690.jsonl"
GENERATED = "samples_own_bbq_generate_2026-11-28T11-26-15.190166.jsonl"


@pytest.mark.parametrize(
    "name",
    [
        SCORED, GENERATED, "promptfoo.json", "promptfoo.jsonl", "helm.json", "chats.jsonl",
        pytest.param("inspect.eval", marks=needs("inspect")), pytest.param("inspect.json", marks=needs("inspect")),
    ],
)  # fmt: skip
def test_logs_of_all_tools_ask_the_same_questions(tmp_path: Path, name: str) -> None:
    """Real logs, each in the template of its tool: all their replies match the checklist made from one of them."""
    checklist = from_log(ImportRequest(LOGS / SCORED, "made", "made"))
    for file, content in checklist.files.items():
        (tmp_path / file).write_text(content, encoding="utf-8")
    loaded = benchmarks.load("made.yaml", truth="audited", base=tmp_path)
    sampling = replace(PRESETS["ci"].sampling, repeats=2)
    cases = benchmarks.cases(loaded, sampling)
    asked = [(loaded, benchmarks.queries(loaded, case, sampling)) for case in cases]
    log = formats.open_log(LOGS / name)
    matching = match(log, asked, path=name, seed=0)
    assert matching.matched == matching.logged == len(list(log.replies())) > 1
    assert matching.spare == 0
