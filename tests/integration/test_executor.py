"""``--factorfair-executor``: wrong values, and what needs no cluster; ``test_replicas`` has one."""

from __future__ import annotations

import pytest

from pytest_factorfair.ray import cluster
from tests.project import Project

RAY = "--factorfair-executor=ray:127.0.0.1:1"  # nobody listens there


@pytest.fixture(autouse=True)
def _ray_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "find_spec", lambda _: object())


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--factorfair-executor=slurm"], "--factorfair-executor: expected local, ray or ray:HOST:PORT, got 'slurm'"),
        (["--factorfair-executor=ray:head"], "*expected local, ray or ray:HOST:PORT, got 'ray:head'"),
        (["--factorfair-executor=ray:"], "*expected local, ray or ray:HOST:PORT, got 'ray:'"),
        (["--factorfair-executor=ray:head:70000"], "*expected local, ray or ray:HOST:PORT, got 'ray:head:70000'"),
        (["--factorfair-executor=local:1"], "*expected local, ray or ray:HOST:PORT, got 'local:1'"),
        (["--factorfair-replicas=2"], "--factorfair-replicas: needs --factorfair-executor=ray"),
        ([RAY, "--factorfair-replicas=2,gpu=1"], "*expected N[[],gpus=F[]][[],detectors=M[]], got '2,gpu=1'"),
        ([RAY, "--factorfair-replicas=2,3"], "*expected N[[],gpus=F[]][[],detectors=M[]], got '2,3'"),
        ([RAY, "--factorfair-replicas=0"], "*expected N[[],gpus=F[]][[],detectors=M[]] with whole numbers, N of at least 1, *, got '0'"),
        ([RAY, "--factorfair-replicas=two"], "*expected N[[],gpus=F[]][[],detectors=M[]] with whole numbers, N of at least 1, *, got 'two'"),
        ([RAY, "--factorfair-replicas=2,gpus=1.5"], "*and F 0, a share or a whole number, got '2,gpus=1.5'"),
        ([RAY, "--factorfair-replicas=2,gpus=nan"], "*and F 0, a share or a whole number, got '2,gpus=nan'"),
        ([RAY, "--factorfair-replicas=gpus=0"], "*with gpus=0, give the number of replicas: N,gpus=0"),
        ([RAY, "--factorfair-replicas=2,detectors=1"], "*text needs no detector; leave detectors= out"),
        ([RAY, "-n2"], "--factorfair-executor: replicas replace workers; leave out -n"),
        ([RAY], "--factorfair-executor=ray:127.0.0.1:1: nothing answers at 127.0.0.1:1; start the cluster, *"),
    ],
)  # fmt: skip
def test_wrong_input(project: Project, options: list[str], line: str) -> None:
    """One line, before anything is asked."""
    result = project.run(*options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: {line}"])
    assert len(result.errlines) <= 2


def test_what_is_stored_needs_no_cluster(project: Project) -> None:
    assert project.run().ret == 0
    calls = project.report()["usage"]["calls"]
    assert calls > 0
    for option in (
        "--strict-markers",
        "--factorfair-reuse=only",
        "--factorfair-plan",
    ):  # the first changes nothing
        result = project.run(RAY, option)
        assert result.ret == 0
    assert project.report()["usage"]["calls"] == 0


def test_what_stays_in_this_process(project: Project) -> None:
    """A factory of a conftest.py cannot be built elsewhere."""
    project.write(
        "conftest.py",
        """
        from pytest_factorfair.models import build

        def pytest_factorfair_models(config):
            return {"house": lambda spec: build("sim:uniform", {}, checklists=spec.checklists, custom={})}
        """.replace("\n        ", "\n"),
    )
    result = project.run(RAY, model="house:large")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        ["factorfair: note: model 'house:large' has no replicas: it stays in the controlling process"]
    )
