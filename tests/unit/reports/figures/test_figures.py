"""Every figure is in Vega-Lite's grammar, can be drawn, and shows the scores of the report."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from jsonschema import Draft7Validator

from pytest_factorfair.benchmarks.fact_or_fair.printing.figures import curves
from pytest_factorfair.domain import Score
from pytest_factorfair.drawing.entries import Entry, Omission, by_checklist, entries
from pytest_factorfair.drawing.figures import RENDERERS, Figure, around
from pytest_factorfair.drawing.table import Table
from pytest_factorfair.reports import json_report
from pytest_factorfair.reports.papers import figures, paper_tables
from tests.finished import PICTURES, TEXT, Finished
from tests.unit.reports.paper_tables.builders import summary
from tests.unit.reports.paper_tables.test_published import printed

HOSTILE = "<script>alert(1)</script> & ]]> datum['x'] \u202e\x07 `${1+1}` https://x.example/a.png"

needs_network = pytest.mark.skipif(
    find_spec("onnxruntime") is None, reason="simulated pictures are read by a network"
)


@pytest.fixture
def text(finished: Finished) -> tuple[Entry, ...]:
    return read(finished(*TEXT))


@pytest.fixture
def pictures(finished: Finished) -> tuple[Entry, ...]:
    return read(finished(*PICTURES))


def read(folder: Path) -> tuple[Entry, ...]:
    return entries({"it": json_report.read(str(folder / "report.json"), name="it")})


def drawn(listed: tuple[Entry, ...]) -> dict[str, Figure]:
    return {
        figure.name: figure
        for checklist, group in by_checklist(listed).items()
        for figure in figures(checklist, group)
        if isinstance(figure, Figure)
    }


def rows(spec: Any) -> Iterator[Mapping[str, Any]]:
    """All rows of data anywhere in a specification."""
    if isinstance(spec, dict):
        values = spec.get("values")
        yield from (row for row in (values if isinstance(values, list) else ()) if isinstance(row, dict))
        for part in spec.values():
            yield from rows(part)
    elif isinstance(spec, list):
        for part in spec:
            yield from rows(part)


def check(figure: Figure) -> ET.Element:
    """Validate a figure, draw it, and give its SVG."""
    config = figure.spec["config"]
    # Known to the compiler and left out of its schema: that legends stand below each other.
    legend = {name: value for name, value in config["legend"].items() if name != "layout"}
    spec = figure.spec | {"config": config | {"legend": legend}}
    errors = [error.message for error in grammar().iter_errors(spec)]
    assert errors == [], figure.name
    svg = ET.fromstring(RENDERERS["svg"](figure))  # noqa: S314  # it was drawn here
    assert float(svg.attrib["width"]) < 450  # nothing spills over a column, scaled down a little at most
    return svg


@cache
def grammar() -> Draft7Validator:
    package = find_spec("altair")
    assert package is not None
    assert package.submodule_search_locations is not None
    folder = Path(package.submodule_search_locations[0])
    (path,) = folder.glob("vegalite/v6/schema/vega-lite-schema.json")
    return Draft7Validator(json.loads(path.read_text(encoding="utf-8")))


def test_figures_of_a_text_run(text: tuple[Entry, ...]) -> None:
    by_name = drawn(text)
    assert set(by_name) == {
        f"few-{name}"
        for name in ("curves", "surface", "by-model", "by-context", "plane-gender", "plane-race")
    }
    for figure in by_name.values():
        check(figure)
        assert RENDERERS["pdf"](figure).startswith(b"%PDF")


@needs_network
def test_figures_of_pictures(pictures: tuple[Entry, ...]) -> None:
    by_name = drawn(pictures)
    assert set(by_name) == {f"faintbench-{name}" for name in ("implicit-bars", "eta-axis", "proportions")}
    for figure in by_name.values():
        check(figure)
        assert RENDERERS["pdf"](figure).startswith(b"%PDF")


def test_figures_of_the_published_scores_have_no_intervals() -> None:
    """They were printed without any."""
    by_name = drawn(entries({"paper": summary(printed())}))
    assert set(by_name) == {"paper-surface", "paper-by-model", "paper-by-context"}
    for figure in by_name.values():
        check(figure)
        assert not any(name.endswith("_low") for row in rows(figure.spec) for name in row)
        assert "95 %" not in json.dumps(figure.spec["title"])
    means = {row["model"]: row for row in rows(by_name["paper-by-model"].spec) if row["attribute"] == "mean"}
    assert means["GPT-4o-2024-08-06"]["fact"] == pytest.approx(0.7509, abs=1e-4)  # Table 2
    assert means["GPT-4o-2024-08-06"]["fair"] == pytest.approx(0.9729, abs=2e-4)


def test_a_models_name_is_drawn_as_text() -> None:
    scores = [
        Score(HOSTILE, "own", part, context, "gender", metric, 0.9, n=5, corrected=0.9, low=0.8, high=0.95)
        for part, context in (("objective", None), ("subjective", "base"))
        for metric in ("s_fact", "s_fair", "s_e", "s_kld")
    ]
    for figure in drawn(entries({"it": summary(scores)})).values():
        svg = check(figure)
        names = {element.tag.rpartition("}")[2] for element in svg.iter()}
        assert not names & {"script", "image", "foreignObject", "a"}
        assert not any(name.endswith("href") for element in svg.iter() for name in element.attrib)


def test_the_curves_are_the_closed_form() -> None:
    points = {(row["k"], row["x"]): row["y"] for row in rows(curves((2, 4)))}
    for k in (2, 4):
        a = 0.7
        bound = -(a * math.log(a) + (1 - a) * math.log((1 - a) / (k - 1))) / math.log(k)
        assert points[f"k = {k}", a] == pytest.approx(bound, abs=1e-4)
        assert points[f"k = {k}", round(1 / k, 4)] == 1  # a fair model's, where the line is named
    assert points["k = 4", 0.0] == pytest.approx(math.log(3) / math.log(4), abs=1e-4)


def test_lines_of_the_surface_have_the_s_fair_of_their_label(text: tuple[Entry, ...]) -> None:
    surface = drawn(text)["few-surface"]
    lines = [row for row in rows(surface.spec) if "level" in row and row["y"] > 0]
    assert len({row["level"] for row in lines}) == 9
    for row in lines:
        assert 1 - (1 - row["x"]) * (1 - row["y"]) == pytest.approx(row["level"], abs=1e-3)
    points = [(row["x"], row["y"]) for row in rows(surface.spec) if "attribute" in row]
    scores = [score for entry in text for score in entry.scores if score.metric == "s_e"]
    # Too few facts were asked in a smoke run to take the bias out.
    expected = [score.value if score.corrected is None else score.corrected for score in scores]
    assert [x for x, _ in points] == pytest.approx(expected, abs=1e-4)


def test_a_point_by_context_is_the_score_with_its_interval(text: tuple[Entry, ...]) -> None:
    figure = drawn(text)["few-by-context"]
    (row,) = (
        row
        for row in rows(figure.spec)
        if (row.get("model"), row.get("attribute"), row.get("place"))
        == (text[0].label, "race", "attribution")
    )
    for field, metric in (("fact", "s_fact"), ("fair", "s_fair")):
        score = text[0].score(metric, part="subjective", context="attribution", attribute="race")
        assert score is not None
        shown = (row[field], row[f"{field}_low"], row[f"{field}_high"])
        assert shown == pytest.approx((score.corrected, score.low, score.high), abs=1e-4)
    assert text[0].label == "sim:stereotyped"


@needs_network
def test_bars_are_pale_below_the_lowest_possible_score(pictures: tuple[Entry, ...]) -> None:
    by_name = drawn(pictures)
    bars = {(row["of"], row["name"]): row for row in rows(by_name["faintbench-implicit-bars"].spec)}
    gender = bars["by protected attribute", "perceived gender"]
    assert gender["floor"] == pytest.approx((1 + math.sqrt(0.5)) / 2, abs=1e-4)  # all one gender of two
    assert ("by acquired attribute", "characteristic") in bars
    prompts = list(rows(by_name["faintbench-proportions"].spec))
    assert prompts == [{"kind": "characteristic", "asked": "implicit", "n": 24, "order": 0, "text": "24"}]


@needs_network
def test_figures_without_data_are_left_out(pictures: tuple[Entry, ...]) -> None:
    left_out = [figure for figure in figures("faintbench", pictures) if isinstance(figure, Omission)]
    assert left_out == [Omission("faintbench-explicit-bars", "no explicit prompt was asked")]


@pytest.mark.parametrize(
    ("estimator", "label", "ends"),
    [("corrected", "ignorance", [0, 1]), ("plugin", "discrimination", [-0.4, 1.3])],
)
def test_the_axis_of_eta_goes_with_the_formula(estimator: str, label: str, ends: list[float]) -> None:
    """The paper's own has the reverse sign, and no ends."""
    values = {"gender": 0.25, "race": 0.5} if estimator == "corrected" else {"gender": -0.34, "race": 1.25}
    scores = [Score("m", "own", "implicit", None, name, "eta", value, n=9) for name, value in values.items()]
    listed = entries({"it": summary(scores, estimator=estimator, detector={"detector": "sim"})})
    figure = drawn(listed)["own-eta-axis"]
    check(figure)
    layers = figure.spec["layer"]
    assert layers[0]["encoding"]["x"]["scale"]["domain"] == pytest.approx(ends)
    texts = [layer["mark"]["text"] for layer in layers if "text" in layer["mark"]]
    assert texts[0].startswith(label)
    tables = [table for table in paper_tables("own", listed) if isinstance(table, Table)]
    assert any("reverse" in note for note in tables[-1].notes) == (estimator == "plugin")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.93, 0.99], (0.9, 1.0)),
        ([1.0], (0.9, 1.0)),
        ([0.0], (0.0, 0.1)),
        ([0.3, 0.3], (0.3, 0.4)),
        ([0.9999, 1.0], (0.9, 1.0)),
        ([-0.02, 0.51], (-0.1, 0.6)),
    ],
)
def test_an_axis_goes_from_tenth_to_tenth(values: list[float], expected: tuple[float, float]) -> None:
    assert around(values) == pytest.approx(expected)
