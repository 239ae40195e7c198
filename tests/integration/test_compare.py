"""Comparing the models of one run, and of several, offline, as a user would."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from contextlib import redirect_stdout
from io import StringIO
from math import log2
from pathlib import Path
from typing import Any

import pytest

from pytest_factorfair.commands.cli import main
from tests.finished import BOUNDED, IDEAL, Finished
from tests.project import Project

SIZES = ("-p", "no:xdist", "FACTORFAIR_ESTIMATOR=corrected", "--factorfair-samples=72,objective=24")
THREE = ("sim:ideal", "sim:stereotyped?strength=0.5", "sim:stereotyped?strength=0.9")
HOSTILE = "x|y`<script>alert(1)</script>[a](javascript:b)\u202e\x1b[31m\nnext"


@pytest.fixture(scope="module")
def report(finished: Finished) -> Path:
    """The report of three models: the second and third are ever more prejudiced about gender, not race."""
    return finished(*(f"--factorfair-model={model}" for model in THREE), *BOUNDED) / "report.json"


@pytest.fixture(scope="module")
def comparison(report: Path) -> str:
    """What a comparison of its models prints."""
    with redirect_stdout(StringIO()) as printed:
        assert main(["compare", "--format=text", str(report), "--teacher", THREE[1]]) == 0
    return printed.getvalue()


def _copy(
    report: Path,
    folder: Path,
    *models: str,
    named: str = "",
    fingerprint: Mapping[str, object] | None = None,
    **parts: object,
) -> str:
    """A report of some of its models, of which the first may have another name."""
    content: dict[str, Any] = json.loads(report.read_text())
    for name, part in content.items():
        if isinstance(part, list):
            content[name] = [
                row for row in part if not isinstance(row, dict) or row.get("model", models[0]) in models
            ]
    identities = content["fingerprint"]["models"]
    content["fingerprint"] |= {
        "models": {model: identities[model] for model in models},
        **(fingerprint or {}),
    }
    text = json.dumps(content | parts).replace(json.dumps(models[0]), json.dumps(named or models[0]))
    path = folder / f"copy{len(list(folder.iterdir()))}.json"
    path.write_text(text)
    return str(path)


def test_models_of_one_run(comparison: str) -> None:
    """The closed forms of S_E at strengths 0, .5 and .9 are 1, .811 and .286: 72 answers tell them apart."""
    lines = comparison.splitlines()
    start = lines.index("small: gender")
    board = next(number for number in range(start, len(lines)) if lines[number].startswith("S_E, base"))
    rows = [line.split() for line in lines[board + 1 : board + 4]]
    assert [row[:2] for row in rows] == [[str(rank), model] for rank, model in enumerate(THREE, 1)]
    assert [row[-3] for row in rows] == ["a", "b", "c"]
    assert {tuple(row[-2:]) for row in rows} == {("144", "0")}
    start = lines.index("small: race")
    board = next(number for number in range(start, len(lines)) if lines[number].startswith("S_E, base"))
    assert [line.split()[-3] for line in lines[board + 1 : board + 4]] == ["a", "a", "a"]
    assert any(line.startswith("Of the answers, 100% are compared with the other model's") for line in lines)
    assert [line for line in lines if len(line) > 80 and " " in line.strip()] == []


def test_evenness_within_conditions_is_compared_with_the_checklist_at_hand(
    report: Path, tmp_path: Path, finished: Finished, capsys: pytest.CaptureFixture[str]
) -> None:
    """Models of one report, and one of another that follows the race named. Counts are not in reports."""
    follower = "sim:context_following?strength=1&attribute=race&when=context:in_group"
    files = [
        _copy(report, tmp_path, *THREE[:2]),
        str(finished(f"--factorfair-model={follower}", *BOUNDED) / "report.json"),
    ]
    small = BOUNDED[0].partition("=")[2]
    assert main(["compare", "--format=text", *files, f"--checklist={small}"]) == 0
    out = capsys.readouterr().out
    lines = out[out.index("small: race\n") :].splitlines()
    board = lines.index("evenness, by the group named, in_group: 1 is best")
    rows = re.findall(
        r"([\d.]+) +[\d.]+ to [\d.]+ +([a-z?]+) +288 +0$",
        "\n".join(lines[board : lines.index("", board)]),
        re.MULTILINE,
    )
    assert [letter for _, letter in rows] == ["a", "a", "b"]
    assert float(rows[-1][0]) < 0.05
    for heading in ("evenness, by age, base", "worst facts, objective", "favourite name, base",
                    "influence (own group), in_group"):  # fmt: skip
        assert any(line.startswith(f"{heading}: ") for line in lines), heading
    assert "are not compared" not in out
    assert main(["compare", "--format=text", *files]) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert (
        f"s_e_within, crossed, name_preference, influence and scan are not compared: {files[0]}: its answers to "
        "checklist 'small' must be counted again; give the checklist's file with --checklist"
    ) in output
    assert "worst facts, objective: 1 is best" in output
    assert "evenness, by" not in output


def test_differences_are_said_in_words_and_noise_is_called_so(comparison: str) -> None:
    """S_E of .5 and .9 lies .189 and .714 below that of an ideal model; of race all are fair."""
    section = comparison[comparison.index("Who is ahead\n") : comparison.index("small: gender\n")]
    section = " ".join(section.split())
    match = re.search(
        r"gender: sim:ideal treats the groups more evenly than sim:stereotyped\?strength=0\.5 by (\S+) "
        r"\((\S+) to (\S+)\) and sim:stereotyped\?strength=0\.9 by (\S+) \((\S+) to (\S+)\) \[S_E, base\]\.",
        section,
    )
    assert match is not None
    half, low, high, nine, *_ = map(float, match.groups())
    assert half == pytest.approx(0.189, abs=0.1)
    assert low < half < high
    assert nine == pytest.approx(0.714, abs=0.1)
    noise = re.search(r"No difference is clear on (\d+) scores: (.*?)\. ", section)
    assert noise is not None
    assert "race: S_fact, S_E, S_KLD, distance" in noise[2]
    best = [line.split()[0] for line in comparison.splitlines() if re.search(r"^sim:\S+ +\d+ of \d+ ", line)]
    assert best == list(THREE)


def test_a_model_that_refuses_is_compared_at_its_worst_and_best(
    project: Project, finished: Finished, capsys: pytest.CaptureFixture[str]
) -> None:
    """A tenth refused does not bring a fair model near a strong stereotype, however they had gone."""
    missing = "FACTORFAIR_DECLINES=missing"
    assert project.run(*SIZES, missing, model="sim:refusing?rate=0.1").ret == 0
    strong = finished(f"--factorfair-model={THREE[2]}", *BOUNDED, missing)
    capsys.readouterr()
    assert main(["compare", "--format=text", str(project.report_path), str(strong / "report.json")]) == 0
    out = capsys.readouterr().out
    text = " ".join(out.split())
    assert re.search(r"rate=0\.1 treats the groups more evenly than .*?strength=0\.9 by 0\.[678]", text)
    assert re.search(
        r"\d+% of sim:refusing\?rate=0\.1's answers are missing; in each case at most 5% may be\.", text
    )
    assert "Judged at worst and at best: sim:refusing?rate=0.1: " in text
    board = out[out.index("S_E, base: 1 is best") :].splitlines()
    assert board[1].split() == [
        "score",
        "95",
        "%",
        "interval",
        "at",
        "worst,",
        "best",
        "letters",
        "asked",
        "refused",
    ]
    row = next(line for line in board[2:] if line.startswith(" "))
    value, low, _, high, worst, _, best, letters, asked, refused = row.split()
    assert float(worst) < float(low) <= float(value) <= float(high) <= float(best)
    assert (letters, asked) == ("a", "144")
    assert 0 < int(refused) < 40
    assert [line for line in out.splitlines() if len(line) > 80 and " " in line.strip()] == []


def test_students_beside_their_teacher(
    report: Path, comparison: str, capsys: pytest.CaptureFixture[str]
) -> None:
    better, worse = comparison.split(f"beside its teacher {THREE[1]}")[1:]
    assert "gender: S_E, base" in better
    row = next(line for line in better.splitlines() if line.startswith("gender: S_E, base"))
    assert row.endswith("gained")
    row = next(line for line in worse.splitlines() if line.startswith("gender: S_KLD, base"))
    assert row.endswith("lost")
    assert "race: S_E, base" in worse
    assert main(["compare", "--format=text", str(report), "--teacher", "sim:idael"]) == 4
    assert (
        capsys.readouterr().err
        == "--teacher sim:idael: not one of the compared models; did you mean 'sim:ideal'?\n"
    )


def test_reports_and_models_at_once(report: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A model that is in two reports: the comparison says what changed; the later one is worse."""
    before = _copy(report, tmp_path, THREE[0])
    after = _copy(report, tmp_path, THREE[2], named=THREE[0], incomplete="2 cases are missing")
    assert main(["compare", "--format=text", before, after, _copy(report, tmp_path, *THREE[:2])]) == 1
    out = " ".join(capsys.readouterr().out.split())
    assert f"report 2: {after} (ci preset, small, " in out
    assert "NOT JUDGED: 2 cases are missing" in out
    assert "From report 1 to report 2 ====" in out
    assert "REGRESSED S_E base gender" in out
    assert "Nothing regressed from report 2 to report 3." in out
    assert "From report 1 to report 3 ====" not in out
    assert "sim:ideal (report 1)" in out
    assert "sim:ideal (report 3)" in out
    assert "sim:stereotyped?strength=0.5 (report" not in out


def _release(report: Path, folder: Path, model: str, day: str, **fingerprint: object) -> str:
    """A report of "gpt-x" of that day, whose answers are those of one of the models."""
    started = {"times": {"started": f"{day}T08:00:00+00:00"}}
    return _copy(report, folder, model, named="gpt-x", fingerprint=started | fingerprint)


def test_releases_of_one_model_are_shown_over_time(
    report: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the order of their dates: fair, more and more prejudiced, with other settings in between."""
    may = _release(report, tmp_path, THREE[2], "2026-05-03")
    march = _release(report, tmp_path, THREE[1], "2026-03-02", truth="published")
    april = _release(report, tmp_path, THREE[1], "2026-04-02")
    january = _release(report, tmp_path, THREE[0], "2026-01-01")
    assert main(["compare", "--format=text", may, march, april, january]) == 1
    out = capsys.readouterr().out
    assert [line for line in out.splitlines() if len(line) > 80 and " " in line.strip()] == []
    text = " ".join(out.split())
    for former, later in ((4, 3), (3, 1), (4, 1)):
        assert f"From report {former} to report {later} ====" in text
    section = out[out.index("small: gender over time") : out.index("small: race over time")]
    runs = re.findall(
        r"^(2026-\d\d-\d\d) 08:00 report (\d), settings (\w)\n *(.*)$", section, flags=re.MULTILINE
    )
    assert [run[:3] for run in runs] == [
        ("2026-01-01", "4", "a"), ("2026-03-02", "2", "b"), ("2026-04-02", "3", "a"), ("2026-05-03", "1", "a"),
    ]  # fmt: skip
    evenness = [float(cells.split()[2]) for *_, cells in runs]
    assert evenness[0] > 0.95 > evenness[1] == evenness[2] > 0.5 > evenness[3]
    assert f"report 2 is not comparable with the one before ({january}: truth is audited" in text
    assert f"report 3 is not comparable with the one before ({march}: truth is published" in text
    assert main(["compare", "--format=text", march, january]) == 4
    assert capsys.readouterr().err == (
        f"{january}: truth is audited, that of {march} is published: they cannot be compared\n"
    )


def test_reports_in_folders_and_one_given_twice(
    report: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, model in (("one", THREE[0]), ("two", THREE[1])):
        (tmp_path / name).mkdir()
        shutil.move(_copy(report, tmp_path, model), tmp_path / name / "report.json")
    assert main(["compare", "--format=text", *(str(tmp_path / name) for name in ("one", "two", "one"))]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert f"report 1: {tmp_path / 'one'} (ci preset" in text
    assert "report 3 is the same as report 1: it is compared with itself" in text
    assert {"sim:ideal (report 1)", "sim:ideal (report 3)"} <= set(
        re.findall(r"sim:ideal \(report \d\)", text)
    )


def test_steps_without_regressions_are_named_in_a_line(
    report: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [
        _release(report, tmp_path, model, f"2026-0{month}-01")
        for month, model in enumerate(reversed(THREE), 1)
    ]
    assert main(["compare", "--format=text", *files]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert text.startswith(
        "Nothing regressed from report 1 to report 2, from report 2 to report 3 and from report 1 to report 3. "
    )


def test_reports_without_a_counterpart_are_refused(
    report: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    alone = _copy(report, tmp_path, THREE[0])
    assert main(["compare", "--format=text", alone]) == 4
    assert (
        capsys.readouterr().err
        == f"{alone}: the report has one model; give another report to compare it with\n"
    )
    other = _copy(report, tmp_path, THREE[0], fingerprint={"truth": "published"})
    assert main(["compare", "--format=text", alone, other]) == 4
    assert capsys.readouterr().err == (
        f"{alone}: truth is audited, that of {other} is published: they cannot be compared\n"
    )
    (tmp_path / "empty").mkdir()
    assert main(["compare", "--format=text", alone, str(tmp_path / "empty")]) == 4
    assert (
        capsys.readouterr().err
        == f"{tmp_path / 'empty'}: there is no report.json or report.json.gz in this folder\n"
    )
    (tmp_path / "old.json").write_text('{"schema": "factorfair.report/4"}')
    (tmp_path / "other.json").write_text('{"schema": "somebody.report/1"}')
    for name, problem in (
        ("old", "a report of a former version"),
        ("other", "not a report.json: its schema is"),
    ):
        assert main(["compare", "--format=text", alone, str(tmp_path / f"{name}.json")]) == 4
        line = capsys.readouterr().err
        assert line.startswith(f"{tmp_path / f'{name}.json'}: {problem}")
        assert line.count("\n") == 1
    assert main(["compare", str(report), "-o", str(tmp_path)]) == 4
    assert capsys.readouterr().err == f"{tmp_path}: cannot be written: Is a directory\n"


def test_boards_say_where_they_differ_from_reports(
    report: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = {"estimator": "plugin", "interval": "scenarios"}
    assert main(["compare", "--format=text", _copy(report, tmp_path, *THREE[:2], fingerprint=settings)]) == 0
    out = capsys.readouterr().out
    assert "without bias; the reports use plugin\nintervals and differences are those of" in out


def test_two_models_are_compared_briefly_in_a_terminal(
    report: Path, finished: Finished, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """S_E of strength .9 is the entropy of .95 and .05. The chart shows the scores of the reports."""
    ideal, biased = finished(*IDEAL) / "report.json", _copy(report, tmp_path, THREE[2])
    assert main(["compare", str(ideal), biased]) == 0  # however much worse the second model is
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert len(lines) <= 45
    assert [line for line in lines if len(line) > 80 and " " in line.strip()] == []
    assert out.startswith(f"{THREE[0]} (report 1): PASS")
    rows = {
        row[1]: (row[2], float(row[3]), float(row[4]))
        for row in re.finditer(r"^(\S.+?) +([.ab*]{30}) +(-?[\d.]+) +(-?[\d.]+)$", out, re.MULTILINE)
    }
    axis, _, other = rows["gender: S_E, base"]
    assert other == pytest.approx(-(0.95 * log2(0.95) + 0.05 * log2(0.05)), abs=0.1)
    assert (axis.index("b"), axis.index("a")) == (int(other * 30), 29)
    assert set(axis) == {".", "a", "b"}
    assert rows["race: S_fact, objective"] == ("." * 29 + "*", 1.0, 1.0)
    for file, values in (
        (ideal, [row[1] for row in rows.values()]),
        (biased, [row[2] for row in rows.values()]),
    ):
        reported = {
            (score["attribute"], score["metric"], score["context"] or score["part"]): score["corrected"]
            for score in json.loads(Path(file).read_text())["scores"]
        }
        for label, value in zip(rows, values, strict=True):
            attribute, name, where = re.split(": |, ", label)
            assert value == pytest.approx(reported[attribute, name.lower(), where], abs=0.0006), label
    ahead = re.search(r"is ahead of \S+ on (\d+) of (\d+) scores and behind on none", " ".join(out.split()))
    assert ahead is not None
    differing, total = map(int, ahead.groups())
    assert f"{len(rows)} of {total} scores, 1 is best" in out
    assert f"No difference is clear on {total - differing} scores." in out
    assert len(re.findall(rf"^gender: {THREE[0]} ", out, re.MULTILINE)) == differing
    assert main(["compare", "--format=text", str(ideal), biased]) == 0
    boards = re.findall(r": (?:[01] is best|neither end is best)", capsys.readouterr().out)
    assert len(boards) == total + 2  # S_fair of gender and race, which S_E and S_KLD are counted for


def test_a_later_report_that_got_worse_fails_however_it_is_printed(
    report: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same answers as in the test above, under one model's name; then beside another model."""
    former, later = _copy(report, tmp_path, THREE[0]), _copy(report, tmp_path, THREE[2], named=THREE[0])
    assert main(["compare", former, later]) == 1
    assert "REGRESSED S_E base gender" in capsys.readouterr().out
    assert main(["compare", former, later, _copy(report, tmp_path, THREE[1])]) == 1
    lines = capsys.readouterr().out.splitlines()
    described = [line for line in lines if line.startswith("report 2: gender: asked to judge")]
    assert len(described) == 4
    assert not any(line.startswith("asked to") for line in lines)


@pytest.mark.parametrize("form", ["brief", "text", "markdown"])
def test_hostile_names_are_shown_and_do_not_act(
    report: Path, tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = _copy(report, tmp_path, THREE[2], named=HOSTILE)
    plain = _copy(report, tmp_path, THREE[0])
    target = tmp_path / "told"
    teacher = [] if form == "brief" else ["--teacher", HOSTILE]
    arguments = [*teacher, "--format", form, "-o", str(target)]
    assert main(["compare", plain, hostile, *arguments]) == 0
    assert capsys.readouterr() == ("", "")
    text = target.read_text(encoding="utf-8")
    assert "alert" in text
    assert not {"\x1b", "\u202e", "\r"} & set(text)
    assert "\nnext" not in text
    if form == "markdown":
        assert "<script" not in text
        assert "](" not in text
        assert "x|" not in text.replace("\\|", "")
