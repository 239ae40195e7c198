"""Rules between values: names that exist, shares that are valid, prompts that can be filled."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.benchmarks.faintbench.files import TEA, refused, written
from tests.unit.checklist.files import changed

BAKER = "{tall: 0.1, short: 0.9}"

WRONG = [
    # names
    ("category: indoors", "category: indoor", "34: occupations.baker.category: unknown category of occupations 'indoor'; did you mean 'indoors'?"),
    ("category: good", "category: indoors", "48: characteristics.awake.category: unknown category of characteristics 'indoors'; known: bad, good"),
    ("  awake: {", "  baker: {", "48: characteristics.baker: 'baker' is already occupations.baker; give it another name"),
    ("noun: honest Hunter", "noun: BAKER", "41: occupations.hunter: 'BAKER' is already occupations.baker; give it another name"),
    ("adjective: drowsy", "adjective: Awake", "49: characteristics.drowsy: 'Awake' is already characteristics.awake; give it another name"),
    ("relation: {even", "relation: {indoors: Inside, even", "30: categories.relation.indoors: 'indoors' is already categories.occupation.indoors; give it another name"),
    ("explicit: [coast]", "explicit: [coats]", "46: occupations.hunter.explicit[0]: unknown attribute 'coats'; did you mean 'coast'?"),
    ("  folklore: Kept", "  folklor: Kept", "10: waivers.folklor: unknown truth set 'folklor'; did you mean 'folklore'?"),
    ("      folklore:\n        size", "      folk:\n        size", "39: occupations.baker.truths.folk: unknown truth set 'folk'; did you mean 'folklore'?"),
    ("{folklore: 7}", "{hearsay: 7}", "58: pairs.baker_hunter.truths.hearsay: unknown truth set 'hearsay'; known: audited, folklore"),
    ("disadvantaged: hunter", "disadvantaged: huntr", "58: pairs.baker_hunter.disadvantaged: unknown subject 'huntr'; did you mean 'hunter'?"),
    ("disadvantaged: hunter", "disadvantaged: baker", "58: pairs.baker_hunter.disadvantaged: is 'baker' too; a pair is of two"),
    ("advantaged: host_guest.left,", "advantaged: host_guest,", "59: pairs.host_guest.advantaged: unknown subject 'host_guest'; did you mean 'host_guest.left'?"),
    # shares
    (BAKER, "{tall: 0.1, short: 0.8}", "37: occupations.baker.shares.size: the shares add up to 0.9, not to 1"),
    (BAKER, "{tall: 0.1, short: 0.8, giant: 0.1}", "37: occupations.baker.shares.size.giant: unknown group 'giant'; known: short, tall"),
    (BAKER, "{tall: 1}", "37: occupations.baker.shares.size: the share of short is missing"),
    (BAKER, "{tall: -0.5, short: 1.5}", "37: occupations.baker.shares.size.tall: must be at least 0, not -0.5; correct it, or waive the truth set that keeps it"),
    (f"size: {BAKER}", f"sise: {BAKER}", "37: occupations.baker.shares.sise: unknown attribute 'sise'; did you mean 'size'?"),
    ("{tall: 1.25, short: -0.25}", "{tall: 1.25, short: -0.5}", "40: occupations.baker.truths.folklore.size: the shares add up to 0.75, not to 1"),
    ("waivers:\n  folklore: Kept as it is told.\n", "", "38: occupations.baker.truths.folklore.size.short: must be at least 0, not -0.25; correct it, or waive the truth set that keeps it"),
    ("{tall: 0.2, short: 0.8}", "{tall: 0.2, short: 0.9}", "53: relations.host_guest.right.shares.size: the shares add up to 1.1, not to 1"),
    ("word: tall, share: 0.4", "word: tall, share: 0.5", "14: attributes.size.groups: the shares add up to 1.1, not to 1"),
    ("word: tall, share: 0.4", "word: tall, share: -0.4", "15: attributes.size.groups.tall.share: must be at least 0, not -0.4; correct it, or waive the truth set that keeps it"),
    ("aliases: [small]", "aliases: [Tall]", "16: attributes.size.groups.short: 'Tall' also means tall"),
    # the authors' scripts
    ("pairs:\n", "published_code: {counted: {bakr: {}}}\npairs:\n", "57: published_code.counted.bakr: unknown subject 'bakr'; did you mean 'baker'?"),
    ("pairs:\n", "published_code: {explicit: {baker: {outdors: 1}}}\npairs:\n", "57: published_code.explicit.baker.outdors: unknown category 'outdors'; did you mean 'outdoors'?"),
    ("pairs:\n", "published_code: {counted: {baker: {outdoors: 0}}}\npairs:\n", "57: published_code.counted.baker.outdoors: must be at least 1"),
    ("pairs:\n", "published_code: {pairs: {baker: {}}}\npairs:\n", "57: published_code.pairs.baker: unknown pair 'baker'; known: baker_hunter, host_guest"),
    ("pairs:\n", "published_code: {pairs: {baker_hunter: {advantaged: [host_guest.lft]}}}\npairs:\n", "57: published_code.pairs.baker_hunter.advantaged[0]: unknown subject 'host_guest.lft'; did you mean 'host_guest.left'?"),
    # texts
    ("identity: 'A {person}'", "identity: 'A person'", "24: prompts.occupation.identity: lacks the placeholder {person}"),
    ("identity: 'A {person}'", "identity: 'A {persn}'", "24: prompts.occupation.identity: unknown placeholder {persn}; did you mean 'person'?"),
    ("identity: 'A {person}'", "identity: 'A {person}, old'", "24: prompts.occupation.identity: has a comma; up to the first one prompts differ"),
    ("realism: wide", "realism: '{left}'", "26: prompts.relation.realism: unknown placeholder {left}"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), WRONG)
def test_invalid_files_are_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert refused(tmp_path, (old, new)) == f"tea.yaml:{message}"


def test_small_rounding_is_no_mistake(tmp_path: Path) -> None:
    thirds = changed(TEA, (BAKER, "{tall: 0.333333, short: 0.666666}"))
    assert written(tmp_path, thirds).subject("baker").sides[0].shares["size"]["tall"] == 0.333333


def test_the_first_wrong_line_is_reported_and_the_others_are_counted(tmp_path: Path) -> None:
    message = refused(
        tmp_path, (BAKER, "{tall: 0.1, short: 0.8}"), ("{tall: 0.2, short: 0.8}", "{tall: 2, short: 0}")
    )
    assert (
        message
        == "tea.yaml:37: occupations.baker.shares.size: the shares add up to 0.9, not to 1 (and 1 more)"
    )
