"""Stored answers have an age: old ones are asked again, and every report dates its answers."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pytest_factorfair.config.options import OPTIONS
from pytest_factorfair.config.sources import OptionValue, parsed
from pytest_factorfair.errors import InputError
from tests.project import Project
from tests.servers import StubServer

ANSWERS = 6 * 4 + 4 * 2 * 24
GATE = "--factorfair-gate=s_fact[objective] >= 0.01"


def run(project: Project, stub: StubServer, *arguments: str) -> pytest.RunResult:
    url = f"--factorfair-model-arg=base_url={stub.base_url}"
    return project.run(url, "-n0", "FACTORFAIR_RETRIES=0", *arguments, model="hosted_vllm/m")


def days_ago(days: float) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="seconds")


def age(project: Project, *ages: float) -> None:
    """Make the stored answers as old as these numbers of days, in turn."""
    with closing(sqlite3.connect(project.path / ".factorfair/responses.sqlite")) as store, store:
        rows = store.execute("SELECT key FROM responses ORDER BY key").fetchall()
        for number, (key,) in enumerate(rows):
            created = days_ago(ages[number % len(ages)])
            store.execute("UPDATE responses SET created = ? WHERE key = ?", (created, key))


def bodies(project: Project) -> dict[str, str]:
    with closing(sqlite3.connect(project.path / ".factorfair/responses.sqlite")) as store:
        return dict(store.execute("SELECT key, body FROM responses"))


def asked(stub: StubServer) -> int:
    return int(stub.stats()["requests"])


def test_only_old_answers_are_asked_again(project: Project, stub: StubServer) -> None:
    run(project, stub)
    age(project, 6.9, 7.1, 30)
    stub.script(answer='{"answer": "B"}')
    old = ANSWERS - ANSWERS // 3
    result = run(project, stub, "--factorfair-reuse=1w")
    result.stdout.fnmatch_lines([f"*: {ANSWERS // 3} in the store, {old} to ask*"])
    assert asked(stub) == old
    usage = project.report()["usage"]
    assert (usage["calls"], usage["cached"]) == (old, ANSWERS // 3)
    assert sum('\\"B\\"' in body for body in bodies(project).values()) == old  # in place of the old ones
    project.write("pyproject.toml", '[tool.factorfair]\nreuse = "7d"\n')
    run(project, stub, "-n2")
    assert asked(stub) == old
    assert project.report()["usage"]["cached"] == ANSWERS


def test_an_old_answer_stays_until_there_is_a_new_one(project: Project, stub: StubServer) -> None:
    run(project, stub)
    before = bodies(project)
    age(project, 40)
    for trouble in ({"fail": -1, "status": 500}, {"answer": ""}):
        stub.script(**trouble)
        run(project, stub, "--factorfair-reuse=30d", "--factorfair-max-calls=30")
        assert asked(stub) > 0
        assert bodies(project) == before
    project.write("pyproject.toml", '[tool.factorfair]\nreuse = "30d"\n')
    run(project, stub, "--factorfair-reuse=only")
    assert project.report()["usage"]["cached"] == ANSWERS


def test_a_plan_names_the_age(project: Project, stub: StubServer) -> None:
    run(project, stub)
    age(project, 1, 3)
    result = run(project, stub, "--factorfair-plan", "--factorfair-reuse=48h")
    result.stdout.fnmatch_lines(
        [f"*{ANSWERS // 2}*the stored answer is older than --factorfair-reuse allows (as in *)"]
    )


(REUSE,) = (option for option in OPTIONS if option.name == "reuse")


@pytest.mark.parametrize(("text", "seconds"), [("12h", 43_200), ("7d", 604_800), ("2w", 1_209_600), ("0.5d", 43_200)])  # fmt: skip
def test_ages_are_parsed(tmp_path: Path, text: str, seconds: float) -> None:
    assert parsed(REUSE, OptionValue(text, REUSE.flag, tmp_path)) == ("all", seconds)


@pytest.mark.parametrize("text", ["7", "7m", "d", "-1d", "0d", "1 month", "9999999w", "7d 2h"])
def test_invalid_ages_are_refused(tmp_path: Path, text: str) -> None:
    """What a run prints then and how it ends: test_usage_errors."""
    line = f"^it: expected all, none, only, or an age such as 12h, 7d or 2w, got '{text}'$"
    with pytest.raises(InputError, match=line):
        parsed(REUSE, OptionValue(text, "it", tmp_path))


def told(project: Project, result: pytest.RunResult) -> str:
    """The line about the age of the answers; reports other than the terminal have it as a sentence."""
    lines = [line for line in result.stdout.lines if line.startswith("answers from ")]
    line = "".join(lines)
    folder = project.report_path.parent
    markdown = (folder / "report.md").read_text(encoding="utf-8").replace("\\", "")
    page = (folder / "report.html").read_text(encoding="utf-8")
    sentence = f"{line[:1].upper()}{line[1:]}."
    assert (f"\n{sentence}\n" in markdown) == (f'<p class="note">{sentence}</p>' in page) == bool(lines)
    return line


def test_reports_say_from_when_answers_are(project: Project, stub: StubServer) -> None:
    assert told(project, run(project, stub)) == ""
    age(project, 20, 22.5, 4)
    oldest, newest = (days_ago(days)[:10] for days in (22.5, 4))
    for options in (("-q",), ("--factorfair-reuse=only", GATE)):
        line = told(project, run(project, stub, *options))
        assert (
            line == f"answers from {oldest} to {newest}; none asked today: --factorfair-reuse=none asks again"
        )
        assert project.report()["fingerprint"]["times"]["first_answer"][:10] == oldest
    age(project, 4)
    assert told(project, run(project, stub)).startswith(f"answers from {newest}; none asked today")


def test_reports_state_no_dates_if_all_answers_are_new(project: Project, stub: StubServer) -> None:
    run(project, stub, "-k", "objective")
    age(project, 9)
    result = run(project, stub)
    today = project.report()["fingerprint"]["times"]["last_answer"][:10]
    assert told(project, result) == f"answers from {days_ago(9)[:10]} to {today}"
    result = run(project, stub, "--factorfair-store=sqlite:///new.sqlite", "FACTORFAIR_WARM=true")
    assert told(project, result) == ""
    assert project.report()["usage"]["cached"] > 0  # by the items, of what was asked before them


def test_a_comparison_of_stored_answers_with_a_later_baseline_says_so(project: Project) -> None:
    """Only if the baseline is of the same model, and no answer is newer."""
    options = ("-p", "no:xdist", "--factorfair-samples=6,objective=6", "--factorfair-gate=none")
    project.run(*options, model="sim:ideal")
    age(project, 3, 7)
    report = project.report()
    report["fingerprint"]["times"]["finished"] = days_ago(1)
    day = days_ago(1)[:10]
    project.write("former.json", json.dumps(report))
    note = "ompared with the baseline: all answers are from before it; for a fresh comparison use --factorfair-reuse=none"
    for again, model, about, noted in (
        ("all", "sim:ideal", f"sim:ideal, {day}", True),
        ("5d", "sim:ideal", f"sim:ideal, {day}", False),
        ("all", "sim:uniform", f"sim:ideal, another model, {day}", False),
    ):
        result = project.run(
            *options, "--factorfair-baseline=former.json", f"--factorfair-reuse={again}", model=model
        )
        folder = project.report_path.parent
        texts = [str(result.stdout), *((folder / f"report.{name}").read_text() for name in ("md", "html"))]
        for text in texts:
            shown = " ".join(text.replace("\\", "").split())
            assert f"Compared with the baseline ({about}): " in shown
            assert (note in shown) == noted
