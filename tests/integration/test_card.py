"""Model cards made from reports, offline, for people and for machines."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import shutil
import sys
import threading
from base64 import b64decode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from pyld import jsonld  # type: ignore[import-untyped]  # it has no annotations

from pytest_factorfair.benchmarks import load, sources
from pytest_factorfair.commands.cli import main
from pytest_factorfair.drawing.statements import ETHICS
from tests.finished import BOUNDED, Finished
from tests.project import PLUGIN, WITHOUT_OTHERS, Project, comparable

HOSTILE = "x`|<img src=x onerror=alert(1)>[a](b)\u202e\x1b[2J\n```\n# next"
SCHEMA = "https://schema.org/"


@pytest.fixture
def report(project: Project, finished: Finished) -> Path:
    """The report of two models with a gate that one of them misses."""
    models = ("--factorfair-model=sim:stereotyped?strength=0.9", "--factorfair-model=sim:ideal")
    shutil.copytree(
        finished(*models, *BOUNDED, "--factorfair-gate=s_e[base,gender] >= 0.9"), project.report_path.parent
    )
    return project.report_path


def _card(report: Path, folder: Path, *arguments: str) -> tuple[str, dict[str, Any]]:
    assert main(["card", str(report), "-o", str(folder), *arguments]) == 0
    text = (folder / "model_card.jsonld").read_text(encoding="utf-8")
    return (folder / "MODEL_CARD.md").read_text(encoding="utf-8"), json.loads(text)


def test_a_card_is_written_to_the_file_that_is_named(report: Path, tmp_path: Path) -> None:
    file = tmp_path / "cards" / "ideal.md"
    assert main(["card", str(report), "--model", "sim:ideal", "-o", str(file)]) == 0
    assert sorted(path.name for path in file.parent.iterdir()) == ["ideal.jsonld", "ideal.md"]
    assert file.read_text(encoding="utf-8").startswith("## Factuality and fairness of `sim:ideal`")


def test_a_card_of_one_of_two_models(report: Path, tmp_path: Path) -> None:
    text, data = _card(report, tmp_path / "new", "--model", "sim:stereotyped?strength=0.9")
    rows = {(score["attribute"], score["part"], score["context"], score["metric"]): score
            for score in json.loads(report.read_text())["scores"] if score["model"].startswith("sim:stereo")}  # fmt: skip
    score = rows["gender", "subjective", "base", "s_e"]
    assert (
        f"| S\\_E, base | {score['corrected']:.3f} | {score['low']:.3f} to {score['high']:.3f} | 144 |"
        in text
    )
    assert "S\\_E, objective" not in text
    verdict = text.index("**FAIL: 1 of 1 gate failed**")
    assert verdict < text.index("### Scores") < text.index("| gender | ") < text.index("<summary>All scores")
    digest = json.loads(report.read_text())["fingerprint"]["checklists"]["small"]
    answers = sum(len(case["answers"]) for case in json.loads(report.read_text())["cases"]
                  if case["model"].startswith("sim:stereo"))  # fmt: skip
    for part in (f"{answers} answers, 0 refused, 0 unparsed, 0 errors", digest, "truth: audited", "preset: ci",
                 "checklist's own file", ETHICS.split(";")[0], "--factorfair-samples=72,objective=24"):  # fmt: skip
        assert part in text, part
    assert "sim:ideal" not in text
    (review,) = data["review"]
    assert (review["reviewRating"]["ratingValue"], review["name"]) == (
        "failed",
        "s_e[base,gender] >= 0.9",
    )
    (measured,) = (
        variable for variable in data["variableMeasured"] if variable["name"] == "small, gender: S_E, base"
    )
    assert (measured["value"], measured["minValue"], measured["maxValue"]) == (
        score["corrected"], score["low"], score["high"],
    )  # fmt: skip


@pytest.mark.parametrize("preset", ["tiny", "ci"])
def test_the_command_of_a_card_repeats_the_run(project: Project, tmp_path: Path, preset: str) -> None:
    project.run(f"--factorfair-preset={preset}")
    first = project.report()
    text, _ = _card(project.report_path, tmp_path)
    block = re.search(r"```console\n\$ (.+)\n```", text)
    assert block is not None
    command = shlex.split(block[1])
    python = command.index("pytest")
    project.report_path.unlink()
    project.run_pytest(*command[:python], PLUGIN, *WITHOUT_OTHERS, *command[python + 1 :])
    assert comparable(project.report()) == comparable(first)


def test_the_json_ld_expands_without_a_network(report: Path, tmp_path: Path) -> None:
    _, data = _card(report, tmp_path, "--model", "sim:ideal")

    def refuse(url: str, _options: object) -> None:
        raise AssertionError(url)

    (node,) = jsonld.expand(data, {"documentLoader": refuse})
    assert node["@type"] == [f"{SCHEMA}Dataset"]
    (about,) = node[f"{SCHEMA}about"]
    assert about[f"{SCHEMA}name"] == [{"@value": "sim:ideal"}]
    variables = node[f"{SCHEMA}variableMeasured"]
    assert len(variables) == len(data["variableMeasured"]) > 10
    assert {variable["@type"][0] for variable in variables} == {f"{SCHEMA}PropertyValue"}
    (review,) = node[f"{SCHEMA}review"]
    assert review[f"{SCHEMA}itemReviewed"] == [{"@id": about["@id"]}]


def test_an_unfinished_measurement_says_so_first(report: Path, tmp_path: Path) -> None:
    changed = json.loads(report.read_text()) | {"incomplete": "3 cases are missing"}
    report.write_text(json.dumps(changed))
    text, data = _card(report, tmp_path, "--model", "sim:ideal")
    assert text.split("\n\n")[1] == "> **Not a finished measurement:** 3 cases are missing."
    assert data["creativeWorkStatus"] == "Incomplete: 3 cases are missing"


def test_hostile_names_are_shown_and_do_not_act(report: Path, tmp_path: Path) -> None:
    text = report.read_text().replace(json.dumps("sim:ideal"), json.dumps(HOSTILE))
    report.write_text(text)
    card, data = _card(report, tmp_path, "--model", HOSTILE)
    assert not {"\x1b", "\u202e"} & set(card + json.dumps(data, ensure_ascii=False))
    assert "\n# next" not in card
    assert card.count("```") == 2
    without_code = re.sub(r"```.*?```|`[^`]*`", "", card, flags=re.DOTALL)
    assert "<img" not in without_code
    assert "](" not in without_code


def test_wrong_input_is_one_line(report: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    problems = {
        (): "the report has 2 models; choose one with --model: sim:stereotyped?strength=0.9, sim:ideal",
        ("--model", "sim:idael"): "no model 'sim:idael' in this report; did you mean 'sim:ideal'?",
    }
    for arguments, problem in problems.items():
        assert main(["card", str(report), *arguments]) == 4
        assert capsys.readouterr().err == f"{report}: {problem}\n"
    (tmp_path / "file").write_text("")
    assert main(["card", str(report), "--model", "sim:ideal", "-o", str(tmp_path / "file")]) == 4
    assert capsys.readouterr().err.count("\n") == 1


def test_sources_are_those_of_the_very_checklist() -> None:
    shipped = load("fact_or_fair", truth="audited", base=Path())
    by_statistic = {source.statistic: source for source in sources("fact_or_fair", shipped.digest)}
    assert len(by_statistic) == 19
    assert by_statistic["HIV Rate"].agency.startswith("Centers for Disease Control and Prevention")
    assert by_statistic["HIV Rate"].year == "2022"
    assert sources("fact_or_fair", hashlib.sha256(b"another").hexdigest()) == ()
    assert sources("small", shipped.digest) == ()
    assert sources("faintbench", load("faintbench", truth="audited", base=Path()).digest) == ()


def test_a_card_for_the_hub(report: Path, tmp_path: Path) -> None:
    """The hub's own library reads the front matter back: every score of the card, with its interval."""
    hub = pytest.importorskip("huggingface_hub", reason="needs the extra hub")
    model = "sim:stereotyped?strength=0.9"
    text, data = _card(report, tmp_path, "--model", model, "--hub", "team/model: 7B")
    card = hub.ModelCard(text)
    assert card.data.model_name == "team/model: 7B"
    assert card.text.startswith("\n## Factuality and fairness of")
    results = {(result.dataset_config, result.metric_type): result for result in card.data.eval_results or ()}
    assert len(results) == len(data["variableMeasured"])
    (score,) = (
        score
        for score in json.loads(report.read_text())["scores"]
        if (score["model"], score["metric"], score["context"], score["attribute"])
        == (model, "s_e", "base", "gender")
    )
    result = results["base-gender", "s_e"]
    assert result.metric_value == pytest.approx(score["corrected"], abs=5e-5)
    assert result.metric_args == pytest.approx({"low": score["low"], "high": score["high"]}, abs=5e-5)
    assert result.task_type == "text-generation"


def test_the_hub_needs_its_library(
    report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    assert main(["card", str(report), "--model", "sim:ideal", "--hub", "m", "-o", str(tmp_path)]) == 4
    assert "pip install 'pytest-factorfair[hub]'" in capsys.readouterr().err
    assert not list(tmp_path.glob("MODEL_CARD*"))


THEIRS = """---
license: mit
model-index:
- name: Theirs
  results:
  - task: {type: text-generation}
    dataset: {type: squad, name: SQuAD}
    metrics: [{type: f1, value: 0.5}]
---
# Our model

## Factuality and fairness of `old`

A former card.

## Training

On books.
"""


class Hub(BaseHTTPRequestHandler):
    """The part of the Hub's interface that a pull request needs. The server keeps what it is sent."""

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self) -> None:
        status, code, readme = self.server.state  # type: ignore[attr-defined]  # set by the fixture
        if self.path != "/team/model/resolve/main/README.md":  # the library's own questions
            self.answer(404)
        elif status == 200:
            self.answer(200, readme, ETag=f'"{len(readme)}"', X_Repo_Commit="0" * 40)
        else:
            self.answer(status, X_Error_Code=code, X_Repo_Commit="0" * 40)

    do_HEAD = do_GET  # noqa: N815  # the name that the server looks for

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        url = urlsplit(self.path)
        model_url = f"http://{self.headers['Host']}/team/model"
        if url.path == "/api/models/team/model/commit/main":
            assert parse_qs(url.query)["create_pr"] == ["1"]
            assert self.headers["Authorization"] == "Bearer hf_of_the_test"
            self.server.commits.append([json.loads(line) for line in body.splitlines()])  # type: ignore[attr-defined]  # likewise
            commit = {"commitUrl": f"{model_url}/commit/{'1' * 40}", "commitOid": "1" * 40}
            self.answer(200, json.dumps(commit | {"pullRequestUrl": f"{model_url}/discussions/7"}).encode())
        elif "/preupload/" in url.path:
            told_of = {"path": "README.md", "uploadMode": "regular", "shouldIgnore": False}
            self.answer(200, json.dumps({"files": [told_of]}).encode())
        else:
            self.answer(200, b'{"errors": [], "warnings": []}')  # of the front matter

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    pytest.importorskip("huggingface_hub", reason="needs the extra hub")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.state, server.commits = (200, "", THEIRS.encode()), []  # type: ignore[attr-defined]  # for the handler
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("HF_TOKEN", "hf_of_the_test")
    yield server
    server.shutdown()
    server.server_close()


def _push(report: Path, folder: Path) -> int:
    return main(
        ["card", str(report), "--model", "sim:ideal", "--hub", "team/model", "--push", "-o", str(folder)]
    )


def test_a_pull_request(report: Path, tmp_path: Path, hub: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """What the model's owners wrote is kept; the card of a former run is replaced."""
    cards = []
    for state in ((200, "", THEIRS.encode()), (404, "EntryNotFound", b"")):
        hub.state = state
        assert _push(report, tmp_path) == 0
        assert capsys.readouterr().out.splitlines()[-1].endswith("/team/model/discussions/7")
        (file,) = (line["value"] for line in hub.commits.pop() if line["key"] == "file")
        assert file["path"] == "README.md"
        cards.append(import_module("huggingface_hub").ModelCard(b64decode(file["content"]).decode()))
    theirs, new = cards
    assert new.data.model_name == "team/model"
    assert (theirs.data.model_name, theirs.data.license) == ("Theirs", "mit")
    identifiers = [result.unique_identifier for result in new.data.eval_results]
    assert len(identifiers) > 20
    assert [
        result.dataset_type
        for result in theirs.data.eval_results
        if result.unique_identifier not in identifiers
    ] == ["squad"]
    assert len(theirs.data.eval_results) == len(identifiers) + 1
    for card in cards:
        assert card.text.count("## Factuality and fairness of `sim:ideal`") == 1
    assert "# Our model" in theirs.text
    assert "On books." in theirs.text
    assert "A former card." not in theirs.text


def test_a_hub_that_refuses(
    report: Path, tmp_path: Path, hub: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line, and the card is on disk."""
    refusals = {
        (403, ""): "the token is refused",
        (401, "RepoNotFound"): "there is no such model, or the token of HF_TOKEN",
        (400, ""): "400",
    }
    for (status, code), message in refusals.items():
        hub.state = (status, code, b"")
        assert _push(report, tmp_path) == 4
        error = capsys.readouterr().err
        assert error.startswith("the Hugging Face Hub, team/model: ")
        assert message in error
        assert error.count("\n") == 1
    assert (tmp_path / "MODEL_CARD.md").exists()
    assert not hub.commits


def test_a_push_needs_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["card", "report.json", "--push"]) == 4
    assert capsys.readouterr().err == "--push needs --hub NAME, the model whose card it is\n"
