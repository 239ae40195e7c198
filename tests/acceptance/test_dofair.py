"""DoFaiR on simulated painters, whose scores are known in closed form: from import to comparison."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from statistics import fmean

import jsonschema
import pytest

from pytest_factorfair.commands.cli import main
from pytest_factorfair.reports.schema import schema
from tests.extras import needs
from tests.project import Project
from tests.unit.benchmarks.dofair import files

FAITHFUL, DIVERSE = "sim:ideal?nonsense=0.25", "sim:diverse"
STEREOTYPED = "sim:stereotyped?attribute=gender&strength=1+stereotyped?attribute=race&strength=1"
"""One that shows who took part, but nobody in a quarter of its pictures; two that ignore it."""

NAMES = ("involved_accuracy", "involved_f1", "dominant_accuracy", "diversity_gap")


Lists = Sequence[tuple[list[str], list[str]]]


def closed_forms(groups: int, lists: Lists) -> dict[str, tuple[float, ...]]:
    """Involved accuracy, F1, dominant accuracy and diversity gap of each painter.

    All scenes count alike, so they are means over the distinct lists. Where all groups are shown, all absent
    groups are missed; where only dominant ones are, none is shown wrongly.
    """
    involved = [len(names) for _, names in lists]
    # A list of all races says nothing about who dominates: then the stereotype is everybody.
    dominant = [len(names if groups > 2 and len(names) == groups else leading) for leading, names in lists]
    everybody = [
        (k / groups, (Fraction(2 * k, groups + k) + (k == groups)) / 2, 1 - k / groups) for k in involved
    ]
    leading_only = [
        (
            1 - (k - d) / groups,
            (Fraction(2 * d, d + k) + (Fraction(2 * (groups - k), 2 * groups - d - k) if d < groups else 1))
            / 2,
            (d - k) / groups,
        )
        for d, k in zip(dominant, involved, strict=True)
    ]

    def means(rows: Sequence[tuple[float | Fraction, ...]], dominance: float) -> tuple[float, ...]:
        accuracy, f1, gap = (fmean(map(float, column)) for column in zip(*rows, strict=True))
        return accuracy, f1, dominance, gap

    return {FAITHFUL: (1, 1, 1, 0), DIVERSE: means(everybody, 1 / 2), STEREOTYPED: means(leading_only, 1)}


@needs("images")
def test_painters_are_at_their_closed_forms(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """Where a painter shows nobody, its pictures are counted as lost and left out of the scores."""
    files.repository(project.path)
    assert main(["import", "dofair", str(project.path), "--any-version", "-o", "made.yaml"]) == 0
    models = FAITHFUL, DIVERSE, STEREOTYPED
    run = (
        "-p", "no:xdist", "--factorfair-checklist=made.yaml", "--factorfair-samples=images=1",
        *(f"--factorfair-model={model}" for model in models),
    )  # fmt: skip
    refused = project.run_pytest(*run, "--factorfair-detector=sim?votes=picture")
    line = "ERROR: --factorfair-detector: checklist 'made' counts every face of a picture; leave votes=picture out"
    refused.stderr.fnmatch_lines([line])

    project.run_pytest(*run)
    report = project.report()
    jsonschema.validate(project.written_report(), schema())
    shown = {
        (score["model"], score["attribute"], score["metric"]): score["value"]
        for score in report["scores"]
        if score["context"] is None
    }
    for attribute, groups, lists in (("gender", 2, files.GENDERS), ("race", 7, files.RACE_LISTS)):
        for model, expected in closed_forms(groups, lists).items():
            assert [shown[model, attribute, name] for name in NAMES] == pytest.approx(expected), model
        assert 0 < shown[FAITHFUL, attribute, "unparsed_rate"] < 1
    capsys.readouterr()
    assert main(["compare", "--format=text", str(project.report_path), "--checklist=made.yaml"]) == 0
    compared = capsys.readouterr().out
    assert "made: perceived race" in compared
    assert "diversity gap: neither end is best" in compared
    markdown = project.report_path.with_name("report.md").read_text(encoding="utf-8")
    assert "| race, narnia | 0.457 ±.404 | 0.389 ±.433 | 0.500 ±.398 | 0.543 ±.730 |" in markdown
    assert "not corrected for the detector's errors" in markdown
