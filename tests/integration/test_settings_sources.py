"""Command line over environment over pyproject over defaults."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from urllib.parse import unquote

import pytest

from pytest_factorfair.commands.cli import main
from pytest_factorfair.config.options import MODEL, OPTIONS, RunOption
from pytest_factorfair.config.settings import Settings, resolve
from pytest_factorfair.config.sources import OptionValue
from pytest_factorfair.errors import InputError
from pytest_factorfair.store import Store
from tests.project import FEW_PORTRAITS, Project

PYPROJECT = """
[tool.pytest.ini_options]

[tool.factorfair]
checklist = ["small.yaml"]
samples = "24,objective=4"
seed = 5
store = "kept.sqlite"
report = "out"
"""


def test_workers_ask_with_settings_of_all_sources(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths in pyproject.toml are relative to it."""
    project.write("pyproject.toml", PYPROJECT)
    (project.path / "sub").mkdir()
    monkeypatch.chdir(project.path / "sub")
    arguments = ("--factorfair-model=sim:uniform", "--factorfair-seed=7", "FACTORFAIR_SEED=6")
    assert project.run_pytest("-n2", *arguments).ret == 0
    fingerprint = json.loads((project.path / "out/report.json").read_text())["fingerprint"]
    assert (fingerprint["seed"], fingerprint["samples"]) == (7, 24)
    assert list(fingerprint["checklists"]) == ["small"]
    assert (project.path / "kept.sqlite").exists()
    assert not list((project.path / "sub").iterdir())


def resolved(
    root: Path, environment: Mapping[str, str] | None = None, *, here: Path | None = None, **typed: object
) -> Settings:
    given = {
        name: OptionValue(value, name, root) for name, value in {"model": ["sim:uniform"], **typed}.items()
    }
    return resolve(given, environment or {}, root=root, here=here or root)


def test_the_command_line_takes_precedence_over_the_environment_and_this_over_pyproject(
    tmp_path: Path,
) -> None:
    (tmp_path / "pyproject.toml").write_text(PYPROJECT)
    environment = {"FACTORFAIR_SEED": "6"}
    assert resolved(tmp_path).sampling.seed == 5
    assert resolved(tmp_path, environment).sampling.seed == 6
    assert resolved(tmp_path, environment, seed="7").sampling.seed == 7


def test_a_repeatable_setting_may_be_a_single_text(tmp_path: Path) -> None:
    table = 'gate = "s_fact >= 0.01; s_e >= 0.01"\nchecklist = "small.yaml"\nmodel_arg = "strength=0.3"'
    (tmp_path / "pyproject.toml").write_text(f"[tool.factorfair]\n{table}\n")
    settings = resolved(tmp_path)
    assert settings.gates == ("s_fact >= 0.01", "s_e >= 0.01")
    assert settings.checklists == (str(tmp_path / "small.yaml"),)
    assert settings.model_arguments == {"strength": "0.3"}


def test_the_environment_alone_starts_a_run(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FACTORFAIR_MODEL", "sim:uniform;sim:oracle")
    monkeypatch.setenv("FACTORFAIR_GATE", "s_fact[objective,gender] >= 0.5;refusal_rate <= 0.05")
    assert project.run("-p", "no:xdist", "-k", "tea_rate-gender", model=None).ret == 1
    assert list(project.report()["fingerprint"]["models"]) == ["sim:uniform", "sim:oracle"]


BLANK: tuple[tuple[str, object], ...] = (
    ("environment", " "),
    ("environment", "\n"),
    ("environment", "\u00a0\t"),
    ("typed", ""),
    ("typed", " "),
    ("typed", [" "]),
    ("table", ""),
    ("table", "\n"),
    ("table", []),
    ("table", {}),
    ("run()", ""),
    ("run()", []),
    ("run()", {}),
)


@pytest.mark.parametrize(("source", "blank"), BLANK)
def test_a_blank_value_is_an_error_whatever_the_option(tmp_path: Path, source: str, blank: object) -> None:
    """A blank gate in the environment would set the gates of pyproject.toml aside without a word."""
    for option in OPTIONS:
        typed: dict[str, OptionValue] = {"model": OptionValue(["sim:uniform"], "run(model)", tmp_path)}
        environment, table = {}, {option.key: blank} if source == "table" else {"gate": ["default"]}
        if source == "environment":
            environment[option.variable] = str(blank)
            typed.pop(option.name, None)
        elif source == "table" and option is MODEL:
            continue
        elif source != "table":
            typed[option.name] = OptionValue(blank, source, tmp_path)
        (tmp_path / "pyproject.toml").write_text(f"[tool.factorfair]\n{toml(table)}", encoding="utf-8")
        with pytest.raises(InputError) as caught:
            resolve(typed, environment, root=tmp_path, here=tmp_path)
        where = {"environment": option.variable, "table": f"[tool.factorfair] {option.key}"}.get(
            source, source
        )
        assert f"{where}: expected {option.form}, got nothing: {option.help}" in str(caught.value)


def toml(table: Mapping[str, object]) -> str:
    """A table whose values are texts, lists of texts and empty tables; JSON writes them alike."""
    return "".join(f"{key} = {json.dumps(value)}\n" for key, value in table.items())


@pytest.mark.parametrize("option", [option for option in OPTIONS if option.repeatable])
@pytest.mark.parametrize("blanks", [";", " ; ", ";\n;", "\n"])
def test_a_list_of_blanks_is_blank(tmp_path: Path, option: RunOption, blanks: str) -> None:
    expected = f"{option.variable}: expected {option.metavar}, got nothing: "
    with pytest.raises(InputError, match=re.escape(expected)):
        resolve({}, {option.variable: blanks}, root=tmp_path, here=tmp_path)


@pytest.mark.parametrize("value", ["default;", "default; ;refusal_rate <= 0.1", ["default", " "]])
def test_a_blank_gate_among_others_is_an_error(tmp_path: Path, value: object) -> None:
    """``default;$FURTHER`` would judge by fewer gates where the variable is unset."""
    with pytest.raises(InputError, match=r"gate: expected EXPR, got nothing in part 2 of [23]: "):
        resolved(tmp_path, gate=value)


def test_a_model_argument_without_a_value_is_an_error(tmp_path: Path) -> None:
    for arguments in ({"model-arg": ["base_url="]}, {"model-arg": {"base_url": " "}}):
        with pytest.raises(InputError, match="model-arg: expected KEY=VALUE, got "):
            resolved(tmp_path, **arguments)


def test_an_empty_variable_is_unset(tmp_path: Path) -> None:
    """CI systems set a variable to nothing if its source does not exist."""
    (tmp_path / "pyproject.toml").write_text(f"{PYPROJECT}gate = 'default'")
    empty = {option.variable: "" for option in OPTIONS}
    assert resolved(tmp_path, empty) == resolved(tmp_path)
    assert resolved(tmp_path).gates == ("default",)


@pytest.mark.parametrize(
    "name", ["tool.FactorFair", "tool.factor-fair", "tool.pytest-factorfair", "tool.pytest.factorfair", "factorfair"]
)  # fmt: skip
def test_a_table_with_another_name_is_an_error(tmp_path: Path, name: str) -> None:
    """Its gates would judge nothing."""
    (tmp_path / "pyproject.toml").write_text(f"[{name}]\ngate = 'default'\n")
    expected = f"there is no table [{name}]; did you mean [tool.factorfair]?"
    with pytest.raises(InputError, match=re.escape(expected)):
        resolved(tmp_path)


def test_tables_of_others_are_no_concern(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        "[tool.factory]\n[tool.fair]\n[factors]\n[tool.pytest]\nfair = 1\n"
    )
    assert resolved(tmp_path).gates == ()


@pytest.mark.parametrize("arguments", [("--rootdir=sub",), ("-c", "sub/other.ini"), ("sub",)])
def test_gates_of_the_current_folder_that_are_not_read_are_reported(
    project: Project, arguments: tuple[str, ...]
) -> None:
    """pytest has another root folder then."""
    (project.path / "sub").mkdir()
    for name in ("sub/other.ini", "sub/pytest.ini"):
        project.write(name, "[pytest]\n")
    project.write("sub/test_own.py", "def test_own(): pass\n")
    project.write("pyproject.toml", "[tool.factorfair]\npreset = 'smoke'\n")
    options = (
        "-p",
        "no:xdist",
        "--factorfair-plan",
        "--factorfair-model=sim:ideal",
        "--factorfair-checklist=small.yaml",
    )
    result = project.run_pytest(*options, *arguments)
    assert result.ret == 0
    unread = "*pyproject.toml: [[]tool.factorfair[]] is not read, nor are its gates: the root folder of this run is *sub"
    result.stdout.fnmatch_lines([f"factorfair: note: {unread}"])
    project.run_pytest(*options).stdout.no_fnmatch_line("*is not read*")


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX")
@pytest.mark.parametrize(
    ("umask", "file", "folder"), [(0o000, 0o640, 0o750), (0o022, 0o640, 0o750), (0o077, 0o600, 0o700)]
)
def test_the_store_and_reports_are_for_the_user_and_the_group_alone(
    project: Project, umask: int, file: int, folder: int
) -> None:
    """Replies may be confidential. SQLite's logs have the permissions of its file."""
    former = os.umask(umask)
    try:
        assert project.run("-p", "no:xdist", "--factorfair-report=made/here/report").ret == 0
        with closing(sqlite3.connect(project.path / ".factorfair/responses.sqlite")) as store:
            store.execute("PRAGMA user_version = 1")
            modes = {path: path.stat().st_mode & 0o777 for path in project.path.rglob("*")}
    finally:
        os.umask(former)
    written = {
        str(path.relative_to(project.path)): mode
        for path, mode in modes.items()
        if path.name != ".gitignore" and path.parts[len(project.path.parts)] in (".factorfair", "made")
    }
    folders = {".factorfair", "made", "made/here", "made/here/report"}
    assert {name for name, mode in written.items() if mode == folder} == folders
    assert {name for name, mode in written.items() if mode == file} == written.keys() - folders
    assert {"made/here/report/report.json", ".factorfair/responses.sqlite-wal"} <= written.keys()


@pytest.mark.parametrize(("preset", "samples", "objective"), [("smoke", 24, 4), ("ci", 72, 24)])
def test_presets_set_sizes_design_and_truth(
    tmp_path: Path, preset: str, samples: int, objective: int
) -> None:
    settings = resolved(tmp_path, preset=preset)
    assert (settings.sampling.design, settings.truth) == ("balanced", "audited")
    assert (settings.sampling.samples, settings.sampling.objective) == (samples, objective)


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


def test_a_store_is_a_path_or_a_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In all sources; in pyproject.toml, a path is relative to it."""
    monkeypatch.chdir(tmp_path)
    Path("p%41").mkdir()
    for store, file in STORES.items():
        url = resolved(tmp_path, store=store).store
        assert resolved(tmp_path, {"FACTORFAIR_STORE": store}).store == url
        (tmp_path / "pyproject.toml").write_text(f"[tool.factorfair]\nstore = '{store}'\n")
        assert resolved(tmp_path, here=Path("/")).store == url
        Path(file).unlink(missing_ok=True)
        Store.open(url).close()
        assert Path(file).is_file(), store
    assert not Path("pA").exists()
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
