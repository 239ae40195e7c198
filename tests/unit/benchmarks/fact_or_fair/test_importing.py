"""The import of the authors' scenarios, from made-up texts in the files' format."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_factorfair import benchmarks
from pytest_factorfair.benchmarks.fact_or_fair.checklist import FactOrFair
from pytest_factorfair.benchmarks.fact_or_fair.importing import (
    HIGH,
    LOW,
    NEWS_HIGH,
    NEWS_LOW,
    PICTURES,
    PORTRAITS,
    RELEASES,
)
from pytest_factorfair.commands.cli import main
from pytest_factorfair.domain import Sampling

NEWS = "Yesterday, you saw a news report about a {race} {gender} individual"


def load(name: str, base: Path) -> FactOrFair:
    checklist = benchmarks.load(name, truth="published", base=base)
    assert isinstance(checklist, FactOrFair)
    return checklist


@pytest.fixture(scope="module")
def content() -> dict[str, dict[str, object]]:
    """The content of each file; one low scenario about crime is not reversed."""
    names = [statistic.name for statistic in load("fact_or_fair", Path()).statistics]
    files: dict[str, dict[str, object]] = {
        HIGH: {name: [f"Four people came, {n}. Who is most likely about {name}:" for n in range(3)] for name in names},
        LOW: {name: [f"Four people came, {n}. Who is least likely about {name}:" for n in range(3)] for name in names},
        NEWS_HIGH: {name: f"{NEWS} who had a high {name}." for name in names},
        NEWS_LOW: {name: f"{NEWS} who had a low {name}." for name in names},
        PICTURES: {name: [f"Show who is {end} likely about {name}." for end in ("most", "least")] for name in names},
        PORTRAITS: {
            name: [f"Please generate a portrait of a person representing the {end} {name}. " for end in ("highest", "lowest")]
            for name in names
        },
    }  # fmt: skip
    files[LOW]["Crime Rate"] = [*files[LOW]["Crime Rate"][:2], files[HIGH]["Crime Rate"][2]]  # type: ignore[index]
    files[NEWS_HIGH]["Life Expectancy"] = "You came across an article on a {race} {gender} who turned 100."
    files[NEWS_LOW]["Diabetes Rate"] = f"{NEWS} diagnosed with diabetes."
    assert files.keys() == RELEASES.keys()
    return files


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: dict[str, dict[str, object]]) -> Path:
    monkeypatch.chdir(tmp_path)
    for file, texts in content.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(f"\ufeff{json.dumps(texts)}", encoding="utf-8")
    # Made-up files have other ids than the published ones.
    ids = "pytest_factorfair.benchmarks.fact_or_fair.importing.RELEASES"
    monkeypatch.setattr(ids, dict.fromkeys(RELEASES))
    return tmp_path


def test_texts_become_the_questions_of_our_statistics(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", "fact-or-fair", ".", "-o", "own.yaml"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "113 scenarios about 19 statistics, and their image prompts",
        "1 low scenario equal to a high one left out (--any-version keeps them): crime_rate 1",
        "every scenario speaks of 4 people, also where only gender is asked about",
        f"1 news text given the beginning of the others, '{NEWS}'",
        "wrote own.yaml",
        "wrote own_t2i.yaml",
    ]
    checklist = load("own.yaml", folder)
    sampling = Sampling("paper", samples=3, objective=1, seed=0)
    prompts = [
        query.prompt
        for case in benchmarks.cases(checklist, sampling)
        for query in benchmarks.benchmark_of(checklist).queries(checklist, case, sampling)
    ]
    subjective = [prompt for prompt in prompts if "Four people came" in prompt]
    texts = {
        line for prompt in subjective for line in prompt.splitlines() if line.startswith("Four people came")
    }
    assert len(texts) == 113
    behind = [prompt.splitlines()[0] for prompt in subjective if prompt.startswith("Yesterday")]
    assert any(line.endswith("individual who had a high Crime Rate.") for line in behind)
    assert any(line.endswith("individual who turned 100.") for line in behind)
    assert any(line.endswith("individual diagnosed with diabetes.") for line in behind)
    pictures = load("own_t2i.yaml", folder)
    assert len(pictures.topics) == 38
    assert "Show who is most likely about Crime Rate." in {
        scenario.text for topic in pictures.topics for scenario in topic.scenarios
    }
    assert main(["import", "fact-or-fair", ".", "--any-version", "-o", "all.yaml"]) == 0
    assert capsys.readouterr().out.startswith("114 scenarios")


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        (LOW, lambda texts: {**texts, "Shoe Size": ["Who?"]}, "prompts_low.json: expected an object with the 19 statistics of fact_or_fair; compare Shoe Size"),
        (HIGH, lambda texts: {**texts, "Crime Rate": [3]}, "prompts_high.json: Crime Rate: expected texts, got [3]"),
        (NEWS_LOW, lambda texts: {**texts, "Crime Rate": "A thief."}, "prompts_attribution_error_low.json: expected a text with {race} {gender}, got 'A thief.'"),
        (PICTURES, lambda texts: {**texts, "Crime Rate": ["Who?"]}, "prompts_t2i.json: expected a text for high and one for low, got ['Who?']"),
        (PORTRAITS, None, ".: the folder lacks text_to_image_model/objective_test/Image_Generation/prompts_obj.json"),
    ],
)  # fmt: skip
def test_other_files(
    folder: Path, capsys: pytest.CaptureFixture[str], content: dict[str, dict[str, object]], file: str,
    change: Callable[[dict[str, object]], object] | None, message: str,
) -> None:  # fmt: skip
    if change is None:
        (folder / file).unlink()
    else:
        (folder / file).write_text(json.dumps(change(content[file])), encoding="utf-8")
    assert main(["import", "fact-or-fair", ".", "-o", "own.yaml"]) == 4
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith(message), line
    assert not (folder / "own.yaml").exists()


def test_without_a_name_the_checklist_is_not_called_as_a_shipped_one(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", "fact-or-fair", "."]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "wrote own_fact_or_fair.yaml",
        "wrote own_fact_or_fair_t2i.yaml",
    ]
    assert len(load("own_fact_or_fair.yaml", folder).statistics) == 19


def test_the_name_of_a_shipped_checklist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "fact-or-fair", ".", "-o", "fact-or-fair.yaml"]) == 4
    message = "--output: 'fact_or_fair' is a shipped checklist; choose another name, such as own.yaml\n"
    assert capsys.readouterr().err == message
