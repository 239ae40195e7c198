"""Pictures in a bucket or a folder that the user names: what a run does there, and what stops it before it starts."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from tests.bucket import KEY, SECRET, Service
from tests.project import FEW_PORTRAITS, Project

IMAGES = (
    "-p", "no:xdist", "-q", f"--factorfair-checklist={FEW_PORTRAITS}", "--factorfair-samples=images=2",
)  # fmt: skip


def run(project: Project, *arguments: str) -> pytest.RunResult:
    return project.run_pytest("--factorfair-model=sim:stereotyped", *IMAGES, *arguments)


@pytest.mark.parametrize("at", ["bucket", "folder"])
def test_a_run_and_its_replay(project: Project, bucket: str, s3: Service, at: str) -> None:
    target = bucket if at == "bucket" else "shared"
    assert run(project, f"--factorfair-pictures={target}").ret == 0
    report = project.report()
    stored = s3.files(bucket) if at == "bucket" else list((project.path / "shared").glob("*/*"))
    assert len(stored) == report["usage"]["calls"] > 0
    assert not (project.path / ".factorfair" / "images").exists()
    assert run(project, "--factorfair-reuse=only").ret == 0  # the store knows where they are
    again = project.report()
    assert (again["usage"]["calls"], again["usage"]["cached"]) == (0, len(stored))
    assert (again["scores"], again["cases"]) == (report["scores"], report["cases"])


def test_text_asks_nothing_of_a_bucket(project: Project) -> None:
    assert (
        project.run("-p", "no:xdist", "-k", "tea_rate-gender", "--factorfair-pictures=s3://nowhere").ret == 0
    )


Harm = Callable[[Service, pytest.MonkeyPatch], object]


def silent(_: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("FACTORFAIR_PATIENCE", "0.2")


def uninstalled(_: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("obstore", "obstore.exceptions", "obstore.store"):
        monkeypatch.setitem(sys.modules, name, None)


TROUBLE: dict[str, tuple[Harm | None, str, str]] = {
    "no bucket": (None, "s3://nowhere", ": pictures cannot be written: there is no such bucket"),
    "no account": (None, "az://container", ": pictures cannot be stored there: Generic MicrosoftAzure error: Account must be specified"),
    "no folder": (None, "small.yaml", ": pictures cannot be written there: it is not a folder"),
    "no right": (lambda s3, _: s3.allow(0), "", ": pictures cannot be written: access is denied: check the credentials in the environment, and their rights"),
    "no extra": (uninstalled, "", " needs an extra: pip install 'pytest-factorfair[[]bucket]'"),
    "no service": (silent, "", ": pictures cannot be written: Generic S3 error: Error performing PUT http://127.0.0.1:9/* error sending request"),
}  # fmt: skip


@pytest.mark.parametrize("case", TROUBLE)
def test_one_clear_line_before_anything_is_asked(
    project: Project, bucket: str, s3: Service, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    harm, target, words = TROUBLE[case]
    with monkeypatch.context() as patched:
        if harm is not None:
            harm(s3, patched)
        try:
            result = run(project, f"--factorfair-pictures={target or bucket}")
        finally:
            s3.allow(float("inf"))
    assert result.ret == 4
    (line,) = filter(None, result.errlines)
    result.stderr.fnmatch_lines([f"ERROR: *{target or bucket}{words}"])
    assert KEY not in line
    assert SECRET not in line
    assert not project.report_path.exists()
    assert s3.files(bucket) == []


def test_losing_access_during_a_run_ends_it(project: Project, bucket: str, s3: Service) -> None:
    """The run ends with one line; the next one asks what is missing."""
    s3.allow(20)
    try:
        result = run(project, f"--factorfair-pictures={bucket}")
    finally:
        s3.allow(float("inf"))
    assert result.ret == 2
    result.stdout.fnmatch_lines([f"Not judged: {bucket}*: access is denied: *"])
    paid = project.report()["usage"]["calls"]
    assert run(project).ret == 0
    usage = project.report()["usage"]
    assert 0 < usage["cached"] == paid
    assert usage["calls"] + usage["cached"] == len(s3.files(bucket))
