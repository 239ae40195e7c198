from __future__ import annotations

import gc
import os
import sys
from collections.abc import Generator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest
from hypothesis import settings

import pytest_factorfair
from tests import forkserver
from tests.project import Project

# The tests run in parallel and compute little at a time: more threads in each process only spin.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The same few examples in every run; --hypothesis-profile=thorough draws many that no run has seen.
settings.register_profile("tests", max_examples=20, deadline=None, derandomize=True)
settings.register_profile("thorough", max_examples=1000, deadline=None)
settings.load_profile("tests")

UNIT = Path(__file__).parent / "unit"

pytest_plugins = ["pytester", "tests.bucket", "tests.finished", "tests.ray_cluster", "tests.servers"]


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> Generator[None, int, int]:
    """For ``-n auto``, two workers on each core, as many tests wait for servers, processes and timeouts.

    Unit tests compute, and each worker takes seconds to import them: of them, one on each core.
    """
    computing = all(Path(path.partition("::")[0]).resolve().is_relative_to(UNIT) for path in config.args)
    return (yield) * (1 if computing else 2)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without the garbage collector, and keep it from searching thousands of tests ever after."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


# After a run in this process, pytester forgets every module that the run imported. The next run would import
# them again: compiled modules fail then, and our classes would exist twice. So all are imported before the first run.
IMPORTED = (
    "aiohttp", "jinja2", "jsonschema", "numpy", "pydantic", "scipy.optimize", "scipy.special",
    "sqlalchemy.dialects.postgresql", "sqlalchemy.dialects.sqlite",
)  # fmt: skip
IMPORTED_IF_INSTALLED = (
    *("cv2", "obstore.store", "psycopg", "vl_convert"),  # with modules in C or Rust, which load once
    # litellm imports this backport, which replaces the standard finder of distributions. Pytester forgets
    # its replacement after the run, and no distribution would be found from then on.
    "importlib_metadata",
)


@pytest.fixture(scope="session")
def _imported() -> None:
    ours = (module.name for module in walk_packages(pytest_factorfair.__path__, "pytest_factorfair."))
    for name in (*IMPORTED, *ours):
        import_module(name)
    for name in IMPORTED_IF_INSTALLED:
        with suppress(ImportError):
            import_module(name)
    gc.freeze()  # each run starts the garbage collector several times: it need not search all modules and tests


@pytest.fixture
def pytester(_imported: None, pytester: pytest.Pytester) -> pytest.Pytester:
    return pytester


@pytest.fixture(autouse=True)
def _no_options_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep variables of the developer's shell or the CI job from the runs under test."""
    for name in os.environ:
        if name.startswith(forkserver.OUTSIDE):
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of a run are looked for as a whole, whatever the width of the terminal the tests are started from."""
    monkeypatch.setenv("COLUMNS", "500")


if sys.platform == "linux":

    @pytest.fixture(autouse=True)
    def _closed_before_renamed(monkeypatch: pytest.MonkeyPatch) -> None:
        """Let no test rename a file that is open, which Windows refuses."""
        replace = Path.replace

        def replace_closed(path: Path, target: Path | str) -> Path:
            opened = {os.path.realpath(descriptor) for descriptor in Path("/proc/self/fd").iterdir()}
            assert os.path.realpath(path) not in opened, f"{path} is renamed while it is open"
            return replace(path, target)

        monkeypatch.setattr(Path, "replace", replace_closed)


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    return Project(pytester)


@pytest.fixture(params=[("-p", "no:xdist"), ("-n2",)], ids=["alone", "n2"])
def dist(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """For behaviour that differs with workers; the rest is tested without (and once in every mode, by test_main_run)."""
    arguments: tuple[str, ...] = request.param
    return arguments


SKIPPED = os.environ.get("SKIPPED_TESTS", "")
"""What CI does with skipped tests: "fail" where all extras are installed, elsewhere the file that lists them."""

if SKIPPED == "fail":

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if report.skipped and not hasattr(report, "wasxfail"):
            report.outcome = "failed"
            report.longrepr = f"{item.nodeid} was skipped: {report.longrepr}"
        return report

elif SKIPPED:

    def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
        """List them as arguments for the run in the environment that has the extras."""
        skipped = {report.nodeid for report in terminalreporter.stats.get("skipped", ())}
        Path(SKIPPED).write_text("".join(f"{test}\n" for test in sorted(skipped)), encoding="utf-8")
