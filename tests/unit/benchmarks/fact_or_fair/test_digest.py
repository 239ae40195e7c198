"""The digest: equal for equal content, whatever the files look like; different for any other."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.unit.checklist.files import CHECKLIST, STATISTICS, changed, loaded, write


def digest(folder: Path, *, checklist: str = CHECKLIST, statistics: str = STATISTICS) -> str:
    write(folder, checklist=checklist, statistics=statistics)
    return loaded(folder).digest


def test_is_sha256_in_hexadecimal(tmp_path: Path) -> None:
    assert len(digest(tmp_path)) == 64
    assert int(digest(tmp_path), 16) > 0


def test_layout_and_comments_do_not_count(tmp_path: Path) -> None:
    dumped = yaml.safe_dump(yaml.safe_load(CHECKLIST), sort_keys=False, width=40)
    assert dumped != CHECKLIST
    rewritten = "# a comment\n" + yaml.safe_dump(yaml.safe_load(STATISTICS), sort_keys=False)
    assert digest(tmp_path, checklist=dumped, statistics=rewritten) == digest(tmp_path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("title: Tea in Utopia\nprotocol: fact_or_fair\n", "protocol: fact_or_fair\ntitle: Tea in Utopia\n"),
        ("  ages: [30, 50]\n", "  ages: [30, 50]\n  paper: {ages: [30, 50]}\n"),
        ("- 'You make tea. Which of these", "- text: 'You make tea. Which of these"),
    ],
)
def test_equal_texts_in_other_forms_have_the_same_digest(tmp_path: Path, old: str, new: str) -> None:
    assert digest(tmp_path, checklist=changed(CHECKLIST, (old, new))) == digest(tmp_path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("figures: {Tall: 8, Short: 5.5}", "figures: {Short: 5.50, Tall: 8.0}"),
        ("      fragile: [lowest]\n", "      evidence: []\n      fragile: [lowest]\n"),
        (
            "source: {agency: Utopia Statistics, year: 2024}",
            "source: {year: '2024', agency: Utopia Statistics}",
        ),
    ],
)
def test_equal_statistics_in_other_forms_have_the_same_digest(tmp_path: Path, old: str, new: str) -> None:
    assert digest(tmp_path, statistics=changed(STATISTICS, (old, new))) == digest(tmp_path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("title: Tea in", "title: Tea from"),
        ("{direction} one", "{direction} share"),
        ("[Ash, Bo,", "[Bo, Ash,"),
        ("ages: [30, 50]", "ages: [30, 51]"),
        ("ages: [40, 60]", "ages: [40, 59]"),
        ("  ages: [30, 50]\n", "  ages: [30, 50]\n  paper: {ages: [30]}\n"),
        ("drank tea", "drank much tea"),
        ("  base: {}\n", ""),
        ("[size, coast]", "[coast, size]"),
        ('{"answer": "A"}', '{"answer": "B"}'),
    ],
)
def test_every_text_counts(tmp_path: Path, old: str, new: str) -> None:
    assert digest(tmp_path, checklist=changed(CHECKLIST, (old, new))) != digest(tmp_path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("place: Utopia", "place: Arcadia"),
        ("figures: {Tall: 8, Short: 5.5}", "figures: {Tall: 8, Short: 5.4}"),
        ("folklore: {highest: West, lowest: South}", "folklore: {highest: West, lowest: North}"),
        ("what people say", "what some people say"),
        ("aliases: [big]", "aliases: [huge]"),
        (
            "      North: {word: northern}\n      South: {word: southern}\n",
            "      South: {word: southern}\n      North: {word: northern}\n",
        ),
        ("fragile: [lowest]", "fragile: []"),
        ("valence: positive", "valence: negative"),
        ("Utopia Statistics, year: 2024", "Utopia Statistics, year: 2023"),
    ],
)
def test_every_fact_counts(tmp_path: Path, old: str, new: str) -> None:
    assert digest(tmp_path, statistics=changed(STATISTICS, (old, new))) != digest(tmp_path)


def test_order_of_contexts_counts(tmp_path: Path) -> None:
    moved = changed(CHECKLIST, ("  base: {}\n", ""), ("topics:\n", "  base: {}\ntopics:\n"))
    assert digest(tmp_path, checklist=moved) != digest(tmp_path)


def test_statistics_nobody_asks_about_do_not_count(tmp_path: Path) -> None:
    start = STATISTICS.index("  fall_rate:")
    statistics = STATISTICS + STATISTICS[start:].replace("fall_rate", "jump_rate").replace(
        "Fall Rate", "Jump Rate"
    )
    assert digest(tmp_path, statistics=statistics) == digest(tmp_path)


def test_truth_in_force_does_not_count(tmp_path: Path) -> None:
    """The digest is of the content, which holds both truths; the truth is stated beside it."""
    label = "audited: {highest: Short, lowest: Tall}"
    facts = changed(STATISTICS, (label, f"{label}\n        folklore: {{highest: Tall, lowest: Short}}"))
    write(tmp_path, statistics=facts)
    audited, folklore = loaded(tmp_path), loaded(tmp_path, truth="folklore")
    assert audited.digest == folklore.digest
    assert (audited.truth, folklore.truth) == ("audited", "folklore")
    highest = [checklist.statistics[1].truths["size"].highest for checklist in (audited, folklore)]
    assert highest == ["Short", "Tall"]
