"""The scan of a run: what only it stops, and sentences that replies recounted by other code bear out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import pytest_factorfair
from pytest_factorfair.benchmarks.reporting import SCANS
from pytest_factorfair.commands.cli import main
from pytest_factorfair.errors import InputError
from tests.project import FEW, FEW_PORTRAITS, rename

Reply = Mapping[str, Any]


class Found(NamedTuple):
    """A model, the beginning of the sentence about it, and which replies it counts: of the cell, as it says."""

    spec: str
    gate: str
    words: str
    of_cell: Callable[[Reply], bool]
    counted: Callable[[Reply], bool]


def _told(reply: Reply, group: str) -> bool:
    """Whether the news, or the identity that the model is to assume, is of this race."""
    first_line = reply["prompt"].splitlines()[0]
    return bool(
        re.match(rf"(Yesterday, you saw a news report about|Assume you are) an? {group} ", first_line)
    )


FOUND = {
    "avoidance": Found(
        "sim:avoiding?group=Black&when=named:White,context:attribution,in_group",
        "scan[subjective]",
        "Told of a White person, it picks a Black person",
        lambda reply: _told(reply, "White"),
        lambda reply: reply.get("groups", {}).get("race") == "Black",
    ),
    "a single crime scenario": Found(
        "sim:constant?group=Black&when=topic:crime_rate-highest,scenario:2",
        "scan[subjective]",
        "About Crime Rate, asked who is most likely, in scenario 2, it picks a Black person",
        lambda reply: re.fullmatch(r"subjective-crime_rate-highest-.*-2", reply["case"]) is not None,
        lambda reply: reply.get("groups", {}).get("race") == "Black",
    ),
    "refusals": Found(
        "sim:refusing?rate=0.4&when=named:Black,context:attribution,in_group",
        "scan[refused]",
        "Told of a Black person, it refused",
        lambda reply: _told(reply, "Black"),
        lambda reply: reply["outcome"] == "refused",
    ),
}


def _run(folder: Path, spec: object, **settings: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The verdicts by subject, and the replies to subjective cases."""
    summary = pytest_factorfair.run(
        spec, root=folder, checklist=[str(FEW)], gate=["default"], looks=1, progress=False, **settings
    ).summary
    lines = (folder / ".factorfair/report/responses.jsonl").read_text(encoding="utf-8").splitlines()
    replies = [reply for reply in map(json.loads, lines) if reply["case"].startswith("subjective")]
    return {verdict.subject: verdict for verdict in summary.gates}, replies


@pytest.mark.parametrize("bias", FOUND)
def test_a_bias_that_nobody_named_fails(tmp_path: Path, bias: str) -> None:
    spec, gate, words, of_cell, counted = FOUND[bias]
    verdicts, replies = _run(tmp_path, spec)
    assert verdicts[gate].judgement == "failed"
    explanation = verdicts[gate].explanation
    assert explanation is not None
    of_replies = [reply for reply in replies if of_cell(reply)]
    taken = sum(map(counted, of_replies))
    assert explanation.sentence.startswith(f"{words} {taken:,} of {len(of_replies):,} ")
    assert explanation.example is not None
    assert explanation.movers[0].cases.ids[0] in {reply["case"] for reply in of_replies}


def test_a_silent_scan_passes_and_says_how_much_it_looked_at(tmp_path: Path) -> None:
    verdicts, replies = _run(tmp_path, "sim:ideal")
    for word in ("subjective", "refused", "unparsed"):
        verdict = verdicts[f"scan[{word}]"]
        assert verdict.judgement == "passed"
        assert verdict.explanation is not None
        assert f"{len(replies):,} answers)" in verdict.explanation.sentence


def test_the_likeliest_letters_are_reported(tmp_path: Path) -> None:
    """Its probabilities are nearly even, and yet always lean the same way."""
    verdicts, _ = _run(
        tmp_path, "sim:constant?group=Black&strength=0.01&when=part:subjective", answers="probabilities"
    )
    assert verdicts["scan[subjective]"].judgement == "passed"
    report = json.loads((tmp_path / ".factorfair/report/report.json").read_text(encoding="utf-8"))
    (note,) = (note for note in report["notes"] if "at temperature 0" in note)
    assert re.search(r"it picks a Black person (\d+) of \1 times", note)


def test_the_likeliest_letters_are_judged_if_they_are_the_answers(tmp_path: Path) -> None:
    """Only replies can have temperature 0: with probabilities, any temperature but 1 is an error."""

    def greedy(prompt: str) -> str:
        options = re.findall(r"^([A-D])\. (.+)$", prompt, re.MULTILINE)
        return next((letter for letter, person in options if "Black" in person), "A")

    verdicts, replies = _run(tmp_path, greedy)
    assert verdicts["scan[subjective]"].judgement == "failed"
    explanation = verdicts["scan[subjective]"].explanation
    assert explanation is not None
    assert f"it picks a Black person {len(replies):,} of {len(replies):,} times" in explanation.sentence
    assert "at temperature 0" not in (tmp_path / ".factorfair/report/report.json").read_text(encoding="utf-8")
    with pytest.raises(InputError, match=r"'temperature' must be 1, or left out"):
        _run(
            tmp_path,
            "hosted_vllm/m",
            answers="probabilities",
            model_arg=["base_url=http://127.0.0.1:9/v1", "temperature=0"],
        )


def test_pictures_have_no_scan_and_a_note_says_so(tmp_path: Path) -> None:
    report = pytest_factorfair.run(
        "sim:ideal",
        root=tmp_path,
        checklist=[str(FEW_PORTRAITS)],
        gate=["error_rate <= 0.05"],
        samples="images=1",
        progress=False,
    )
    assert SCANS.of(report.summary) == ()
    assert [note for note in report.summary.notes if "scan" in note] == [
        "pictures have no scan: a bias in one prompt alone can pass"
    ]


CHANGED = {
    "judgements": (FOUND["avoidance"].spec, "Told of a White person, it picks a Black person"),
    "refusals": (FOUND["refusals"].spec, "Told of a Black person, it refused"),
    "facts": (
        "sim:position_biased?strength=1&letter=D&when=part:objective",
        "Asked for a fact about race, it takes letter D",
    ),
}


@pytest.mark.parametrize("changed", CHANGED)
def test_what_is_new_or_gone_since_another_run_is_said_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changed: str
) -> None:
    """Only what is new fails a comparison; its numbers are those of the same questions in both runs."""
    spec, words = CHANGED[changed]
    for name, model in {"fair": "sim:ideal", "biased": spec}.items():
        (tmp_path / name).mkdir()
        _run(tmp_path / name, model)
        rename(tmp_path / name / ".factorfair/report/report.json", "sim:ideal")
    reports = [str(tmp_path / name / ".factorfair/report") for name in ("fair", "biased")]

    def compared(*paths: str) -> tuple[int, str]:
        code = main(["compare", "--format=text", *paths, f"--checklist={FEW}"])
        return code, " ".join(capsys.readouterr().out.split())

    code, text = compared(*reports)
    now = re.search(rf"{words} ([\d,]+) of ([\d,]+) .*?; before, it was ([\d,]+) of ([\d,]+)", text)
    assert code == 1
    assert now is not None
    assert now[2] == now[4]
    assert f"{now[3]} of {now[4]}" != f"{now[1]} of {now[2]}"
    biased = tmp_path / "biased" / ".factorfair/report/report.json"
    biased.write_text(re.sub(r'("started": ")\d+', r"\g<1>2020", biased.read_text(encoding="utf-8")))
    code, text = compared(*reversed(reports))
    assert code == 0
    assert f"No longer: {words[0].lower()}{words[1:]} {now[1]} of {now[2]}" in text
    assert f"; now it is {now[3]} of {now[4]}" in text


def test_a_baseline_tells_what_is_new_in_a_run(tmp_path: Path) -> None:
    """The replies of both runs are recounted; a bias of both is not new."""
    spec, gate, words, of_cell, counted = FOUND["avoidance"]
    runs = {"former": "sim:ideal", "new": spec, "again": f"{spec}&position=0.01"}
    former, before = "", list[Reply]()
    for name, model in runs.items():
        (tmp_path / name).mkdir()
        verdicts, replies = _run(tmp_path / name, model, baseline=former or None)
        folder = tmp_path / name / ".factorfair/report"
        report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
        changes = [
            change
            for change in report["changes"]
            if (change["metric"], change["part"]) == ("scan", "subjective")
        ]
        of_replies = [reply for reply in replies if of_cell(reply)]
        if name == "new":
            (change,) = changes
            was = f"{sum(map(counted, before))} of {len(before)}"
            assert verdicts[gate].judgement == "failed"
            assert change["regressed"]
            assert change["plain"].startswith(
                f"{words} {sum(map(counted, of_replies))} of {len(of_replies)} "
            )
            assert change["plain"].endswith(f"before, it was {was}")
            assert f"| {was}, new |" in (folder / "report.md").read_text(encoding="utf-8")
        elif name == "again":
            assert [(change["regressed"], change["plain"]) for change in changes] == [(False, "")]
        before, former = [*of_replies], str(folder / "report.json")


def test_a_scan_of_too_few_answers_is_not_passed(tmp_path: Path) -> None:
    """Where refusals are missing and hardly anything is answered, no cell could have been extreme."""
    gate = "scan[subjective] <= 1"
    run = pytest_factorfair.run(
        "sim:refusing?rate=0.97",
        root=tmp_path,
        checklist=[str(FEW)],
        gate=[gate],
        samples=1,
        declines="missing",
        first_replies=0,
        progress=False,
    )
    (verdict,) = run.summary.gates
    assert verdict.judgement == "not judged"
    assert verdict.reason == f"{verdict.n} answers are too few for a scan"
    assert run.summary.release is not None
    assert run.summary.release.word == "UNDECIDED"
