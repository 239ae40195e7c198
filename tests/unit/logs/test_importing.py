"""Checklists of what logs asked: each question once, as BBQ's own files would give it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_factorfair import benchmarks
from pytest_factorfair.benchmarks.asking import ImportedChecklist, ImportRequest
from pytest_factorfair.benchmarks.items.bbq import FORMATS
from pytest_factorfair.benchmarks.items.logged import from_log
from pytest_factorfair.config.settings import PRESETS
from pytest_factorfair.errors import InputError
from pytest_factorfair.logs import formats
from pytest_factorfair.logs.items import item_in, lettered
from pytest_factorfair.logs.log import Log, LoggedItem, LoggedReply
from pytest_factorfair.logs.matching import Matching, match
from tests.extras import needs
from tests.project import DATA
from tests.unit.benchmarks.items import files

LOGS = DATA / "logs"

ROW = files.bbq(3, "nonneg", "disambig", label=0)
METADATA = {name: ROW[name] for name in ("question_index", "question_polarity", "context_condition", "category",
                                         "answer_info", "additional_metadata")}  # fmt: skip


def imported(monkeypatch: pytest.MonkeyPatch, *items: LoggedItem) -> ImportedChecklist:
    replies = [LoggedReply("?", "A", f"log:{number}", item=item) for number, item in enumerate(items)]
    monkeypatch.setattr(formats, "open_with", lambda *_: Log("a log", {}, lambda: iter(replies)))
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
    names = "bbq, esbbq, cabbq, kobbq, mbbq-en, mbbq-es, mbbq-nl, mbbq-tr, cbbq, discrim-eval"
    assert checklist.notes == (
        f"no bias gate judges 3 questions: the log has the columns of no benchmark that can be imported ({names})",
        "2 questions left out: without a right answer, or with options that are empty, equal or too many",
    )
    assert not checklist.gated


def of_document(document: dict[str, Any], *wordings: str) -> LoggedItem:
    """The question of a sample of lm-evaluation-harness, which logs the row of the data set.

    Tools often show further ``wordings`` of the option that nobody can know.
    """
    item = item_in(document, document.get("example_id", 0), target="nothing")
    assert item is not None
    shown = (*(text for _, text in item.options[:2]), *wordings) if wordings else ()
    return replace(item, options=lettered(shown) or item.options)


SPANISH = [files.esbbq(template, *quarter) for template in range(2) for quarter in files.QUARTET]
CATALAN = [
    row
    | {"context": f"Van arribar els dos amics amb la Maria. {row['instance_id']}", "question": "Qui va ser?"}
    for row in SPANISH
]
DUTCH = ("De oude man", "De jongen", "Niet te bepalen")
DUTCH_ROWS = [
    files.mbbq(template, *quarter, DUTCH) | {"question": "Wie was het niet?"}
    for template in range(2)
    for quarter in files.QUARTET
]
KOREAN = [files.kobbq(template, *quarter) for template in range(2) for quarter in files.QUARTET]
CHINESE = [files.cbbq(template, *quarter) for template in range(2) for quarter in files.QUARTET]


@pytest.mark.parametrize(
    ("name", "file", "rows", "wordings"),
    [
        ("esbbq", "Age.full.jsonl", SPANISH, ("No lo sé", "No hay suficiente información")),
        ("cabbq", "Age.full.jsonl", CATALAN, ("No ho sé", "No es pot saber")),
        ("mbbq-nl", "Age_nl.jsonl", DUTCH_ROWS, ()),
        ("kobbq", "KoBBQ_test_samples.jsonl", KOREAN, ()),
        ("cbbq", "age/ambiguous/ambiguous.jsonl", CHINESE, ()),
    ],
)
def test_a_benchmark_in_a_log_is_read_as_from_its_files(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    name: str,
    file: str,
    rows: list[dict[str, Any]],
    wordings: tuple[str, ...],
) -> None:
    """Told by its columns, and by the language of the questions where two benchmarks have the same."""
    published = tmp_path / file.rpartition("/")[2]
    published.write_text(files.lines(*rows), encoding="utf-8")
    expected = FORMATS[name](ImportRequest(published, "made", "made", any_version=True))
    checklist = imported(monkeypatch, *(of_document(row, *wordings) for row in rows))
    assert items_of(checklist) == items_of(expected)
    head, other = (yaml.safe_load(made.files["made.yaml"]) for made in (checklist, expected))
    assert (head.get("language"), head["attributes"]) == (other.get("language"), other["attributes"])
    assert checklist.notes[0] == f"{FORMATS[name].title}: {expected.notes[0]}"
    assert set(checklist.notes[1:]) == set(expected.notes[1:])
    assert checklist.gated


def test_bbq_in_a_log_of_helm() -> None:
    """Its tags tell condition, polarity and the stereotyped person; not the group, category and template."""
    made = from_log(ImportRequest(LOGS / "helm.json", "made", "made"))
    assert made.notes == ("BBQ (Parrish et al. 2022): 4 questions of 1 category",)
    ours = from_log(ImportRequest(LOGS / SCORED, "made", "made"))
    marks = [
        {
            (item["context"], item["question"]): (
                item["condition"], item["valence"],
                [[option["text"] for option in item["options"] if option.get(mark)] for mark in ("right", "stereotype")],
            )
            for item in items_of(checklist)
        }
        for checklist in (made, ours)
    ]  # fmt: skip
    assert marks[0] == marks[1]
    assert {item["cluster"] for item in items_of(made)} == {
        "bbq_who_could_not_handle_the_app", "bbq_who_was_quick_with_the_app",
    }  # fmt: skip


def test_decisions_in_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of discrim-eval, whose rows have neither options nor a right answer."""
    rows = [files.discrim(question, 20 + 10 * question, "female", "Black") for question in range(3)]
    checklist = imported(monkeypatch, *map(of_document, rows))
    first, *_ = items = items_of(checklist)
    assert [item["cluster"] for item in items] == ["decision_0", "decision_1", "decision_2"]
    assert first["question"] == rows[0]["filled_template"]
    assert first["options"] == [{"text": "yes", "favourable": True}, {"text": "no"}]
    assert first["groups"] == {"age": "20", "gender": "female", "race": "black"}
    assert checklist.notes == ("discrim-eval (Tamkin et al. 2023): 3 questions",)


def test_benchmarks_in_two_languages_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError) as caught:
        imported(monkeypatch, of_document(SPANISH[0]), of_document(KOREAN[0]))
    assert str(caught.value) == (
        "run.eval: has questions of EsBBQ (Ruiz-Fernández et al. 2025) and KoBBQ (Jin et al. 2024); a checklist "
        "has one language"
    )


def test_shuffled_options_without_codes_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log that has KoBBQ's columns but its options in another order does not pass for another benchmark."""
    row = KOREAN[0] | {"choices": KOREAN[0]["choices"][::-1]}
    with pytest.raises(InputError, match="the right answer is unknown in ambiguous questions only"):
        imported(monkeypatch, of_document(row))


def test_a_log_without_questions_with_options(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"^run\.eval: no question in it has options and a right answer$"):
        imported(monkeypatch)


SCORED = "samples_own_bbq_2026-11-28T11-31-37.214690.jsonl"
GENERATED = "samples_own_bbq_generate_2026-11-28T11-26-15.190166.jsonl"


@pytest.mark.parametrize(
    "name",
    [
        SCORED, GENERATED, "promptfoo.json", "promptfoo.jsonl", "promptfoo.csv", "helm.json", "helm_original.json", "helm_calibrated.json", "chats.jsonl",
        pytest.param("inspect.eval", marks=needs("inspect")), pytest.param("inspect.json", marks=needs("inspect")),
    ],
)  # fmt: skip
def test_logs_of_all_tools_ask_the_same_questions(tmp_path: Path, name: str) -> None:
    """Real logs, each in the template of its tool: all their replies match the checklist made from one of them."""
    matching = matched(tmp_path, SCORED, name)
    assert matching.matched == matching.logged > 1
    assert matching.spare == 0


@pytest.mark.parametrize("name", ["samples_own_esbbq.jsonl", "samples_own_discrim_eval.jsonl"])
def test_logs_of_other_benchmarks_ask_what_their_checklist_asks(tmp_path: Path, name: str) -> None:
    """Real samples of lm-evaluation-harness, with nine wordings of *unknown*, and with "yes" and "Yes"."""
    matching = matched(tmp_path, name, name, repeats=1)
    assert matching.matched == matching.logged == matching.asked == len(matching.replies) > 1


def matched(folder: Path, asked: str, name: str, *, repeats: int = 2) -> Matching:
    """A log matched to the checklist that is made from one."""
    checklist = from_log(ImportRequest(LOGS / asked, "made", "made"))
    for file, content in checklist.files.items():
        (folder / file).write_text(content, encoding="utf-8")
    loaded = benchmarks.load("made.yaml", truth="audited", base=folder)
    sampling = replace(PRESETS["ci"].sampling, repeats=repeats)
    cases = benchmarks.cases(loaded, sampling)
    queries = [(loaded, benchmarks.queries(loaded, case, sampling)) for case in cases]
    return match(formats.open_log(LOGS / name), queries, path=name, seed=0)
