"""Overlays: what ``extends`` merges and rejects, and which file messages name."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_factorfair.benchmarks.fact_or_fair.checklist import FactOrFair
from pytest_factorfair.errors import ChecklistError
from tests.unit.checklist.files import fact_or_fair, loaded, refusal, write

HEAD = "extends: tea.yaml\nname: coffee\n"
PEOPLE = "Which of these {people} is"


def overlay(folder: Path, text: str, *, head: str = HEAD) -> None:
    write(folder)
    (folder / "own.yaml").write_text(head + text, encoding="utf-8")


def merged(folder: Path, text: str) -> FactOrFair:
    overlay(folder, text)
    return loaded(folder, "own.yaml")


def refused(folder: Path, text: str, *, head: str = HEAD) -> str:
    overlay(folder, text, head=head)
    return refusal(folder, "own.yaml")


def texts(checklist: FactOrFair) -> list[str]:
    return [scenario.text[:13] for scenario in checklist.topic("tea_rate", "highest").scenarios]


def test_an_overlay_changes_only_what_it_names(tmp_path: Path) -> None:
    changed = merged(tmp_path, "title: Coffee\n")
    base = loaded(tmp_path)
    assert (changed.name, changed.title) == ("coffee", "Coffee")
    assert (changed.statistics, changed.topics, changed.contexts) == (
        base.statistics,
        base.topics,
        base.contexts,
    )
    assert changed.digest != base.digest


def test_shipped_checklist_is_extended_by_name(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("extends: fact_or_fair\nname: short\ntopics: {crime_rate: null}\n")
    changed, base = (
        fact_or_fair(name, truth="audited", base=tmp_path) for name in ("own.yaml", "fact_or_fair")
    )
    assert len(changed.topics) == len(base.topics) - 2
    assert "crime_rate" not in [statistic.id for statistic in changed.statistics]


def test_null_removes(tmp_path: Path) -> None:
    changed = merged(tmp_path, "contexts: {news: null}\ntopics: {fall_rate: null}\n")
    assert [context.id for context in changed.contexts] == ["base", "told"]
    assert [statistic.id for statistic in changed.statistics] == ["tea_rate"]


def test_new_keys_come_after_the_base(tmp_path: Path) -> None:
    changed = merged(
        tmp_path,
        "contexts: {in_group: {background: random, text: 'You are {size}.'}, told: {text: '{clauses}!'}}\n",
    )
    assert [context.id for context in changed.contexts] == ["base", "told", "news", "in_group"]
    assert (changed.contexts[1].text, changed.contexts[1].attributes) == ("{clauses}!", ("size", "coast"))


def test_list_replaces(tmp_path: Path) -> None:
    scenario = f"'New. {PEOPLE} most likely to come?'"
    assert texts(merged(tmp_path, f"topics: {{tea_rate: {{highest: {{scenarios: [{scenario}]}}}}}}\n")) == [
        "New. Which of"
    ]


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        ("{remove: [1]}", ["You sell cups"]),
        ("{remove: [2]}", ["You make tea."]),
        (f"{{add: ['New. {PEOPLE} here?']}}", ["You make tea.", "You sell cups", "New. Which of"]),
        (f"{{remove: [1, 2], add: ['New. {PEOPLE} here?']}}", ["New. Which of"]),
    ],
)
def test_list_is_edited(tmp_path: Path, edits: str, expected: list[str]) -> None:
    changed = merged(tmp_path, f"topics: {{tea_rate: {{highest: {{scenarios: {edits}}}}}}}\n")
    assert texts(changed) == expected


def test_names_are_edited_like_any_list(tmp_path: Path) -> None:
    changed = merged(tmp_path, "subjective: {names: {remove: [1], add: [Gil, Hal]}}\n")
    assert changed.people.names == ("Bo", "Cy", "Di", "Eli", "Flo", "Gil", "Hal")


def test_statistics_are_changed_by_id(tmp_path: Path) -> None:
    changed = merged(tmp_path, "statistics: {statistics: {tea_rate: {coast: {fragile: [lowest]}}}}\n")
    assert changed.statistics[0].truths["coast"].fragile == ("lowest",)
    assert changed.statistics[0].truths["coast"].highest == "North"
    assert changed.statistics[1] == loaded(tmp_path).statistics[1]


def test_attribute_is_added(tmp_path: Path) -> None:
    changed = merged(
        tmp_path,
        """\
subjective:
  profile: '{name}, {age}, {size}, {coast}, {hand}'
statistics:
  attributes:
    hand: {groups: {Left: {word: left-handed}, Right: {word: right-handed}}}
  statistics:
    fall_rate:
      hand: {kind: rate, truths: {audited: {highest: Left, lowest: Right}}}
""",
    )
    assert [attribute.name for attribute in changed.attributes] == ["size", "coast", "hand"]
    assert set(changed.statistics[1].truths) == {"size", "hand"}


def test_path_of_statistics_replaces_them(tmp_path: Path) -> None:
    write(tmp_path)
    facts = (tmp_path / "facts.yaml").read_text().replace("place: Utopia", "place: Arcadia")
    renamed = facts.replace("  fall_rate:\n", "  rise_rate:\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/other.yaml").write_text(renamed)
    text = "extends: ../tea.yaml\nname: coffee\nstatistics: other.yaml\n"
    (tmp_path / "sub/own.yaml").write_text(text)
    with pytest.raises(ChecklistError, match=r"topics\.fall_rate: unknown statistic"):  # the base's is gone
        loaded(tmp_path, "sub/own.yaml")
    (tmp_path / "sub/own.yaml").write_text(f"{text}topics: {{fall_rate: null}}\n")
    assert loaded(tmp_path, "sub/own.yaml").place == "Arcadia"


def test_overlay_of_an_overlay(tmp_path: Path) -> None:
    overlay(tmp_path, "title: Coffee\ncontexts: {news: null}\n")
    (tmp_path / "third.yaml").write_text("extends: own.yaml\nname: third\ntitle: Third\n")
    third = loaded(tmp_path, "third.yaml")
    assert (third.name, third.title, len(third.contexts)) == ("third", "Third", 2)


REFUSED = [
    (
        "contexts: {nwes: null}\n",
        "3: contexts.nwes: null removes a key, and the base has no such key; did you mean 'news'?",
    ),
    (
        "topics: {milk_rate: {highest: null}}\n",
        "3: topics.milk_rate.highest: must be a mapping, not empty (and 1 more)",
    ),
    ("titel: Coffee\n", "3: titel: unknown key; did you mean 'title'?"),
    (
        "statistics: {statistics: {tea_rate: {size: {fragile: [highst]}}}}\n",
        (
            "3: statistics.statistics.tea_rate.size.fragile[0]: must be 'highest' or 'lowest', not 'highst'; "
            "did you mean 'highest'?"
        ),
    ),
    (
        "objective:\n  templates:\n    add: ['Who? {choices}']\n",
        "5: objective.templates.add[0]: lacks the placeholder {direction} (and 1 more)",
    ),
    (
        "objective: {templates: {remove: [2]}}\n",
        "3: objective.templates.remove[0]: must be a position in the base's list of 1, counted from 1",
    ),
    (
        "objective: {templates: {remove: [0]}}\n",
        "3: objective.templates.remove[0]: must be a position in the base's list of 1, counted from 1",
    ),
    ("objective: {templates: {remove: 1}}\n", "3: objective.templates.remove: must be a list"),
    ("objective: {templates: {remove: [1]}}\n", "3: objective.templates: needs at least 1, has 0"),
    ("objective: {templates: {}}\n", "3: objective.templates: must be a list, not a mapping"),
    ("objective: {templates: {drop: [1]}}\n", "3: objective.templates: must be a list, not a mapping"),
    (
        "schema: factorfair.checklist/9\n",
        "3: schema: must be factorfair.checklist/1, not factorfair.checklist/9",
    ),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_invalid_changes_are_reported_at_the_overlay(tmp_path: Path, text: str, message: str) -> None:
    assert refused(tmp_path, text) == f"own.yaml:{message}"


def test_problem_of_the_base_is_reported_at_the_base(tmp_path: Path) -> None:
    overlay(tmp_path, "statistics: {attributes: {coast: null}}\n")
    assert refusal(tmp_path, "own.yaml").startswith(
        "facts.yaml:27: statistics.tea_rate.coast: unknown key; known: "
    )


HEADS = [
    ("extends: tee.yaml\nname: x\n", "1: extends: there is no file tee.yaml"),
    (
        "extends: fact_or_fiar\nname: x\n",
        (
            "1: extends: no shipped checklist is called 'fact_or_fiar'; did you mean 'fact_or_fair'? "
            "(a file of your own is named with its ending: own.yaml)"
        ),
    ),
    (
        "extends: [tea.yaml]\nname: x\n",
        "1: extends: must be the name of a shipped checklist or the path of a file",
    ),
    ("extends: tea.yaml\n", "1: name: missing; a checklist that extends another has a name of its own"),
    (
        "extends: tea.yaml\nname: tea\n",
        "2: name: 'tea' is the name of the checklist that this one extends; give it its own",
    ),
    (
        "extends: own.yaml\nname: x\n",
        "1: extends: own.yaml extends this file in turn; a checklist cannot extend itself",
    ),
]


@pytest.mark.parametrize(("head", "message"), HEADS)
def test_invalid_first_fields_are_refused(tmp_path: Path, head: str, message: str) -> None:
    assert refused(tmp_path, "", head=head) == f"own.yaml:{message}"


def test_statistics_file_is_no_checklist_to_extend(tmp_path: Path) -> None:
    message = "facts.yaml:1: schema: must be factorfair.checklist/1, not factorfair.statistics/1"
    assert refused(tmp_path, "", head="extends: facts.yaml\nname: x\n") == message


def test_circle_is_refused_where_it_closes(tmp_path: Path) -> None:
    for name, base in (("a", "b"), ("b", "c"), ("c", "./a")):
        (tmp_path / f"{name}.yaml").write_text(f"extends: {base}.yaml\nname: {name}\n")
    message = "c.yaml:1: extends: ./a.yaml extends this file in turn; a checklist cannot extend itself"
    assert refusal(tmp_path, "a.yaml") == message


def test_long_chain_is_followed(tmp_path: Path) -> None:
    overlay(tmp_path, "")
    (tmp_path / "n0.yaml").write_text("extends: own.yaml\nname: n0\n")
    for n in range(1, 30):
        (tmp_path / f"n{n}.yaml").write_text(f"extends: n{n - 1}.yaml\nname: n{n}\n")
    assert loaded(tmp_path, "n29.yaml").name == "n29"
