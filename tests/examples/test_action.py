"""The GitHub Action and the GitLab template, step by step on a repository, as their services would run them."""

from __future__ import annotations

import itertools
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.examples.jobs import ROOT, Job, programs, shell
from tests.project import DATA
from tests.servers import StubServer

pytestmark = pytest.mark.skipif(shutil.which("jq") is None, reason="the stand-in for gh needs jq")

_RUNS = itertools.count(1)
OWN, FORK = "owner/repository", "stranger/repository"
SMALL = "--factorfair-samples=24,objective=4\n"
PLUGIN = {"FACTORFAIR_ESTIMATOR": "plugin"}
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
KEYED = "--factorfair-model-arg=api_key_env=LAB_API_KEY\n"


def event(name: str = "pull_request", head: str = OWN) -> dict[str, Any]:
    pull = (
        {"pull_request": {"number": 7, "head": {"repo": {"full_name": head}}}}
        if name == "pull_request"
        else {}
    )
    return {"event_name": name, "event": pull, "repository": OWN, "actor": "somebody", "run_id": next(_RUNS),
            "run_attempt": 1, "token": "t"}  # fmt: skip


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """What outlives a job: cache, artefacts, comments."""
    folder = tmp_path / "outside"
    folder.mkdir()
    return folder


def job(
    outside: Path,
    inputs: dict[str, str],
    github: dict[str, Any] | None = None,
    env: dict[str, str] | None = None,
) -> Job:
    """A job in a fresh checkout."""
    plain = {"model": "sim:ideal", "checklist": "small.yaml", "args": SMALL}
    return Job(
        checked_out(outside), outside, {**plain, **inputs}, github or event(), PLUGIN | (env or {})
    ).run()


def checked_out(outside: Path) -> Path:
    """A fresh checkout of a repository with the small checklist."""
    checkout = outside.parent / f"checkout-{len(list(outside.parent.iterdir()))}"
    checkout.mkdir()
    shutil.copy(DATA / "small.yaml", checkout)
    (checkout / "pytest.ini").write_text("[pytest]\n")
    return checkout


KEPT = "s_fact[objective,gender] >= 0.9"
BROKEN = "s_fact[objective,gender] >= 0.9; s_e[base,gender] >= 0.99"


def test_pass_then_fail_and_one_comment_is_updated_in_place(outside: Path) -> None:
    """The comments of others stay as they are, those that quote or forge the action's marker included."""
    marker = "<!-- pytest-factorfair factorfair -->"
    unrelated = [
        {"id": 1, "user": {"type": "User"}, "body": f"{marker}\nforged"},
        {"id": 2, "user": {"type": "Bot"}, "body": f"quoting {marker}"},
        {"id": 3, "user": {"type": "Bot"}, "body": "<!-- pytest-factorfair other -->\n"},
    ]
    (outside / "comments.json").write_text(json.dumps(unrelated))
    passed = job(outside, {"gate": KEPT})
    assert not passed.failed, passed.log
    assert passed.outputs == {"verdict": "PASS: 1 gate passed", "report": "./.factorfair/report"}
    assert {path.name for path in (outside / "artefacts/factorfair").iterdir()} >= {
        "report.json",
        "report.md",
        "junit.xml",
    }
    assert (outside / "pip.log").read_text() == f"install --quiet {ROOT}[xdist]\n"
    *before, comment = passed.comments
    assert before == unrelated
    assert comment["body"].startswith(f"{marker}\n\n## factorfair: `sim:ideal`\n")

    failed = job(outside, {"gate": BROKEN, "model": "sim:stereotyped"})
    assert failed.failed
    assert failed.steps["run"]["code"] == 1
    assert failed.outputs["verdict"] == "FAIL: 1 of 2 gates failed"
    *after, updated = failed.comments
    assert after == unrelated
    assert updated["id"] == comment["id"]
    assert "`sim:stereotyped`" in updated["body"]
    assert "**FAIL: 1 of 2 gates failed**" in updated["body"]
    assert "\n::error title=factorfair%3A s_e[base%2Cgender] >= 0.99::" in failed.log
    assert (outside / "artefacts/factorfair/report.json").exists()
    assert failed.kept.exists()
    assert "FAIL: 1 of 2" in (outside / "summary.md").read_text()


@pytest.mark.parametrize("model", ["", " "])
def test_an_empty_model_is_refused_before_anything_runs(outside: Path, model: str) -> None:
    refused = job(outside, {"model": model})
    assert refused.failed
    assert refused.log.startswith("::error title=factorfair::The input 'model' is empty: ")
    assert "Run pytest" not in refused.ran
    assert not (outside / "artefacts").exists()


def test_an_undecided_release_fails_unless_that_is_accepted(outside: Path) -> None:
    arguments = "--factorfair-samples=72,objective=4"
    gates = "s_e[base,gender] >= 0.9999"
    corrected = {"FACTORFAIR_ESTIMATOR": "corrected"}
    done = job(outside, {"gate": gates, "args": arguments}, env=corrected)
    assert done.failed
    assert done.outputs["verdict"] == "UNDECIDED: 0 of 1 gate passed, 1 inconclusive"
    assert "\n::error title=factorfair%3A UNDECIDED::" in done.log
    accepting = corrected | {"FACTORFAIR_UNDECIDED": "warn"}
    accepted = job(outside, {"gate": gates, "args": arguments}, env=accepting)
    assert not accepted.failed, accepted.log
    assert "\n::warning title=factorfair%3A s_e" in accepted.log
    assert " 0 to ask" in accepted.log  # the answers came from the cache


def test_a_cache_is_of_one_job_and_model(outside: Path) -> None:
    """The latest with the same settings, or else with others; never one of a job with a longer name."""

    def in_the_store(**inputs: str) -> int:
        match = re.search(r"([\d,]+) in the store, ", job(outside, inputs).log)
        assert match is not None
        return int(match[1])

    larger = SMALL.replace("24", "48")
    assert in_the_store() == 0
    assert in_the_store(args=larger) == 6 * 4 + 4 * 2 * 24
    assert in_the_store(model="sim:uniform", name="factorfair-uniform") == 0
    assert in_the_store(model="sim:uniform") == 0
    assert in_the_store(name="factorfair-uniform") == 0
    assert in_the_store() == 6 * 4 + 4 * 2 * 24
    assert in_the_store(args=larger) == 6 * 4 + 4 * 2 * 48


def keyed(
    outside: Path,
    stub: StubServer,
    github: dict[str, Any],
    *,
    key: str = "",
    inputs: dict[str, str] | None = None,
) -> Job:
    """A job on a model behind a key; where secrets are withheld the variable is there, and empty."""
    env = {"OPENAI_BASE_URL": stub.base_url, "LAB_API_KEY": key}
    plain = {"model": "openai/m", "args": SMALL + KEYED, "gate": "refusal_rate <= 0.05"}
    return job(outside, plain | (inputs or {}), github, env)


def test_a_fork_without_keys_replays_what_the_default_branch_has_cached(
    outside: Path, stub: StubServer
) -> None:
    """A fork that asks something new is not green."""
    pushed = keyed(outside, stub, event("push"), key="k")
    assert not pushed.failed, pushed.log
    assert pushed.comments == []
    asked, cached = stub.stats()["requests"], pushed.kept.read_bytes()
    assert asked == 14 * 24 - 6 * 20
    done = keyed(outside, stub, event(head=FORK))
    assert not done.failed, done.log
    assert "Nothing is asked: all answers come from the store." in done.log
    assert done.outputs["verdict"] == pushed.outputs["verdict"]
    assert done.outputs["verdict"].startswith("PASS: ")
    assert stub.stats()["requests"] == asked
    assert "may not be commented on" in done.log
    assert not (outside / "gh.log").exists()
    assert done.kept.read_bytes() == cached
    assert "Keep the store" not in done.ran
    new = keyed(outside, stub, event(head=FORK), inputs={"gate": "s_e >= 0.5", "args": KEYED})
    assert new.failed
    assert new.steps["run"]["code"] == 1
    assert stub.stats()["requests"] == asked


def test_a_fork_with_nothing_to_replay_is_not_green(outside: Path, stub: StubServer) -> None:
    done = keyed(outside, stub, event(head=FORK))
    assert done.failed
    assert "::error title=factorfair::There are no stored answers. Run once" in done.log
    assert "Run pytest" not in done.ran
    assert done.comments == []
    assert stub.stats()["requests"] == 0


@pytest.mark.parametrize(
    ("actor", "reuse", "key", "only"),
    [("dependabot[bot]", "", "", True), ("somebody", "", "", False), ("somebody", "only", "k", True),
     ("dependabot[bot]", "", "k", False), ("dependabot[bot]", "30d", "", False)],
)  # fmt: skip
def test_who_takes_only_stored_answers(
    outside: Path, stub: StubServer, actor: str, reuse: str, key: str, *, only: bool
) -> None:
    """On a branch of one's own a missing key is an error, not a reason to ask nothing."""
    done = keyed(outside, stub, {**event(), "actor": actor}, key=key, inputs={"reuse": reuse})
    assert done.steps["mode"]["outputs"] == {"only": str(only).lower()}
    assert done.failed is (only or not key)
    if not only and not key:
        assert "no key: set the environment variable LAB_API_KEY" in done.log
        assert done.steps["run"]["code"] == 4


def test_a_comment_that_is_refused_is_a_warning(outside: Path) -> None:
    (outside / "gh.refuses").touch()
    done = job(outside, {"gate": KEPT})
    assert not done.failed
    assert "::warning title=factorfair::No comment on the pull request" in done.log


def test_an_old_report_is_not_published(outside: Path) -> None:
    checkout = checked_out(outside)
    (report := checkout / ".factorfair/report/report.md").parent.mkdir(parents=True)
    report.write_text("**PASS: 1 gate passed**\n")
    done = Job(checkout, outside, {"model": "sim:ideal", "checklist": "none.yaml"}, event()).run()
    assert done.failed
    assert done.outputs == {"verdict": "", "report": ""}


HOSTILE = """$(touch pwned) `touch pwned` "; touch pwned; " ' touch pwned ' && touch pwned\n| touch pwned ${{ x }}"""


@pytest.mark.parametrize(
    "names",
    [
        set(ACTION["inputs"]) - {"working-directory"},
        {"name", "install", "extras", "token"},  # with these the job gets as far as its comment
        {"gate", "args", "preset", "checklist", "baseline"},
    ],
    ids=["all", "publishing", "running"],
)
def test_inputs_are_never_shell(outside: Path, names: set[str]) -> None:
    done = job(outside, dict.fromkeys(sorted(names), HOSTILE))
    assert list(outside.parent.rglob("pwned*")) == [], done.log
    assert len(done.comments) == ("name" in names and "comment" not in names)


def test_expressions_stay_out_of_the_shell_and_actions_are_pinned() -> None:
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", "")
        assert step.get("shell", "bash") == "bash"
        assert "uses" not in step or re.fullmatch(r"actions/[\w/-]+@[0-9a-f]{40}", step["uses"])
        assert "GH_TOKEN" not in step.get("env", {}) or step["name"] == "Comment on the pull request"


GITLAB = yaml.safe_load((ROOT / "templates/gitlab.yml").read_text(encoding="utf-8"))[".factorfair"]


def gitlab(folder: Path, environment: dict[str, str], *, fork: bool = False) -> tuple[int, str]:
    """A job of the template; a fork's merge request has another source project."""
    shutil.copy(DATA / "small.yaml", folder)
    (folder / "pytest.ini").write_text(f"[pytest]\naddopts = {' '.join(SMALL.split())}\n")
    request = {"CI_MERGE_REQUEST_PROJECT_ID": "1", "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "2" if fork else "1"}
    plain = {"FACTORFAIR_CHECKLIST": "small.yaml", "FACTORFAIR_MODEL": "sim:ideal", "FACTORFAIR_GATE": KEPT}
    outside = folder.parent / "outside"
    done = shell("\n".join(GITLAB["script"]), folder,
                 {**programs(outside), **GITLAB["variables"], **request, **plain, **PLUGIN, **environment})  # fmt: skip
    return done.returncode, done.stdout


def test_gitlab_pass_and_fail(tmp_path: Path) -> None:
    folder = tmp_path / "checkout"
    folder.mkdir()
    code, log = gitlab(folder, {})
    assert code == 0, log
    assert "release: PASS" in log
    assert (tmp_path / "outside/pip.log").read_text() == f"install --quiet {GITLAB['variables']['INSTALL']}\n"
    report = folder / GITLAB["variables"]["REPORT"]
    assert (report / "junit.xml").exists()
    assert GITLAB["artifacts"]["reports"]["junit"] == "$REPORT/junit.xml"
    code, log = gitlab(folder, {"FACTORFAIR_MODEL": "sim:contrary"})
    assert code == 1
    assert "release: FAIL" in log


def test_gitlab_forks_replay(tmp_path: Path, stub: StubServer) -> None:
    folder = tmp_path / "checkout"
    folder.mkdir()
    model = {"FACTORFAIR_MODEL": "openai/m", "OPENAI_BASE_URL": stub.base_url, "FACTORFAIR_GATE": "refusal_rate <= 0.05",
             "FACTORFAIR_MODEL_ARG": "api_key_env=LAB_API_KEY"}  # fmt: skip
    code, log = gitlab(folder, model, fork=True)
    assert code == 1
    assert "There are no stored answers: commit" in log
    code, log = gitlab(folder, model)
    assert code == 4
    assert "no key: set the environment variable LAB_API_KEY" in log
    assert gitlab(folder, model | {"LAB_API_KEY": "k"})[0] == 0
    asked = stub.stats()["requests"]
    code, log = gitlab(folder, model, fork=True)
    assert code == 0, log
    assert stub.stats()["requests"] == asked
