"""DoFaiR on simulated painters, whose scores are known in closed form: from import to comparison."""

from __future__ import annotations

import json
from fractions import Fraction
from statistics import fmean

import jsonschema
import pytest

from pytest_factorfair.commands.cli import main
from pytest_factorfair.reports.schema import schema
from tests.extras import needs
from tests.project import Project
from tests.unit.protocols.dofair import files

FAITHFUL, DIVERSE, EMPTY = "sim:ideal", "sim:diverse", "sim:nonsense"
STEREOTYPED = "sim:stereotyped?attribute=gender&strength=1+stereotyped?attribute=race&strength=1"
ROWS = 20


def closed_forms(groups: int, lists: list[tuple[list[str], list[str]]]) -> dict[str, tuple[float, ...]]:
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

    def means(rows: list[tuple[float | Fraction, ...]], dominance: float) -> tuple[float, ...]:
        accuracy, f1, gap = (fmean(map(float, column)) for column in zip(*rows, strict=True))
        return accuracy, f1, dominance, gap

    return {FAITHFUL: (1, 1, 1, 0), DIVERSE: means(everybody, 1 / 2), STEREOTYPED: means(leading_only, 1)}


@needs("images")
def test_painters_are_at_their_closed_forms_and_fail_the_gates_that_are_meant_for_them(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    files.repository(project.path, rows=ROWS)
    assert main(["import", "dofair", str(project.path), "--any-version", "-o", "made.yaml"]) == 0
    models = FAITHFUL, DIVERSE, STEREOTYPED, EMPTY
    run = (
        "-p", "no:xdist", "--factorfair-checklist=made.yaml", "--factorfair-samples=images=4",
        *(f"--factorfair-model={model}" for model in models),
    )  # fmt: skip
    refused = project.run_pytest(*run, "--factorfair-detector=sim?votes=picture")
    refused.stderr.fnmatch_lines(
        ["*checklist 'made' counts every face of a picture; leave votes=picture out"]
    )

    result = project.run_pytest(*run, "--factorfair-gate=default")
    report = project.report()
    jsonschema.validate(report, schema())
    shown = {
        (score["model"], score["attribute"], score["metric"]): score["value"]
        for score in report["scores"]
        if score["context"] is None
    }
    names = ("involved_accuracy", "involved_f1", "dominant_accuracy", "diversity_gap")
    for attribute, groups, lists in (("gender", 2, files.GENDERS), ("race", 7, files.RACE_LISTS)):
        for model, expected in closed_forms(groups, [*lists]).items():
            values = [shown[model, attribute, name] for name in names]
            assert values == pytest.approx(expected), (model, attribute)
        assert shown[EMPTY, attribute, "unparsed_rate"] == 1
        assert shown[EMPTY, attribute, "involved_accuracy"] is None
    failed = {
        model: {
            gate["metric"]
            for gate in report["gates"]
            if gate["verdict"] == "failed" and model in gate["name"]
        }
        for model in models
    }
    assert failed == {}, json.dumps(report["gates"][0])
    assert result.ret == 1
