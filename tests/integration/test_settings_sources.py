"""Command line over environment over pyproject over defaults."""

from __future__ import annotations

import re
from urllib.parse import unquote

import pytest

from pytest_factorfair.commands.cli import main
from tests.project import FEW_PORTRAITS, Project

PYPROJECT = """
[tool.pytest.ini_options]

[tool.factorfair]
checklist = ["small.yaml"]
samples = "24,objective=24"
seed = 5
gate = ["s_fact[objective,gender] >= 0.5"]
model_arg = {temperature = 0}
"""


def seed(project: Project, *arguments: str) -> int:
    project.run_pytest("-p", "no:xdist", "--factorfair-model=sim:uniform", *arguments)
    value: int = project.report()["fingerprint"]["seed"]
    return value


def test_pyproject_is_read(project: Project) -> None:
    project.write("pyproject.toml", PYPROJECT.replace("model_arg = {temperature = 0}", ""))
    assert seed(project) == 5
    assert list(project.report()["fingerprint"]["checklists"]) == ["small"]


def test_a_repeatable_setting_may_be_a_single_text(project: Project) -> None:
    settings = 'gate = "s_fact >= 0.01; s_e >= 0.01"\nchecklist = "small.yaml"\nmodel_arg = "strength=0.3"'
    project.write("pyproject.toml", f"[tool.pytest.ini_options]\n[tool.factorfair]\n{settings}\n")
    project.run_pytest("-p", "no:xdist", "--factorfair-model=sim:stereotyped")
    fingerprint = project.report()["fingerprint"]
    assert list(fingerprint["checklists"]) == ["small"]
    assert {gate["expression"] for gate in project.report()["gates"]} == {"s_fact >= 0.01", "s_e >= 0.01"}


def test_the_environment_takes_precedence_over_pyproject(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write("pyproject.toml", PYPROJECT.replace("model_arg = {temperature = 0}", ""))
    monkeypatch.setenv("FACTORFAIR_SEED", "6")
    assert seed(project) == 6


def test_the_command_line_takes_precedence_over_both(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write("pyproject.toml", PYPROJECT.replace("model_arg = {temperature = 0}", ""))
    monkeypatch.setenv("FACTORFAIR_SEED", "6")
    assert seed(project, "--factorfair-seed=7") == 7


def test_the_environment_alone_starts_a_run(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FACTORFAIR_MODEL", "sim:uniform;sim:oracle")
    monkeypatch.setenv("FACTORFAIR_GATE", "s_fact[objective,gender] >= 0.5;refusal_rate <= 0.05")
    result = project.run("-p", "no:xdist", model=None)
    assert result.ret in (0, 1)
    assert list(project.report()["fingerprint"]["models"]) == ["sim:uniform", "sim:oracle"]


def test_workers_take_the_controllers_settings(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FACTORFAIR_SEED", "6")
    project.run("-n2", "--factorfair-report=out")
    text = (project.path / "out" / "report.json").read_text()
    assert '"seed": 6' in text


def test_presets_set_sizes_design_and_estimator(project: Project) -> None:
    for preset, design, truth, samples, objective in (
        ("smoke", "balanced", "audited", 24, 4),
        ("ci", "balanced", "audited", 72, 24),
    ):
        project.run_pytest(
            "-p", "no:xdist", "--factorfair-model=sim:uniform", "--factorfair-checklist=small.yaml",
            f"--factorfair-preset={preset}",
        )  # fmt: skip
        fingerprint = project.report()["fingerprint"]
        assert (fingerprint["design"], fingerprint["truth"]) == (design, truth)
        assert (fingerprint["samples"], fingerprint["objective"]) == (samples, objective)


def test_the_paper_preset_needs_the_published_truth(project: Project) -> None:
    result = project.run_pytest(
        "--factorfair-model=sim:uniform", "--factorfair-checklist=small.yaml", "--factorfair-preset=paper"
    )
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: *'published'*audited*"])


@pytest.mark.parametrize(("preset", "checklist"), [("tiny", "small_tiny"), ("smoke", "small")])
def test_small_presets_only_report(project: Project, preset: str, checklist: str) -> None:
    project.run_pytest(
        "-p", "no:xdist", "--factorfair-model=sim:uniform", "--factorfair-checklist=small.yaml",
        f"--factorfair-preset={preset}",
    )  # fmt: skip
    report = project.report()
    assert report["incomplete"] == f"the {preset} preset is too small to judge, it only reports"
    assert list(report["fingerprint"]["checklists"]) == [checklist]


STORES = {
    "sqlite:///kept.sqlite": "kept.sqlite",
    "kept.sqlite": "kept.sqlite",
    "kept.db": "kept.db",
    "kept": "kept/responses.sqlite",
    "p%41/kept.sqlite": "p%41/kept.sqlite",
    "sqlite:///p%41/kept.sqlite": "p%41/kept.sqlite",
}
"""Stores as a user names them, and their files."""


@pytest.mark.parametrize("source", ["command line", "environment"])
def test_a_store_is_a_path_or_a_url(project: Project, monkeypatch: pytest.MonkeyPatch, source: str) -> None:
    (project.path / "p%41").mkdir()
    for store, file in STORES.items():
        arguments: tuple[str, ...] = (f"--factorfair-store={store}",)
        if source == "environment":
            monkeypatch.setenv("FACTORFAIR_STORE", store)
            arguments = ()
        path = project.path / file
        path.unlink(missing_ok=True)
        result = project.run("-p", "no:xdist", "-k", "objective-tea_rate-gender-highest", *arguments)
        assert (result.ret, path.is_file()) == (0, True), store
    assert not (project.path / "pA").exists()
    assert not (project.path / ".factorfair" / "responses.sqlite").exists()
    for store in STORES:
        assert main(["store", "verify", store]) == 0


def test_percent_signs_in_folders_are_literal(project: Project) -> None:
    """The reports and pictures, and what they link to."""
    pytest.importorskip("onnxruntime", reason="simulated pictures are read by a network")
    result = project.run_pytest(
        "-p", "no:xdist", "--factorfair-model=sim:ideal", f"--factorfair-checklist={FEW_PORTRAITS}",
        "--factorfair-preset=smoke", "--factorfair-samples=images=1", "--factorfair-store=s%41",
        "--factorfair-report=r%41", "--factorfair-pictures=i%41",
    )  # fmt: skip
    assert result.ret == 0
    assert {path.name for path in project.path.iterdir() if path.name[1:2] == "%"} == {"s%41", "r%41", "i%41"}
    assert not [path for path in project.path.rglob("*") if path.name in ("sA", "rA", "iA")]
    text = (project.path / "r%41/report.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert links
    assert all((project.path / "r%41" / unquote(link)).is_file() for link in links)


@pytest.mark.parametrize("store", ["sqlite:///kept.sqlite", "kept.sqlite"])
def test_paths_in_pyproject_are_relative_to_it(
    project: Project, monkeypatch: pytest.MonkeyPatch, store: str
) -> None:
    project.write(
        "pyproject.toml",
        "[tool.pytest.ini_options]\n[tool.factorfair]\nchecklist = ['small.yaml']\nsamples = 24\n"
        f"store = '{store}'\nreport = 'out'\n",
    )
    (project.path / "sub").mkdir()
    monkeypatch.chdir(project.path / "sub")
    result = project.run_pytest("-p", "no:xdist", "--factorfair-model=sim:uniform")
    assert result.ret == 0
    assert (project.path / "kept.sqlite").exists()
    assert (project.path / "out/report.json").exists()
    assert not list((project.path / "sub").iterdir())
