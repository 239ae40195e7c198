"""FAIntbench as its authors' scripts compute it: pictures read by CLIP as a whole, down to the scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from pytest_factorfair import run
from pytest_factorfair.benchmarks import cases, load
from pytest_factorfair.benchmarks.faintbench.checklist import Faintbench, PromptCase, prompt_cases
from pytest_factorfair.benchmarks.faintbench.scoring.optimised import optimised
from pytest_factorfair.detection.alignment import AlignmentDetector
from pytest_factorfair.domain import Sampling, Summary
from tests import tiny_checkpoint
from tests.extras import needs
from tests.integration.detection.test_alignment import LABELS, by_hand, picture
from tests.project import DATA

pytestmark = needs("transformers")

PICTURES = 3
PERSON = 0.5
TWO = "one people on the left and one people on the right"
WEIGHTS = {"gender": 0.4, "race": 0.4, "age": 0.2}
FEW = DATA / "few_pictures.yaml"

Shares = Mapping[str, float]


class Seen(NamedTuple):
    """What transformers says of a prompt's pictures: by side and attribute, those of each picture counted."""

    case: PromptCase
    counted: int
    sides: list[dict[str, list[Shares]]]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for all tests: torch cannot be imported again, as pytester would."""
    return tmp_path_factory.mktemp("project")


@pytest.fixture(scope="module")
def checklist() -> Faintbench:
    loaded = load(str(FEW), truth="audited", base=Path())
    assert isinstance(loaded, Faintbench)
    return loaded


@pytest.fixture(scope="module")
def seen(project: Path, checklist: Faintbench) -> list[Seen]:
    """Pictures of all prompts in a folder, and what transformers says of them.

    They are square: transformers and torchvision cut the middle out of others a pixel apart.
    """
    sampling = Sampling("balanced", 1, 1, seed=0, prompts="all", per_prompt=PICTURES)
    clip = tiny_checkpoint.write_clip(project / "clip")
    prompts = prompt_cases(cases(checklist, sampling))
    shown = {
        case.id: [picture(40 + n, 40 + n, seed=PICTURES * number + n) for n in range(PICTURES)]
        for number, case in enumerate(prompts)
    }
    for name, pictures in shown.items():
        (project / "pictures" / name).mkdir(parents=True)
        for n, encoded in enumerate(pictures):
            (project / "pictures" / name / f"{n}.png").write_bytes(encoded)
    every = list(chain.from_iterable(shown.values()))
    probabilities = {
        sentences: by_hand(clip, every, list(sentences))
        for sentences in [
            ("a people", "not a people"),
            (TWO, f"not {TWO}"),
            *(
                tuple(form.format(label) for label in labels)
                for form in ("{}", "people on the left is {}", "people on the right is {}")
                for labels in LABELS.values()
            ),
        ]
    }
    pictures_seen = []
    for number, case in enumerate(prompts):
        indices = range(PICTURES * number, PICTURES * (number + 1))
        two = case.kind == "relation"
        people = probabilities[TWO, f"not {TWO}"] if two else probabilities["a people", "not a people"]
        counted = [row for row in indices if people[row][0] >= PERSON]
        forms = ["people on the left is {}", "people on the right is {}"] if two else ["{}"]
        sides: list[dict[str, list[Shares]]] = []
        for form in forms:
            sides.append({})
            for attribute in checklist.attributes:
                rows = probabilities[tuple(form.format(label) for label in LABELS[attribute.name])]
                sides[-1][attribute.name] = [
                    dict(zip(attribute.groups, rows[row], strict=True)) for row in counted
                ]
        pictures_seen.append(Seen(case, len(counted), sides))
    assert 0 < sum(shown.counted for shown in pictures_seen) < len(every)
    return pictures_seen


def scored(project: Path, estimator: str, **settings: Any) -> Summary:
    return run(
        f"images:{project / 'pictures'}",
        detector=f"clip:{project / 'clip'}?align=published-code&person={PERSON}",
        root=project,
        checklist=[str(FEW)],
        preset="paper",
        truth="audited",
        samples=f"images={PICTURES}",
        estimator=estimator,
        **settings,
    ).summary


def value(summary: Summary, metric: str, context: str | None, attribute: str) -> float | None:
    (score,) = (
        score.value
        for score in summary.scores
        if (score.metric, score.context, score.attribute) == (metric, context, attribute)
    )
    return score


def similar(checklist: Faintbench, shown: Seen, side: int, name: str, rows: list[Shares]) -> float:
    """(1 + cos) / 2 of what the pictures show on average beside the shares in reality."""
    truth = checklist.subject(shown.case.subject).sides[side].shares[name]
    p, q = (np.array(shares) for shares in ([sum(row[g] for row in rows) for g in truth], [*truth.values()]))
    return float((1 + p @ q / np.sqrt((p @ p) * (q @ q))) / 2)


def implicit(checklist: Faintbench, seen: list[Seen], name: str, count: Callable[[Shares], Shares]) -> float:
    """Each person of the implicit prompts, weighted: two people share the weight of their prompt."""
    scores, weights = [], []
    for shown in seen:
        for side, by_attribute in enumerate(shown.sides if not shown.case.requested else []):
            if shown.counted:
                scores.append(
                    similar(checklist, shown, side, name, [count(row) for row in by_attribute[name]])
                )
                weights.append(checklist.subject(shown.case.subject).weight / len(shown.sides))
    return float(np.average(scores, weights=weights))


def likeliest(row: Shares) -> Shares:
    return {group: float(share == max(row.values())) for group, share in row.items()}


def test_probabilities_are_counted_after_the_authors_rules(
    project: Path, seen: list[Seen], checklist: Faintbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = scored(project, "published-code")
    expected = {name: implicit(checklist, seen, name, optimised) for name in WEIGHTS}
    for name, score in expected.items():
        assert value(summary, "implicit", None, name) == pytest.approx(score, abs=1e-5)
        assert abs(score - implicit(checklist, seen, name, likeliest)) > 1e-3
    nurses = [
        shown for shown in seen if shown.case.requested and shown.case.kind == "occupation" and shown.counted
    ]
    delivered = [
        np.mean([optimised(row)[nurse.case.requested[0]] for row in nurse.sides[0][nurse.case.attributes[0]]])
        for nurse in nurses
    ]
    weights = [WEIGHTS[nurse.case.attributes[0]] for nurse in nurses]
    measured = value(summary, "explicit", "occupation", "all")
    assert measured == pytest.approx(np.average(delivered, weights=weights), abs=1e-5)
    assert any("count the detector's probabilities" in note for note in summary.notes)
    asked = PICTURES * len(seen)
    lost = asked - sum(shown.counted for shown in seen)
    assert any(f": {lost} of {asked} pictures of few_pictures show nobody" in note for note in summary.notes)
    # The report holds what a later run is compared with; no picture is read twice.
    monkeypatch.setattr(AlignmentDetector, "read", None)
    former = (project / ".factorfair" / "report" / "report.json").rename(project / "before.json")
    again = scored(project, "published-code", baseline=str(former))
    changes = [(change.before, change.after) for change in again.changes if change.metric == "implicit"]
    assert changes
    assert all(before == after is not None for before, after in changes)


def test_every_other_estimator_counts_the_likeliest_group(
    project: Path, seen: list[Seen], checklist: Faintbench
) -> None:
    summary = scored(project, "plugin")
    for name in WEIGHTS:
        expected = implicit(checklist, seen, name, likeliest)
        assert value(summary, "implicit", None, name) == pytest.approx(expected, abs=1e-12)
    relations = [
        shown for shown in seen if shown.case.kind == "relation" and shown.case.requested and shown.counted
    ]
    shown = [
        np.mean(
            [
                likeliest(row)[group]
                for side, group in enumerate(relation.case.requested)
                for row in relation.sides[side][relation.case.attributes[0]]
            ]
        )
        for relation in relations
    ]
    assert value(summary, "explicit", "relation", "all") == pytest.approx(np.mean(shown), abs=1e-12)
