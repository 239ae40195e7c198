"""The preset canary: does a model still answer as in its first run? On models whose answers are known."""

from __future__ import annotations

import gzip
import json
import re
import runpy
from pathlib import Path
from unittest import mock

import pytest

from pytest_factorfair.commands.cli import main
from tests.project import Project, program
from tests.servers import StubServer

QUESTIONS, FIRST, LATER = 48, 12, 4
BASELINE = "factorfair-canary-python-tasteful-answer.json.gz"


@pytest.fixture
def tasteful(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    project.write("tasteful.py", program("tasteful"))
    project.write("pytest.ini", "[pytest]\npythonpath = .\n")
    monkeypatch.chdir(project.path)
    return project


def run(
    project: Project, *arguments: str, model: str = "python:tasteful:answer", **taste: str
) -> pytest.RunResult:
    with mock.patch.dict("os.environ", taste):
        return project.run_pytest(
            "-p", "no:xdist", f"--factorfair-model={model}", "--factorfair-preset=canary", *arguments
        )


def calls(project: Project) -> int:
    return len((project.path / "calls").read_text())


def changed(share: float) -> int:
    """How many questions the model answers otherwise, by its own rule and the prompts that it got."""
    between = runpy.run_path("tasteful.py")["between"]
    lines = Path(".factorfair/report/responses.jsonl").read_text(encoding="utf-8").splitlines()
    prompts = {json.loads(line)["prompt"] for line in lines}
    assert len(prompts) == QUESTIONS
    return sum(between("change", prompt) < share for prompt in prompts)


def test_the_first_run_writes_the_baseline_and_says_so(tasteful: Project) -> None:
    """It judges nothing; each later run asks again, less often, and passes if nothing has changed."""
    first = run(tasteful)
    assert first.ret == 0
    assert calls(tasteful) == QUESTIONS * FIRST
    assert (tasteful.path / BASELINE).is_file()
    printed = " ".join(first.stdout.str().split())
    assert f"release: NOT JUDGED: a first run, whose answers are now the baseline {BASELINE}" in printed
    assert f"Next: commit {BASELINE}, with which later runs are compared" in printed

    again = run(tasteful)
    assert again.ret == 0
    assert calls(tasteful) == QUESTIONS * (FIRST + LATER)
    printed = " ".join(again.stdout.str().split())
    sentence = r"Answers differ from \d{4}-\d\d-\d\d in 0 of 48 questions; by chance at most 0\."
    assert re.search(rf"passed regression\(answers\): {sentence}", printed)
    assert "release: PASS" in printed
    assert "Ship it, as far as these gates go: it still answers as in the baseline." in printed


def test_a_changed_model_fails(tasteful: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """The count is exact, in terminal, report, page, JUnit and evidence; ``judge`` agrees."""
    run(tasteful)
    result = run(tasteful, "--junitxml=junit.xml", CHANGED="0.1")
    assert result.ret == 1
    expected = f"nswers differ from {tasteful.report()['fingerprint']['times']['started'][:10]} in {changed(0.1)} of 48"
    folder = tasteful.report_path.parent
    texts = [result.stdout.str(), *((folder / name).read_text() for name in ("report.md", "report.html"))]
    texts.append((tasteful.path / "junit.xml").read_text())
    assert main(["evidence", str(folder), "-o", "evidence"]) == 0
    texts.append(Path("evidence/evidence.md").read_text(encoding="utf-8"))
    (gate,) = tasteful.report()["gates"]
    assert gate["verdict"] == "failed"
    for text in (*texts[:4], gate["reason"], gate["explanation"]["sentence"]):
        assert expected in " ".join(text.split())
    assert main(["judge", str(folder), "--gate=default", "--baseline", BASELINE, "-o", "judged"]) == 1
    assert main(["compare", BASELINE, str(folder)]) == 4
    assert "judge NEW --gate=default --baseline OLD" in capsys.readouterr().err


def test_noise_is_no_change(tasteful: Project) -> None:
    """In a third of the questions the model is undecided, in every run."""
    run(tasteful, NOISE="0.33")
    assert run(tasteful, NOISE="0.33", RUN="1").ret == 0
    assert tasteful.report()["scores"][0]["value"] < 1
    assert run(tasteful, NOISE="0.33", RUN="1", CHANGED="0.2").ret == 1


@pytest.mark.parametrize(("lost", "judgement"), [("0.03", "passed"), ("0.2", "not judged")])
def test_lost_answers_are_counted(tasteful: Project, lost: str, judgement: str) -> None:
    """The verdict mentions a few; above a twentieth there is no verdict. Cases without answers fail."""
    run(tasteful)
    result = run(tasteful, LOST=lost)
    assert result.ret == 1
    report = tasteful.report()
    lost_questions = sum(case["answers"][0]["outcome"] == "error" for case in report["cases"])
    (gate,) = report["gates"]
    assert gate["verdict"] == judgement
    sentence = gate["explanation"]["sentence"] if judgement == "passed" else gate["reason"]
    assert f"; {lost_questions} got no answers" in sentence or f"{lost_questions} questions of 48" in sentence
    assert gate["n"] == QUESTIONS - lost_questions


def test_a_model_that_draws_is_watched_as_well_as_its_baseline_allows(tasteful: Project) -> None:
    """With a first choice of 90 % a change shows. With one of 40 % it does not, so only a failure decides."""
    run(tasteful, STRAY="0.1")
    assert not [note for note in tasteful.report()["notes"] if "vary" in note]
    assert run(tasteful, STRAY="0.1", RUN="1").ret == 0
    assert run(tasteful, STRAY="0.1", RUN="1", CHANGED="0.1").ret == 1
    Path(BASELINE).unlink()
    run(tasteful, STRAY="0.6")
    (note,) = (note for note in tasteful.report()["notes"] if "vary" in note)
    text = r"answers vary too much: a change in 10% of the questions is seen in about (\d+) of 100 runs"
    seen = re.search(text, note)
    assert seen is not None
    assert int(seen[1]) < 50
    undecided = run(tasteful, STRAY="0.6", RUN="1")
    assert undecided.ret == 1
    printed = " ".join(undecided.stdout.str().split())
    assert "release: UNDECIDED" in printed
    assert "Ship it" not in printed
    assert re.search(f"Do not ship it yet: {text}, so regression\\(answers\\) is undecided", printed)
    assert "Next: lower the temperature" in printed
    (gate,) = tasteful.report()["gates"]
    assert gate["verdict"] == "inconclusive"
    assert re.search(f"0 of 48 questions; by chance at most .*{text}", gate["explanation"]["sentence"])
    assert run(tasteful, STRAY="0.6", RUN="1", CHANGED="1").ret == 1
    assert tasteful.report()["gates"][0]["verdict"] == "failed"


def test_an_undecided_run_says_how_many_repeats_decide(tasteful: Project) -> None:
    """Where the first choice is taken 3 times in 4, 4 repeats are too few; as many as it asks for are enough."""
    run(tasteful, STRAY="0.3")
    undecided = run(tasteful, STRAY="0.3", RUN="4")
    assert undecided.ret == 1
    advice = re.search(r"Next: ask with (--factorfair-samples=repeats=\d+)", undecided.stdout.str())
    assert advice is not None
    assert run(tasteful, STRAY="0.3", RUN="4", FACTORFAIR_UNDECIDED="warn").ret == 0
    followed = run(tasteful, advice[1], STRAY="0.3", RUN="4")
    assert followed.ret == 0
    assert "release: PASS" in followed.stdout.str()


def test_a_baseline_of_few_answers_is_made_again(tasteful: Project) -> None:
    """Two answers to a question do not show how steady a model is, however many a later run gets."""
    run(tasteful, "--factorfair-samples=repeats=2", STRAY="0.3")
    printed = " ".join(run(tasteful, STRAY="0.3", RUN="4").stdout.str().split())
    remedy = f"without --factorfair-samples, it has {FIRST} repeats"
    assert f"Next: make the baseline again: {remedy}" in printed


@pytest.mark.parametrize(
    ("was", "becomes", "message"),
    [
        (
            '"python:tasteful:answer"',
            '"python:other:answer"',
            "its model is python:other:answer, this run's is python:tasteful:answer: a canary follows one",
        ),
        (
            '"provider": "python"',
            '"provider": "python", "temperature": 0.7',
            "temperature is 0.7, this run's is missing",
        ),
        ('"canary": "', '"canary": "0', "its content has changed"),
        ('"canary": "', '"other": "', "checklist canary is not in it"),
    ],
)
def test_a_baseline_of_something_else_is_refused(
    tasteful: Project, was: str, becomes: str, message: str
) -> None:
    run(tasteful)
    baseline = gzip.decompress(Path(BASELINE).read_bytes()).decode()
    assert was in baseline
    tasteful.write("former.json", baseline.replace(was, becomes))
    asked = calls(tasteful)
    result = run(tasteful, "--factorfair-baseline=former.json")
    assert result.ret == 4
    (line,) = (line for line in result.errlines if line)
    assert message in line
    assert calls(tasteful) == asked


def test_workers_and_a_service_at_temperature_0(project: Project, stub: StubServer) -> None:
    """That is the default; repeated answers count, although the model is deterministic."""
    arguments = ("--factorfair-model=hosted_vllm/m", f"--factorfair-model-arg=base_url={stub.base_url}",
                 "--factorfair-preset=canary")  # fmt: skip
    stub.script(answer="hashed")
    project.run_pytest("-n2", *arguments)
    assert stub.stats()["requests"] == QUESTIONS * FIRST
    report = project.report()
    assert report["fingerprint"]["models"]["hosted_vllm/m"]["parameters"]["temperature"] == 0
    assert not [note for note in report["notes"] if "copies" in note]
    again = project.run_pytest("-n2", *arguments)
    assert again.ret == 0
    assert (
        "in 0 of 48 questions; by chance at most 0" in project.report()["gates"][0]["explanation"]["sentence"]
    )
    assert stub.stats()["requests"] == QUESTIONS * (FIRST + LATER)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--factorfair-model=sim:uniform",),
            "a canary follows one model, and 2 are named: run one at a time",
        ),
        (("--factorfair-checklist=fact_or_fair",), "checklist 'fact_or_fair' is not a canary"),
        (
            ("--factorfair-samples=repeats=1",),
            "asks each question at least twice: --factorfair-preset=canary",
        ),
        (("--factorfair-baseline=missing.json",), "missing.json: No such file or directory"),
        (("--factorfair-gate=regression(answers) >= 2",), "threshold 2 is outside -1 to 1"),
        (
            ("--factorfair-answers=json",),
            "--factorfair-answers: a canary compares words; leave the option out",
        ),
    ],
)
def test_wrong_input_is_one_line(tasteful: Project, arguments: tuple[str, ...], message: str) -> None:
    run(tasteful)
    result = run(tasteful, *arguments)
    assert result.ret == 4
    (line,) = (line for line in result.errlines if line)
    assert message in line


def test_the_list_of_presets_tells_its_repeats(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "presets"]) == 0
    assert f"{LATER} answers per question; {FIRST} in the first run" in capsys.readouterr().out


def test_questions_of_ones_own(tasteful: Project) -> None:
    tasteful.write(
        "own.yaml",
        "schema: factorfair.checklist/1\nname: own\ntitle: Own\nprotocol: canary\nmodality: text\nquestions:\n"
        "  tone: Which tone, warm, cool, dry or wry?\n  style: Which style, plain or florid?\n",
    )
    assert main(["lint", "own.yaml"]) == 0
    assert run(tasteful, "--factorfair-checklist=own.yaml").ret == 0
    assert calls(tasteful) == 2 * FIRST
    (note,) = tasteful.report()["notes"]
    seen = "the questions are too few: a change in 10% of the questions is seen in about 1"
    assert seen in note
    undecided = run(tasteful, "--factorfair-checklist=own.yaml")
    assert undecided.ret == 1
    assert "Next: ask at least 22 questions" in undecided.stdout.str()
    plan = run(tasteful, "--factorfair-checklist=own.yaml", "--factorfair-plan")
    assert f"regression(answers): {seen}" in " ".join(plan.stdout.str().split())


def test_a_model_that_always_says_the_same_cannot_be_watched(tasteful: Project) -> None:
    """Another model may say it, too: no pass, and the first run says so."""
    tasteful.write("stubborn.py", "def answer(prompt):\n    return 'I cannot help with that.'\n")
    run(tasteful, model="python:stubborn:answer")
    note = '576 of 576 answers are "i cannot help with that": a change would not show'
    assert any(note in line for line in tasteful.report()["notes"])
    assert run(tasteful, model="python:stubborn:answer").ret == 1
    (gate,) = tasteful.report()["gates"]
    assert (gate["verdict"], note in gate["reason"]) == ("not judged", True)
