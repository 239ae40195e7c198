from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pytest_factorfair.benchmarks import cases, load, queries
from pytest_factorfair.domain import Checklist, Query, Request, Sampling
from pytest_factorfair.errors import InputError, RejectedRequestError
from pytest_factorfair.models import build
from pytest_factorfair.models.picture_folder import PictureFolder
from pytest_factorfair.models.protocol import Model
from tests.asking import ask_all
from tests.pictures import drawn
from tests.project import Project

TWENTY = Sampling("balanced", samples=20, objective=20, seed=0, images=20).of("image")
CRIME, POOR = "objective-crime_rate-highest", "subjective-poverty_rate-lowest-base-1"


@cache
def checklist() -> Checklist:
    return load("fact_or_fair_t2i", truth="audited", base=Path())


def asked(case_id: str) -> tuple[Query, ...]:
    [case] = [case for case in cases(checklist(), TWENTY) if case.id == case_id]
    return queries(checklist(), case, TWENTY)


def requests(case_id: str) -> list[Request]:
    return [Request(query.prompt, query.repeat, query.seed) for query in asked(case_id)]


def fill(folder: Path, case_id: str, names: list[str]) -> None:
    (folder / case_id).mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / case_id / name).write_bytes(drawn(name))


def built(folder: Path) -> Model:
    return build(f"images:{folder}", {}, checklists=(checklist(),), custom={})


def complaint(folder: object) -> str:
    with pytest.raises(InputError) as caught:
        build(f"images:{folder}", {}, checklists=(checklist(),), custom={})
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_pictures_of_a_case_answer_its_queries_by_name(tmp_path: Path) -> None:
    names = [f"{number:02}.png" for number in range(20)]
    fill(tmp_path, CRIME, names[::-1])
    fill(tmp_path, POOR, ["b.jpg", "a.PNG", "c.webp"])
    (tmp_path / POOR / ".DS_Store").write_bytes(b"not looked at")
    model = built(tmp_path)
    assert [response.image for response in ask_all(model, requests(CRIME))] == [drawn(name) for name in names]
    responses = ask_all(model, requests(POOR)[:3])
    assert [response.image for response in responses] == [
        drawn(name) for name in ("a.PNG", "b.jpg", "c.webp")
    ]
    assert {(response.text, response.finish, response.cost, response.model) for response in responses} == {
        ("", "stop", 0.0, f"images:{tmp_path}")
    }


def test_a_checklist_may_be_narrower_than_the_folder(tmp_path: Path) -> None:
    for case in cases(checklist(), TWENTY):
        fill(tmp_path, case.id, ["a.png"])
    fill(tmp_path, "objective-of_another_checklist-highest", ["a.png"])
    assert [response.image for response in ask_all(built(tmp_path), requests(CRIME)[:1])] == [drawn("a.png")]


def test_missing_pictures_are_errors_of_their_queries(tmp_path: Path) -> None:
    fill(tmp_path, CRIME, ["a.png", "b.png"])
    model = built(tmp_path)

    async def run() -> list[Any]:
        return await asyncio.gather(*map(model.ask, requests(CRIME)[:4]), return_exceptions=True)

    *responses, third, fourth = asyncio.run(run())
    assert [response.image for response in responses] == [drawn("a.png"), drawn("b.png")]
    assert isinstance(third, RejectedRequestError)
    where = f"images:{tmp_path}: '{tmp_path / CRIME}' has 2 pictures for this prompt, and more are asked for"
    assert {str(third), str(fourth)} == {where}  # one cause, however many repeats
    with pytest.raises(RejectedRequestError, match="has 0 pictures for this prompt, and more are asked for"):
        ask_all(model, requests(POOR)[:1])
    with pytest.raises(RejectedRequestError, match="no picture is named for this prompt"):
        ask_all(model, [Request("a dog")])


def test_a_picture_that_disappears_is_an_error_of_its_query(tmp_path: Path) -> None:
    fill(tmp_path, CRIME, ["a.png"])
    model = built(tmp_path)
    (tmp_path / CRIME / "a.png").unlink()
    with pytest.raises(RejectedRequestError, match=r"a\.png' cannot be read: No such file"):
        ask_all(model, requests(CRIME)[:1])


def test_invalid_folders_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert complaint("none") == f"model 'images:none': 'none' is not a folder in {tmp_path}"
    case_id = cases(checklist(), TWENTY)[0].id
    assert complaint(".") == f"'.' has no folders of cases, such as '{case_id}', and no manifest.jsonl"
    fill(tmp_path, CRIME, ["a.png"])
    fill(tmp_path, "objective-crime_rate-higest", ["a.png"])
    assert (
        complaint(".") == f"'objective-crime_rate-higest' does not belong to a case; did you mean '{CRIME}'?"
    )
    (tmp_path / "objective-crime_rate-higest").rename(tmp_path / ".hidden")
    (tmp_path / CRIME / "a.gif").write_bytes(b"")
    assert complaint(".") == f"'{CRIME}/a.gif' is not a picture: expected .png, .jpg, .jpeg, .webp"
    (tmp_path / CRIME / "a.gif").unlink()
    (tmp_path / CRIME / "b.png").mkdir()
    assert complaint(".") == f"'{CRIME}/b.png' is not a picture: expected .png, .jpg, .jpeg, .webp"
    (tmp_path / CRIME / "b.png").rmdir()
    (tmp_path / CRIME / "c.png").symlink_to(tmp_path / "gone.png")
    assert complaint(".") == f"'{CRIME}/c.png' is not a picture: expected .png, .jpg, .jpeg, .webp"


def test_manifest_names_prompts(tmp_path: Path) -> None:
    fill(tmp_path, "ab", ["1.png", "2.png", "3.png"])
    former, later = requests(CRIME)[:2]
    lines = [
        {"file": "ab/1.png", "prompt": former.prompt},
        {"file": "ab/2.png", "prompt": later.prompt, "repeat": 1, "seed": 7, "model": "m"},
        {"file": "ab/3.png", "prompt": former.prompt, "repeat": 0, "model": "m"},
    ]
    (tmp_path / "manifest.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    responses = ask_all(built(tmp_path), [former, later])
    assert [response.image for response in responses] == [drawn("3.png"), drawn("2.png")]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", 'manifest.jsonl:1: not a JSON object; write {"file": ..., "prompt": ...}'),
        ('{"file": "a.png"}', "manifest.jsonl:1: 'prompt' must be a text"),
        ('{"file": "a.png", "prompt": "p", "repeat": -1}', "'repeat' must be a whole number of at least 0"),
        ('{"file": "b.png", "prompt": "p"}', "there is no file 'b.png'"),
        ('{"file": "../a.png", "prompt": "p"}', "'../a.png' lies outside the folder"),
        ('{"file": "a\\u0000b", "prompt": "p"}', "manifest.jsonl:1: there is no file 'a"),
        ('{"file": "\\ud800.png", "prompt": "p"}', "manifest.jsonl:1: there is no file '"),
        (f'{{"file": "{"a" * 5000}", "prompt": "p"}}', "manifest.jsonl:1: there is no file 'aaa"),
        ("", "it contains no pictures"),
        (
            '{"file": "a.png", "prompt": "p", "model": "m"}\n{"file": "a.png", "prompt": "p", "model": "n"}',
            "pictures of several models: 'm', 'n'; keep those of one",
        ),
    ],
)
def test_invalid_manifests_are_refused(tmp_path: Path, line: str, words: str) -> None:
    (tmp_path / "a.png").write_bytes(drawn("a"))
    (tmp_path / "manifest.jsonl").write_text(line)
    assert words in complaint(tmp_path)


def test_identity_is_of_names_and_content(tmp_path: Path) -> None:
    fill(tmp_path / "one", CRIME, ["a.png", "b.png"])
    fill(tmp_path / "two", CRIME, ["a.png", "b.png"])
    before = built(tmp_path / "one").identity["pictures"]
    assert built(tmp_path / "two").identity["pictures"] == before
    (tmp_path / "two" / CRIME / "b.png").write_bytes(drawn("c.png"))
    assert built(tmp_path / "two").identity["pictures"] != before
    (tmp_path / "one" / CRIME / "b.png").rename(tmp_path / "one" / CRIME / "c.png")
    assert built(tmp_path / "one").identity["pictures"] != before


def test_identity_is_of_what_each_picture_answers(tmp_path: Path) -> None:
    """The identity covers which picture answers what; otherwise the store would return outdated pictures."""
    fill(tmp_path, "ab", ["1.png", "2.png"])

    def identity(former: str, later: str) -> object:
        lines = [{"file": "ab/1.png", "prompt": former}, {"file": "ab/2.png", "prompt": later}]
        (tmp_path / "manifest.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        return built(tmp_path).identity["pictures"]

    assert identity("a nurse", "a judge") == identity("a nurse", "a judge")
    assert identity("a nurse", "a judge") != identity("a judge", "a nurse")


def test_pictures_that_nobody_asks_for_are_reported(tmp_path: Path) -> None:
    fill(tmp_path, CRIME, [f"{number:02}.png" for number in range(22)])
    model = built(tmp_path)
    assert isinstance(model, PictureFolder)
    everything = {(query.prompt, query.repeat) for query in asked(CRIME)}
    assert len(everything) == 20
    unused = tmp_path / CRIME / "20.png"
    assert model.surplus(everything) == (
        f"images:{tmp_path}: 2 of its pictures are not used, such as {unused}"
    )
    (tmp_path / CRIME / "20.png").unlink()
    (tmp_path / CRIME / "21.png").unlink()
    again = built(tmp_path)
    assert isinstance(again, PictureFolder)
    assert again.surplus(everything) is None


def test_a_run_reports_pictures_that_no_query_asks_for(project: Project) -> None:
    fill(project.path / "made", CRIME, ["1.png", "2.png", "3.png"])
    result = project.run_pytest(
        "-p", "no:xdist", "--factorfair-plan", "--factorfair-model=images:made",
        "--factorfair-detector=sim", "--factorfair-samples=images=2",
    )  # fmt: skip
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["factorfair: note: images:made: 1 of its pictures are not used, such as *3.png"]
    )


def test_a_folder_answers_both_wordings_of_a_case(tmp_path: Path) -> None:
    """Pictures by case do not depend on the wording of prompts."""
    fill(tmp_path, CRIME, ["a.png"])
    model = built(tmp_path)
    paper = replace(TWENTY, verbatim=True)
    [case] = [case for case in cases(checklist(), paper) if case.id == CRIME]
    both = (asked(CRIME)[0], queries(checklist(), case, paper)[0])
    responses = ask_all(model, [Request(query.prompt, query.repeat, query.seed) for query in both])
    assert [response.image for response in responses] == [drawn("a.png")] * 2
    assert isinstance(model, PictureFolder)
    assert model.surplus({(asked(CRIME)[0].prompt, 0)}) is None
