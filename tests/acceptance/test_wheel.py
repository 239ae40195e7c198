"""What users get: both distributions, built once, have everything and nothing else."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
from email import message_from_string
from email.message import Message
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.extras import needs

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PRIVATE = "Private :: Do Not Upload" in PYPROJECT["project"]["classifiers"]


def run(*command: str | Path) -> str:
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the source distribution, and of the wheel that is built from it.

    CI also builds the former in an environment of its own, which takes pip some seconds.
    """
    folder = tmp_path_factory.mktemp("dist")
    run("build", "--no-isolation", "--outdir", folder, ROOT)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> ZipFile:
    return ZipFile(next(built.glob("*.whl")))


@pytest.fixture(scope="module")
def metadata(wheel: ZipFile) -> Message:
    """Its payload is the package page."""
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return message_from_string(wheel.read(name).decode("utf-8"))


def test_the_wheel_has_the_checklists_and_no_tests(wheel: ZipFile) -> None:
    names = wheel.namelist()
    for name in ("fact_or_fair.yaml", "statistics/us.yaml", "schema/checklist.schema.json", "README.md"):
        assert f"pytest_factorfair/_checklists/{name}" in names
    assert "pytest_factorfair/py.typed" in names
    assert "pytest_factorfair/detection/cards.onnx" in names
    for name in (
        "base.html",
        "page.html",
        "compare.html",
        "table.html",
        "page.css",
        "page.js",
        "sort.js",
        "tips.js",
        "vega.js",
    ):
        assert f"pytest_factorfair/reports/html/assets/{name}" in names
    for name in ("pyproject.toml", "workflow.yml"):
        assert f"pytest_factorfair/starting_files/{name}" in names
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"pytest_factorfair"}


@pytest.mark.slow
@needs("dev", "uv")
def test_the_wheel_runs_where_nothing_else_is_installed(built: Path, tmp_path: Path) -> None:
    """Installed by uv, as CI installs the checkout by pip: it has the checklist, the plug-in and the page."""
    run("uv", "venv", "--quiet", tmp_path / "venv")
    run("uv", "pip", "install", "--quiet", f"--python={tmp_path / 'venv'}", next(built.glob("*.whl")))
    command = [tmp_path / "venv/bin/pytest", "--factorfair-model=sim:stereotyped", "--factorfair-preset=tiny"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert (tmp_path / ".factorfair/report/report.html").exists()


def test_the_source_distribution_has_what_its_tests_need(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as source:
        names = {name.partition("/")[2] for name in source.getnames()}
    tests = {str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("*.py")}
    read = {
        "README.md",
        "action.yml",
        "mkdocs.yml",
        "docs/index.md",
        "conftest_examples/README.md",
        ".ci/run",
    }
    assert tests | read | {"LICENSE", "NOTICE", "CITATION.cff", "benchmarks/scale.py"} <= names


def test_the_package_index_accepts_them(built: Path) -> None:
    assert run("twine", "check", "--strict", *built.iterdir()).count("PASSED") == 2


def test_links_of_the_package_page(metadata: Message) -> None:
    """The README's relative links lead to files of the released version; nothing else is changed."""
    page = str(metadata.get_payload())
    source = dict(line.split(", ", 1) for line in metadata.get_all("Project-URL", []))["Source"]
    files = f"{source}/blob/v{metadata['Version']}/"
    links = re.findall(r"\]\((.*?)\)", page)
    inside = [link.removeprefix(files).partition("#")[0] for link in links if link.startswith(files)]
    assert len(inside) > 20
    assert all((ROOT / path).exists() for path in inside)
    assert all(link.startswith("https://") for link in links)
    assert page.replace(files, "") == (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_home_of_the_project_is_said_once() -> None:
    """In pyproject.toml; as long as it is undecided, the package index refuses an upload."""
    urls = PYPROJECT["project"]["urls"]
    (link,) = PYPROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]
    assert all(url.startswith(urls["Source"]) for url in urls.values())
    assert urls["Source"] in link["replacement"]
    assert ("/OWNER/" in urls["Source"]) == PRIVATE


def test_what_users_copy_installs_the_package_that_is_ours() -> None:
    """Until it is uploaded, anybody can take its name on the index, and would read the API keys of who installs it."""
    folders = ("docs", "conftest_examples", "templates", "pytest_factorfair/starting_files")
    texts = [path.read_text(encoding="utf-8") for folder in folders for path in (ROOT / folder).rglob("*.*")
             if path.suffix in {".md", ".yml", ".ipynb"}]  # fmt: skip
    installed = re.findall(
        r"(?:pip install|INSTALL:).*?pytest-factorfair(?:\[[\w,]+\])?( @ git\+\S+@REF)?", "\n".join(texts)
    )
    assert len(installed) >= 6
    assert {bool(pinned) for pinned in installed} == {PRIVATE}
