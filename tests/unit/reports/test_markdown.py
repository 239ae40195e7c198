"""report.md: the order of its parts, and what is cut to fit a comment."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from pytest_factorfair.benchmarks.fact_or_fair.metrics import METRICS
from pytest_factorfair.domain import (
    CITATIONS,
    Change,
    Citation,
    ContactSheet,
    Judgement,
    ReasonShare,
    Score,
    Summary,
    Verdict,
)
from pytest_factorfair.drawing.statements import ETHICS
from pytest_factorfair.gates import release
from pytest_factorfair.reports.markdown import MARKER, to_markdown
from tests.unit.reports.paper_tables.builders import summary as of_run

MOST = 60_000  # bytes, as issue 7 promises


def verdict(number: int, judgement: Judgement) -> Verdict:
    gate = f"s_e[base,gender] >= 0.{number:06}"
    return Verdict(gate, f"name-{number}", f"s_e[{number}]", judgement, 0.9, 0.95, 72, f"reason {number}")


def change(number: int, *, regressed: bool = False) -> Change:
    return Change("m", "c", "subjective", f"context_{number}", "gender", "s_e", None, 0.9, 0.8, -0.1, -0.2, -0.01,
                  0.5, 72, regressed)  # fmt: skip


def score(number: int, metric: str) -> Score:
    return Score(f"model-{number}", "c", "subjective", "base", "gender", metric, 0.5, 72)


def sheet(number: int) -> ContactSheet:
    return ContactSheet("m", "c", f"case-{number}", f"pictures/case-{number}.png", 20, 20)


def quoted(citation: Citation, quotations: int) -> ReasonShare:
    texts = tuple(f"reason {number} because жжж" for number in range(quotations))
    return ReasonShare("m", "c", "base", citation, 1.0, 0.7, 1.0, 10, 10, 10, 0, 0, 0, texts)


def summary(**parts: Any) -> Summary:
    """Of a run with one gate that failed and one that passed."""
    plain = of_run(
        [score(0, "s_e")],
        models={"sim:ideal": {}},
        gates=(verdict(1, "passed"), verdict(2, "failed")),
        seconds=1.0,
        notes=("a note",),
    )
    changed = replace(plain, **parts)
    return replace(changed, release=release(changed.gates, changed.unjudged, metrics=METRICS))


def left_out(text: str) -> dict[str, int]:
    """The numbers of the sentence that tells what was left out."""
    match = re.search(
        r"^Left out to stay below 60 kB: (.*)\. report\.html and report\.json have it all\.$",
        text,
        re.MULTILINE,
    )
    if match is None:
        return {}
    numbers = re.findall(r"(?:^|, )([a-z ]+) \(([\d,]+)\)", match[1])
    return {name: int(number.replace(",", "")) for name, number in numbers}


def test_a_report_that_fits_is_complete() -> None:
    text = to_markdown(summary())
    assert text.startswith(f"{MARKER}\n\n## factorfair: `sim:ideal`\n\n**FAIL: 1 of 2 gates failed**\n")
    assert left_out(text) == {}
    order = ("| **FAILED** |", "| **passed** |", "### gender", "- a note", "0 answers", ETHICS)
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_regressions_come_before_all_tables() -> None:
    text = to_markdown(summary(changes=(change(1, regressed=True), change(2))))
    assert text.index("REGRESSED") < text.index("### gender")


FLOODS: dict[str, dict[str, Any]] = {
    "notes": {"notes": tuple(f"note {number} of ж" for number in range(5000))},
    "quotations": {"reasons": tuple(quoted(citation, 1250) for citation in CITATIONS)},
    "links to contact sheets": {"contact_sheets": tuple(map(sheet, range(3000)))},
    "passed gates": {
        "gates": (verdict(0, "failed"), *(verdict(number, "passed") for number in range(1, 2000)))
    },
    "tables": {
        "scores": tuple(score(number, metric) for number in range(400) for metric in ("s_e", "s_kld"))
    },
    "changes": {"changes": (change(0, regressed=True), *(change(number) for number in range(1, 2000)))},
    "gates that did not pass": {"gates": tuple(verdict(number, "failed") for number in range(2000))},
}
MARKS = {
    "notes": "- note ",
    "quotations": "because жжж",
    "links to contact sheets": ".png)",
    "passed gates": "| **passed** |",
    "tables": "### model",
    "changes": "S\\_E context",
    "gates that did not pass": "| **FAILED** |",
}
TOTALS = {"notes": 5000, "quotations": 5000, "links to contact sheets": 3000, "passed gates": 1999, "tables": 400,
          "changes": 2000, "gates that did not pass": 2000}  # fmt: skip


@pytest.mark.parametrize("name", FLOODS)
def test_a_long_part_is_cut_to_fit(name: str) -> None:
    text = to_markdown(summary(**FLOODS[name]))
    assert len(text.encode()) < MOST
    assert text.startswith(MARKER)
    assert text.endswith(f"<sub>{ETHICS}</sub>\n")
    lost = left_out(text)
    assert lost[name] == TOTALS[name] - text.count(MARKS[name])
    assert "| **FAILED** |" in text
    assert lost[name] > 0


def test_most_of_the_allowed_length_is_used() -> None:
    text = to_markdown(summary(**FLOODS["notes"]))
    assert len(text.encode()) > MOST - 600


def test_the_least_important_part_is_cut_first() -> None:
    """More quotations, sheets and notes than fit cost no table and no gate; regressions and failures go last."""
    much = FLOODS["notes"] | FLOODS["quotations"] | FLOODS["links to contact sheets"]
    text = to_markdown(summary(**much))
    assert set(left_out(text)) - {"tables"} == {"notes", "quotations", "links to contact sheets"}
    everything: dict[str, Any] = {}
    for flood in FLOODS.values():
        everything |= flood
    gates = (
        *(verdict(number, "passed") for number in range(500)),
        *(verdict(number, "failed") for number in range(500, 510)),
    )
    text = to_markdown(summary(**everything | {"gates": gates}))
    assert len(text.encode()) < MOST
    assert text.count("| **FAILED** |") == 10
    assert "REGRESSED" in text
    lost = left_out(text)
    assert lost["passed gates"] == 500
    assert lost["tables"] == 400 + 1  # that of the reasons


@pytest.mark.parametrize("letter", ["a", "*", "ж", "\U0001f600", "<", "|"])
def test_no_single_text_takes_all_the_room(letter: str) -> None:
    huge = letter * 100_000
    fingerprint = replace(summary().fingerprint, models={huge: {}}, checklists={huge: "0" * 64}, truth=huge)
    gates = tuple(
        replace(verdict(number, "failed"), reason=huge, gate=huge, subject=huge) for number in range(20)
    )
    text = to_markdown(summary(fingerprint=fingerprint, incomplete=huge, notes=(huge,) * 100, gates=gates))
    assert len(text.encode()) < MOST
    assert text.startswith(MARKER)
    assert text.endswith(f"<sub>{ETHICS}</sub>\n")
