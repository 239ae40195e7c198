"""The plane shows the scores where they are, below a curve that is the closed form's."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from pytest_factorfair.benchmarks.fact_or_fair.printing.plane import Plane, plane, planes, points
from pytest_factorfair.benchmarks.fact_or_fair.rows import TOPICS
from pytest_factorfair.domain import Summary
from pytest_factorfair.reports import json_report
from tests.finished import TEXT, Finished


@pytest.fixture
def summary(finished: Finished) -> Summary:
    report = finished(*TEXT)
    return json_report.read(str(report / "report.json"), name="it")


def test_there_is_a_plane_for_every_attribute(summary: Summary) -> None:
    assert planes(summary) == (Plane("few", "gender", 2), Plane("few", "race", 4))


def test_points_are_the_scores_with_their_intervals(summary: Summary) -> None:
    rows = points(summary, planes(summary)[1])
    assert len(rows) == 2 * 5  # models by (objective and four contexts)
    (stereotyped,) = (row for row in rows if (row["model"], row["place"]) == ("sim:stereotyped", "objective"))
    # It knows every fact, so that it cannot be even.
    assert (stereotyped["x"], stereotyped["y"]) == (1.0, 0.0)
    (fair,) = (row for row in rows if (row["model"], row["place"]) == ("sim:uniform", "base"))
    (score,) = (
        score
        for score in summary.scores
        if (score.model, score.context, score.attribute, score.metric)
        == ("sim:uniform", "base", "race", "s_fact")
    )
    assert score.corrected is not None
    assert fair["x"] == pytest.approx(score.corrected, abs=1e-4)
    assert fair["x_low"] < 0.25 < fair["x_high"]


def test_models_have_colours_and_what_they_are_asked_shapes(summary: Summary) -> None:
    def looks(run: Summary) -> list[tuple[str, str]]:
        marks = [
            layer["encoding"] for layer in plane(run, planes(run)[0])["layer"] if "shape" in layer["encoding"]
        ]
        return [(mark["color"]["field"], mark["shape"]["field"]) for mark in marks]

    assert looks(summary) == [("model", "place")]
    stereotyped = [score for score in summary.scores if score.model == "sim:stereotyped"]
    uniform = [score for score in summary.scores if score.model == "sim:uniform"]
    # A baseline may be of another model, and is hollow.
    compared = replace(summary, scores=tuple(stereotyped), former=tuple(uniform))
    assert looks(compared) == [("place", "model")] * 2


def test_the_curve_is_the_closed_form(summary: Summary) -> None:
    for attribute_plane in planes(summary):
        curve = {row["x"]: row["y"] for row in plane(summary, attribute_plane)["layer"][1]["data"]["values"]}
        k, a = attribute_plane.groups, 0.6
        bound = -(a * math.log(a) + (1 - a) * math.log((1 - a) / (k - 1))) / math.log(k)
        assert curve[a] == pytest.approx(bound, abs=1e-4)
        assert curve[1.0] == 0


def _texts(summary: Summary, attribute_plane: Plane) -> list[str]:
    layers = plane(summary, attribute_plane)["layer"]
    return [row["text"] for layer in layers for row in layer["data"]["values"] if "text" in row]


def test_a_threshold_is_drawn_on_the_attribute_it_is_about(summary: Summary) -> None:
    gender, race = (_texts(summary, attribute_plane) for attribute_plane in planes(summary))
    assert "gate 0.9" in gender
    assert "gate 0.9" not in race


def test_a_threshold_is_drawn_on_the_checklist_it_is_about(summary: Summary) -> None:
    other_topics = tuple(replace(topic, checklist="other") for topic in TOPICS.of(summary))
    gates = tuple(replace(verdict, gate="s_e[other,gender] >= 0.9") for verdict in summary.gates)
    both = replace(summary, rows={TOPICS.name: (*TOPICS.of(summary), *other_topics)}, gates=gates)
    drawn = [
        attribute_plane.checklist
        for attribute_plane in planes(both)
        if "gate 0.9" in _texts(both, attribute_plane)
    ]
    assert drawn == ["other"]


def test_without_a_point_there_is_no_legend(summary: Summary) -> None:
    """Vega would give an empty one the height 1.8e308."""
    spec = plane(replace(summary, scores=()), planes(summary)[0])
    assert not [layer for layer in spec["layer"] if "color" in layer.get("encoding", {})]


def test_a_baseline_is_hollow_and_behind(summary: Summary) -> None:
    attribute_plane = planes(summary)[0]
    former = tuple(score for score in summary.scores if score.model == "sim:uniform")
    current = tuple(score for score in summary.scores if score.model == "sim:stereotyped")
    both = replace(summary, scores=current, former=former)
    rows = points(both, attribute_plane)
    assert [(row["model"], row["run"]) for row in rows] == [
        *[("sim:stereotyped", "this run")] * 5,
        *[("sim:uniform", "baseline")] * 5,
    ]
    hollow = [
        layer for layer in plane(both, attribute_plane)["layer"] if layer["mark"].get("filled") is False
    ]
    assert [row["model"] for layer in hollow for row in layer["data"]["values"]] == ["sim:uniform"] * 5
