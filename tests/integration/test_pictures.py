"""Runs with pictures that are killed, continued and replayed."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from pytest_factorfair import benchmarks
from pytest_factorfair.domain import Sampling
from pytest_factorfair.local import diffusers_model
from pytest_factorfair.store import Store
from tests import forkserver, keeping, tiny_pipeline
from tests.asking import ask, spec
from tests.extras import needs
from tests.pictures import drawn
from tests.project import PYTEST, Project
from tests.servers import StubServer

CASES, EACH = 4, 4  # crime_rate: two objective and two subjective ones


def command(model: list[str], *extra: str) -> list[str]:
    return [
        "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-k", "crime_rate", *model,
        "--factorfair-checklist=fact_or_fair_t2i", "--factorfair-detector=sim",
        f"--factorfair-samples=images={EACH}", *extra,
    ]  # fmt: skip


def run(project: Project, model: list[str], *extra: str) -> dict[str, Any]:
    """The report of a run that is left alone."""
    result = project.run_pytest(*command(model, *extra))
    result.assert_outcomes(failed=CASES, deselected=72)  # no picture shows a face
    return project.report()


def labels(report: dict[str, Any]) -> object:
    return report["topics"], report["scores"], report["cases"]


KEPT = 4
STALLING = f"""
from concurrent.futures import Future
from pytest_factorfair.store import Store

put, room = Store.put, {KEPT}

def stalling(store, *writes):
    global room
    whole, others = writes[:room], writes[room:]
    room -= len(whole)
    stored = put(store, *whole)
    if not others:
        return stored
    store.pictures.keep([write.picture for write in others])
    return Future()

Store.put = stalling
"""
"""A ``conftest.py`` with which a run stores a few responses, and stalls between the picture and the row of others."""


def killed_and_resumed(project: Project, model: list[str]) -> dict[str, Any]:
    """The report of the run that goes on."""
    stalling = project.write("conftest.py", STALLING)
    manifest = project.path / ".factorfair/images/manifest.jsonl"
    process = subprocess.Popen(
        [forkserver.python(), *PYTEST, *command(model)], cwd=project.path, stdout=subprocess.DEVNULL
    )
    while not manifest.exists() or manifest.read_bytes().count(b"\n") <= KEPT or project.stored() < KEPT:
        assert process.poll() is None
        time.sleep(0.05)
    forkserver.kill(process)
    stalling.unlink()
    with Store.open(f"sqlite:///{project.path}/.factorfair/responses.sqlite", read_only=True) as store:
        before = {line["key"]: line["file"] for line in keeping.manifest(Path(store.pictures.location))}
        stored = store.responses(map(str, before))
    assert len(stored) == KEPT < len(before)
    resumed = run(project, model)
    assert resumed["usage"]["cached"] == len(stored)
    assert resumed["usage"]["calls"] == CASES * EACH - len(stored)
    return resumed


def test_run_that_is_killed_goes_on(
    project: Project, stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    model = ["--factorfair-model=openai/gpt-image-1", f"--factorfair-model-arg=base_url={stub.base_url}"]
    resumed = killed_and_resumed(project, [*model, "--factorfair-max-connections=2"])
    replayed = run(project, model, "--factorfair-reuse=only")
    assert (replayed["usage"]["calls"], replayed["usage"]["cached"]) == (0, CASES * EACH)
    assert labels(replayed) == labels(resumed)


SIZE = ["--factorfair-model-arg=size=512x512"]
CENSUS = ["--factorfair-detector=sim?races=census"]  # the last one given counts


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--factorfair-preset=paper"], ("1024x1024", "published-code", "Crime Rate is Ratio")),
        (["--factorfair-preset=paper", *SIZE, *CENSUS], ("512x512", "census", "Crime Rate is Ratio")),
        ([], (None, "census", "Crime rate is the ratio")),
    ],
    ids=["paper", "given", "ci"],
)
def test_paper_preset_makes_and_reads_pictures_as_the_paper(
    project: Project,
    stub: StubServer,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    expected: tuple[str | None, str, str],
) -> None:
    size, races, prompt = expected
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    selection = ["--factorfair-checklist=fact_or_fair_t2i", "-k", "objective-crime_rate-highest"]
    sizes = ["--factorfair-samples=images=1", "--factorfair-detector=sim"]
    model = ["--factorfair-model=openai/gpt-image-1", f"--factorfair-model-arg=base_url={stub.base_url}"]
    result = project.pytester.runpytest(*model, *selection, *sizes, *options)
    result.assert_outcomes(passed=1, deselected=75)
    asked = stub.stats()["last"]
    assert asked.get("size") == size
    assert asked["prompt"].startswith(prompt)
    assert project.report()["fingerprint"]["detector"]["races"] == races


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Written and used before a test starts: pytester would forget torch, which a process can import only once."""
    folder = tiny_pipeline.write(tmp_path_factory.mktemp("pipeline"))
    ask(diffusers_model.build(spec(f"diffusers:{folder}", {"steps": "1"})), "a person")
    return folder


@pytest.mark.slow
@needs("diffusers")
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")  # of libraries
def test_pipeline_that_is_killed_goes_on(project: Project, pipeline: Path) -> None:
    options = ["--factorfair-model-arg=steps=4", "--factorfair-model-arg=batch=2"]
    killed_and_resumed(project, [f"--factorfair-model=diffusers:{pipeline}", *options])


@needs("images")
def test_a_folder_of_few_pictures_and_a_detector_of_one_attribute(project: Project) -> None:
    """The messages say how many pictures a verdict takes, and how to ask about the detector's attribute alone."""
    checklist = benchmarks.load("fact_or_fair_t2i", truth="audited", base=project.path)
    for case in benchmarks.cases(checklist, Sampling("balanced", samples=1, objective=1, seed=0)):
        (project.path / "made" / case.id).mkdir(parents=True)
        for name in ("1.png", "2.png", "3.png", "4.png"):
            (project.path / "made" / case.id / name).write_bytes(drawn(name))
    project.write("seen.py", "def genders(pixels): return [{'gender': 'Female'}]")
    project.write("narrow.yaml", "name: narrow\nextends: fact_or_fair_t2i\nonly: {attributes: [gender]}\n")
    detector = ["--factorfair-detector=python:seen:genders", "--factorfair-samples=images=4"]

    def run(*arguments: str) -> pytest.RunResult:
        return project.run_pytest("-p", "no:xdist", "--factorfair-model=images:made", *detector, *arguments)

    result = run("--factorfair-checklist=fact_or_fair_t2i", "--factorfair-gate=default")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    size = "*need more answers: --factorfair-samples=images=72, and a folder that has as many"
    result.stderr.fnmatch_lines(f"{size}; --factorfair-gate=none only reports")
    result = run("--factorfair-checklist=fact_or_fair_t2i", "--factorfair-gate=none", "-k", "homeownership")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    narrow = "narrow the checklist to what it perceives (only: {attributes: [[]gender[]]})"
    result.stderr.fnmatch_lines([f"*returned gender, and the checklist asks about race, too: *or {narrow}"])
    run("--factorfair-checklist=narrow.yaml", "--factorfair-gate=none").assert_outcomes(passed=60)
    assert {score["attribute"] for score in project.report()["scores"]} == {"gender"}
    plan = run(
        "--factorfair-checklist=narrow.yaml", "--factorfair-gate=none", "--factorfair-reuse=none",
        "--factorfair-plan", "--factorfair-model-arg=price=1",
    )  # fmt: skip
    plan.stdout.fnmatch_lines(["cost: about $0.00"])  # the price is of pictures that are made, these exist


OWN_DETECTORS = {
    "lacks race": ("def own(pixels): return [{'gender': 'Male'}]", "*returned gender, and the checklist asks about race*"),
    "no faces": ("def own(pixels): return ['Male']", "*python:seen:own' returned [[]'Male'[]], expected each face's groups, as *"),
    "no tuple": ("class own:\n    identity = {}\n    def check(self, attributes): pass\n    def read(self, pictures, attributes): return None\n", "*the detector fails: TypeError: *NoneType*"),
    "no detection": ("class own:\n    identity = {}\n    def check(self, attributes): pass\n    def read(self, pictures, attributes): return ['Male']\n", "*the detector returned str, expected a Detection*"),
}  # fmt: skip


@needs("images")
@pytest.mark.parametrize(
    ("case", "workers"), [*((case, "-n0") for case in OWN_DETECTORS), ("lacks race", "-n2")]
)
def test_an_own_detector_is_refused_after_one_picture(
    project: Project, stub: StubServer, monkeypatch: pytest.MonkeyPatch, case: str, workers: str
) -> None:
    """And that one is stored: the run with another detector asks only for the others."""
    code, message = OWN_DETECTORS[case]
    project.write("seen.py", code)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    arguments = [
        "-p", "no:cacheprovider", workers, "-k", "crime_rate", "--factorfair-model=openai/gpt-image-1",
        f"--factorfair-model-arg=base_url={stub.base_url}", "--factorfair-checklist=fact_or_fair_t2i",
        f"--factorfair-samples=images={EACH}",
    ]  # fmt: skip
    for _ in range(2):
        result = project.run_pytest(*arguments, "--factorfair-detector=python:seen:own")
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([f"ERROR: {message}"])
        assert stub.stats()["requests"] == 1
    project.run_pytest(*arguments, "--factorfair-detector=sim").assert_outcomes(failed=CASES)
    assert stub.stats()["requests"] == CASES * EACH
