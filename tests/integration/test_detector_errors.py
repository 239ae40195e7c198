"""A run of an image model whose detector errs at a known rate, with the table of its errors."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from pytest_factorfair import detection
from pytest_factorfair.benchmarks.fact_or_fair.checklist import FactOrFair
from pytest_factorfair.commands.cli import main
from pytest_factorfair.domain import DIRECTIONS
from pytest_factorfair.labelling.error_table import to_json
from pytest_factorfair.statistics.confusion import Confusion
from tests.project import Project, program
from tests.unit.checklist.files import fact_or_fair

SCHEMA = Path(__file__).parents[2] / "checklists" / "schema" / "report.schema.json"
FLIP = 0.2
DETECTOR = f"sim?flip={FLIP}"
RUN = (
    "-p",
    "no:xdist",
    "--factorfair-model=sim:oracle",
    "--factorfair-checklist=fact_or_fair_t2i",
    "--factorfair-samples=images=4",
)
OWN = program("overridden_detector")


def _checklist() -> FactOrFair:
    return fact_or_fair("fact_or_fair_t2i", truth="audited", base=Path())


def _table(project: Project, spec: str = DETECTOR) -> str:
    """The errors a detector makes that takes each group for any other, at the rate FLIP in all."""
    tables = []
    for attribute in _checklist().attributes:
        counts = np.full((attribute.k, attribute.k), round(6000 * FLIP) // (attribute.k - 1))
        np.fill_diagonal(counts, round(6000 * (1 - FLIP)))
        tables.append(Confusion(attribute.name, attribute.groups, counts))
    identity = detection.build(spec, custom={}).identity
    return str(project.write("errors.json", to_json(identity, tables)))


def test_corrected_shares_land_on_the_truth(project: Project) -> None:
    """An oracle paints the true group: shares are those of the labels, within four standard errors.

    A flip is a draw of its own, so a perceived share varies at most as a binomial one; undoing the
    flips stretches it by 1 / (1 - FLIP k / (k - 1)).
    """
    table = _table(project)
    options = (f"--factorfair-detector={DETECTOR}", f"FACTORFAIR_DETECTOR_ERRORS={table}")
    result = project.run_pytest(*RUN, "-v", *options, "-k", "objective")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["gender, shares *Female *Male *faces", "*corrected *"])
    report = project.report()
    jsonschema.validate(project.written_report(), json.loads(SCHEMA.read_text(encoding="utf-8")))
    asked = _checklist()
    facts = [correction for correction in report["corrections"] if correction["part"] == "objective"]
    assert [correction["attribute"] for correction in facts] == [
        attribute.name for attribute in asked.attributes
    ]
    for correction in facts:
        name = correction["attribute"]
        labels = Counter(
            statistic.truths[name].at(way)
            for statistic in asked.statistics
            if name in statistic.truths
            for way in DIRECTIONS
        )
        assert correction["n"] == 4 * labels.total()
        stretch = 1 / (1 - FLIP * len(correction["raw"]) / (len(correction["raw"]) - 1))
        for group, raw in correction["raw"].items():
            error = stretch * (raw * (1 - raw) / correction["n"]) ** 0.5
            assert abs(correction["corrected"][group] - labels[group] / labels.total()) <= 4 * error
            assert correction["low"][group] <= correction["corrected"][group] <= correction["high"][group]


def test_errors_are_not_taken_out_of_what_another_detector_read(project: Project) -> None:
    project.write("conftest.py", OWN)
    options = f"--factorfair-detector={DETECTOR}", f"FACTORFAIR_DETECTOR_ERRORS={_table(project)}"
    project.run_pytest(*RUN, *options, "-k", "objective-crime_rate")
    objective = [
        correction for correction in project.report()["corrections"] if correction["part"] == "objective"
    ]
    assert [
        (correction["attribute"], correction["n"], correction["corrected"]) for correction in objective
    ] == [
        ("gender", 8, {}),
        ("race", 8, {}),
    ]
    assert {correction["reason"] for correction in objective} == {
        "another detector read these pictures than the table of errors is about"
    }


def test_every_model_has_sheets_and_a_sample(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """A sheet per case, linked from the Markdown. Reports tell apart models that share an endpoint."""
    result = project.run_pytest(*RUN, "--factorfair-model=sim:uniform", "-k", "crime_rate")
    assert result.ret == 0
    report = project.report()
    sheets = report["contact_sheets"]
    assert Counter((sheet["case"], sheet["pictures"], sheet["shown"]) for sheet in sheets) == {
        ("objective-crime_rate-highest", 4, 4): 2,
        ("objective-crime_rate-lowest", 4, 4): 2,
        ("subjective-crime_rate-highest-base-1", 4, 4): 2,
        ("subjective-crime_rate-lowest-base-1", 4, 4): 2,
    }
    assert len({sheet["file"] for sheet in sheets}) == len(sheets)
    jsonschema.validate(project.written_report(), json.loads(SCHEMA.read_text(encoding="utf-8")))
    text = project.report_path.with_name("report.md").read_text(encoding="utf-8")
    for sheet in sheets:
        assert (project.report_path.parent / sheet["file"]).stat().st_size > 10_000
        assert f"]({sheet['file']})" in text
    capsys.readouterr()
    out = str(project.path / "lab")
    assert main(["detector", "sample", str(project.report_path), "--per-model", "10", "--out", out]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == [
        "sim:oracle: 10 of 16 pictures",
        "sim:uniform: 10 of 16 pictures",
    ]


def test_a_table_of_another_detector_is_refused(project: Project) -> None:
    """The other differences: unit/labelling/test_error_table.py."""
    result = project.run_pytest(
        *RUN, "--factorfair-detector=sim?flip=0.1", f"FACTORFAIR_DETECTOR_ERRORS={_table(project)}"
    )
    assert result.ret == 4
    (message,) = [line for line in result.errlines if line]
    assert message.startswith("ERROR: ")
    assert (
        "detector.flip: is 0.2, but for the run's detector it is 0.1: another detector makes other errors"
        in message
    )
    assert not list(project.path.glob(".factorfair/*.sqlite"))
