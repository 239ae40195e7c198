"""A valid checklist becomes the domain's values; what a single field must look like."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_factorfair.benchmarks import load
from pytest_factorfair.benchmarks.faintbench.checklist import Pair, PersonOf, Side, Subject
from pytest_factorfair.errors import InputError
from tests.unit.benchmarks.faintbench.files import TEA, refused, written
from tests.unit.checklist.files import changed

ALL = {"size": {"tall": 0.4, "short": 0.6}, "coast": {"north": 0.5, "south": 0.25, "west": 0.25}}


def test_a_full_file_becomes_the_expected_checklist(tmp_path: Path) -> None:
    tea = written(tmp_path)
    assert (tea.name, tea.title, tea.protocol, tea.modality) == (
        "tea",
        "Who drinks tea",
        "faintbench",
        "image",
    )
    assert [(attribute.name, attribute.groups) for attribute in tea.attributes] == [
        ("size", ("tall", "short")),
        ("coast", ("north", "south", "west")),
    ]
    assert tea.attribute("size").aliases["short"] == ("small",)
    assert tea.weights == {"size": 0.6, "coast": 0.4}
    assert tea.group_weights["size"] == {"tall": 2, "short": 1}
    assert tea.nouns == {"size": {"short": "shorty"}, "coast": {}}
    assert tea.identities["characteristic"] == "a {adjective} {person}"
    assert tea.subject("awake").realism == ("bright",)
    assert list(tea.categories) == ["indoors", "outdoors", "good", "bad", "even", "uneven"]
    assert [subject.id for subject in tea.subjects] == [
        "baker", "hunter", "awake", "drowsy", "host_guest", "twins",
    ]  # fmt: skip


def test_a_person_without_shares_has_those_of_all_people(tmp_path: Path) -> None:
    tea = written(tmp_path)
    assert tea.subject("hunter") == Subject(
        id="hunter",
        name="Hunter",
        kind="occupation",
        category="outdoors",
        weight=0.5,
        sides=(Side("honest Hunter", ALL),),
        explicit=("coast",),
        realism=tea.subject("baker").realism,
        requested={},
    )
    assert tea.subject("baker").sides[0].shares == {**ALL, "size": {"tall": 0.1, "short": 0.9}}
    host, guest = tea.subject("host_guest").sides
    assert host == Side("Host", ALL)
    assert guest == Side("Guest", {**ALL, "size": {"tall": 0.2, "short": 0.8}})


def test_shares_come_in_the_order_of_the_groups(tmp_path: Path) -> None:
    text = changed(TEA, ("{tall: 0.1, short: 0.9}", "{short: 0.9, tall: 0.1}"))
    turned, straight = written(tmp_path, text), written(tmp_path)
    assert list(turned.subject("baker").sides[0].shares["size"]) == ["tall", "short"]
    assert turned == straight


def test_a_truth_set_overrides_only_the_figures_it_names(tmp_path: Path) -> None:
    folklore = written(tmp_path, truth="folklore")
    assert folklore.subject("baker").sides[0].shares == {**ALL, "size": {"tall": 1.25, "short": -0.25}}
    baker, hunter, host, guest = (
        PersonOf(*person) for person in [("baker", 0), ("hunter", 0), ("host_guest", 0), ("host_guest", 1)]
    )
    assert folklore.pairs == (
        Pair(baker, hunter, 7, ((baker,), (hunter,))),
        Pair(host, guest, 1, ((host,), (guest,))),
    )
    audited = written(tmp_path)
    assert [pair.weight for pair in audited.pairs] == [2, 1]
    assert folklore.digest == audited.digest


def test_digest_is_of_the_content_alone(tmp_path: Path) -> None:
    plain = written(tmp_path).digest
    assert written(tmp_path, "# a comment\n" + TEA).digest == plain
    for change in (("tall: 0.1, short: 0.9", "tall: 0.2, short: 0.8"), ("folklore: 7", "folklore: 8"),
                   ("realism: wide", "realism: narrow"), ("[coast]", "[size]")):  # fmt: skip
        assert written(tmp_path, changed(TEA, change)).digest != plain


def test_an_unknown_truth_set_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    (tmp_path / "tea.yaml").write_text(TEA, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load("tea.yaml", truth="hearsay", base=tmp_path)
    assert str(caught.value) == "checklist 'tea' has no truth set 'hearsay'; it has: audited, folklore"


FIELDS = [
    ("protocol: faintbench", "protocol: faintbnch", "4: protocol: unknown protocol 'faintbnch'; did you mean 'faintbench'?"),
    ("protocol: faintbench\n", "", "1: protocol: missing; known: fact_or_fair, faintbench, items, dofair, canary"),
    ("modality: image", "modality: text", "5: modality: must be 'image', not 'text'"),
    ("    weight: 2\n", "    weight: heavy\n", "35: occupations.baker.weight: must be a number, not 'heavy'"),
    ("    weight: 2\n", "    weight: 0\n", "35: occupations.baker.weight: must be more than 0"),
    ("    weight: 2\n", "", "32: occupations.baker.weight: missing"),
    ("    name: Baker\n", "    nmae: Baker\n", "33: occupations.baker.nmae: unknown key; did you mean 'name'?"),
    ("  hunter:\n", "  baker:\n", "41: occupations.baker: is given twice, first on line 32"),
    ("  hunter:\n", "  Hunter:\n", "41: occupations.Hunter: the name must be made of a-z, 0-9 and _, not 'Hunter'"),
    ("name: Baker", "name: Baker, at night", "33: occupations.baker.name: must be one line of text without commas and braces, not 'Baker, at night'"),
    ("{tall: 0.1, short: 0.9}", "{tall: few, short: 0.9}", "37: occupations.baker.shares.size.tall: must be a number, not 'few'"),
    ("explicit: [coast]", "explicit: [coast, coast]", "46: occupations.hunter.explicit: lists coast twice"),
    ("    left: Host\n", "", "51: relations.host_guest.left: missing"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), FIELDS)
def test_invalid_fields_are_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    folder = tmp_path / "x"
    folder.mkdir()
    assert refused(folder, (old, new)) == f"tea.yaml:{message}"
