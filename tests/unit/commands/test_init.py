"""``factorfair init``: the written files work, and existing ones are not changed."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from pytest_factorfair.commands.cli import main
from pytest_factorfair.config.settings import resolve
from pytest_factorfair.config.sources import OptionValue
from pytest_factorfair.gates import judged_scores
from pytest_factorfair.gates.expression import parse
from pytest_factorfair.gates.waivers import covering
from pytest_factorfair.runs.composing import compose

WORKFLOW = ".github/workflows/factorfair.yml"


@pytest.fixture(autouse=True)
def _in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_in_an_empty_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["wrote [tool.factorfair] to pyproject.toml", f"wrote {WORKFLOW}"]
    settings = tomllib.loads((tmp_path / "pyproject.toml").read_text())["tool"]["factorfair"]
    assert settings == {"preset": "ci", "gate": ["default"], "reuse": "30d", "max_cost": 25.0}
    workflow = yaml.safe_load((tmp_path / WORKFLOW).read_text())
    assert workflow["concurrency"]["group"] == "factorfair-${{ github.ref }}"
    job = workflow["jobs"]["factorfair"]
    assert job["timeout-minutes"] == 60
    pins = [step["uses"].partition("@")[2] for step in job["steps"] if "uses" in step]
    assert len(pins) == 5
    assert all(re.fullmatch(r"[0-9a-f]{40}", pin) for pin in pins)


def test_the_hints_are_settings_too(tmp_path: Path) -> None:
    """Every line that is commented out is valid without the comment sign."""
    main(["init"])
    text = (tmp_path / "pyproject.toml").read_text()
    for name in ("baseline", "max_minutes", "waivers"):
        text = text.replace(f"# {name} = ", f"{name} = ")
    for metric in ("s_fact", "s_e", "regression"):
        text = text.replace(f'# "{metric}', f'"{metric}')
    settings = tomllib.loads(text)["tool"]["factorfair"]
    gates = [parse(gate) for gate in settings["gate"] if gate != "default"]
    assert [(gate.metric, gate.filters, gate.regression) for gate in gates] == [
        ("s_fact", ("objective", "gender"), False),
        ("s_e", ("base", "race"), False),
        ("s_e", ("subjective",), True),
    ]
    assert {"baseline", "max_minutes", "waivers"} < set(settings)
    workflow = yaml.safe_load(Path(WORKFLOW).read_text())
    assert settings["max_minutes"] < workflow["jobs"]["factorfair"]["timeout-minutes"]


def test_the_waiver_in_the_hints_covers_a_gate_of_the_recommended_set(tmp_path: Path) -> None:
    """However it is written."""
    main(["init"])
    path = tmp_path / "pyproject.toml"
    hinted = path.read_text().replace("# waivers = ", "waivers = ")
    for written in ("s_e[base,gender] >= 0.97", "s_e[ gender,base ]>=97%"):
        path.write_text(hinted.replace("s_e[base,gender] >= 0.97", written))
        typed = {"model": OptionValue(["sim:ideal"], "run(model)", tmp_path)}
        run = compose(resolve(typed, {}, root=tmp_path, here=tmp_path), {}, {})
        (waiver,) = run.settings.waivers
        judged = judged_scores(run.gates, run.unasked)
        assert [covering([waiver], score) for score in judged].count(waiver) == 1


@pytest.mark.parametrize(
    "former",
    [
        b'[project]\nname = "x"\n',
        b'[project]\nname = "x"',
        b"# ours\r\n[tool.ruff]\r\nline-length = 80\r\n",
        b"\n\n",
    ],
)
def test_existing_settings_are_not_changed(tmp_path: Path, former: bytes) -> None:
    (tmp_path / "pyproject.toml").write_bytes(former)
    assert main(["init"]) == 0
    content = (tmp_path / "pyproject.toml").read_bytes()
    assert content.startswith(former)
    assert (b"\r\n" in former) == (b"\r\n" in content)
    assert content.count(b"\r\n") in (0, content.count(b"\n"))
    parsed = tomllib.loads(content.decode())
    assert parsed.pop("tool").pop("factorfair")["preset"] == "ci"


@pytest.mark.parametrize(
    ("former", "problem"),
    [
        (b"[tool.factorfair]\nseed = 1\n", "[tool.factorfair] already exists; left unchanged"),
        (b"tool.factorfair.seed = 1\n", "[tool.factorfair] already exists; left unchanged"),
        (b"tool = 3\n", "tool must be a table; left unchanged"),
        (b"[[tool]]\nname = 'other'\n", "tool must be a table; left unchanged"),
        (b"tool = { ruff = {} }\n", "left unchanged"),
        (b"[tool\n", "left unchanged"),
        (b"a = '\xff'\n", "left unchanged"),
    ],
)
def test_settings_that_cannot_be_added(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], former: bytes, problem: str
) -> None:
    """An existing table is kept, and only the workflow is written; a broken file prevents both."""
    (tmp_path / "pyproject.toml").write_bytes(former)
    assert main(["init"]) == 4
    captured = capsys.readouterr()
    assert captured.err.startswith("pyproject.toml: ")
    assert problem in captured.err
    assert captured.err.count("\n") == 1
    assert (tmp_path / "pyproject.toml").read_bytes() == former
    assert (tmp_path / WORKFLOW).exists() == ("already exists" in problem)


def test_an_existing_workflow_is_not_changed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / WORKFLOW).parent.mkdir(parents=True)
    (tmp_path / WORKFLOW).write_text("name: ours\n")
    assert main(["init"]) == 4
    assert capsys.readouterr().err == f"{WORKFLOW}: already exists; left unchanged\n"
    assert (tmp_path / WORKFLOW).read_text() == "name: ours\n"
    assert main(["init"]) == 4
    assert capsys.readouterr().err.count("left unchanged") == 2


def test_a_folder_in_the_place_of_the_settings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pyproject.toml").mkdir()
    assert main(["init"]) == 4
    assert capsys.readouterr().err == "pyproject.toml: cannot be written: Is a directory\n"
    assert not (tmp_path / WORKFLOW).exists()


def test_a_file_in_the_place_of_the_workflows_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".github").write_text("")
    assert main(["init"]) == 4
    assert capsys.readouterr().err == f"{WORKFLOW}: cannot be written: Not a directory\n"
