"""A run's answers are counted alike by its header, live line, section, page, report.json, store and server."""

from __future__ import annotations

import html
import re

import pytest

from tests.project import Project
from tests.servers import StubServer

PLANNED, STORED, FURTHER, FAILED = 6 * 24 + 8 * 72, 6 * 24, 2 * 72, 3
"""The answers of a first look at the small checklist; those of an earlier run; those of each further look at the
gate's two cases; the calls that the server fails."""

GATE = "s_fact[base,gender] >= 0.5"  # what a model has that answers by chance


@pytest.mark.parametrize(
    ("looks", "workers"), [(1, "-n0"), (3, "-n0"), (3, "-n2")], ids=["one", "several", "workers"]
)
def test_every_total_is_the_sum_of_its_parts(
    project: Project, stub: StubServer, monkeypatch: pytest.MonkeyPatch, looks: int, workers: str
) -> None:
    monkeypatch.setattr("pytest_factorfair.plugin.progress.SHORTEST", 0.0)  # a line at every tick
    monkeypatch.setattr("pytest_factorfair.plugin.progress.SHARE", 0.0)
    url = f"--factorfair-model-arg=base_url={stub.base_url}"
    sizes = (
        "FACTORFAIR_ESTIMATOR=corrected",
        f"FACTORFAIR_LOOKS={looks}",
        "--factorfair-samples=72,objective=24",
    )
    arguments = (url, *sizes, f"--factorfair-gate={GATE}", "FACTORFAIR_PATIENCE=60")
    stub.script(answer="uniform")
    part = project.run(*arguments, "-k", "objective", model="hosted_vllm/m").stdout.str()
    announced = f"factorfair: 6 of 14 cases, 1 gate, {STORED} of {PLANNED} planned answers\n"
    assert announced in part
    assert f"\n{STORED} of {PLANNED} planned answers; {STORED} calls, cost unknown\n" in part
    stub.script(answer="uniform", latency=0.01, fail=FAILED, status=500)
    printed = project.run(*arguments, workers, model="hosted_vllm/m").stdout.str()
    report, page = project.report(), project.report_path.with_suffix(".html").read_text()
    most = PLANNED + (looks - 1) * FURTHER

    announced = f"14 cases, 1 gate, {PLANNED} answers planned\nfactorfair: {STORED} in the store, {PLANNED - STORED} to ask"
    assert announced in printed
    assert (f"factorfair: at most {most:,} answers if gates stay undecided" in printed) == (looks > 1)
    plan = report["plan"]
    assert (plan["planned"], plan["most"]) == (PLANNED, most)

    answers = sum(len(case["answers"]) for case in report["cases"])
    further = [
        int(count) for count in re.findall(r"look \d of 3: 1 gate undecided, (\d+) more answers", printed)
    ]
    assert answers == PLANNED + sum(further) == project.stored()
    assert bool(further) == (looks > 1)
    totals = {int(total.replace(",", "")) for total in re.findall(r" of ([\d,]+) answers \u00b7 ", printed)}
    assert totals <= {PLANNED + sum(further[:look]) for look in range(looks)}
    assert PLANNED in totals

    usage = report["usage"]
    calls = answers - STORED + FAILED
    assert (usage["calls"], usage["cached"], usage["retries"]) == (calls, STORED, FAILED)
    assert stub.stats()["requests"] == calls
    more = f" ({PLANNED} planned, {sum(further)} more in looks)" if further else ""
    paid = f"{calls:,} calls ({FAILED} retries), {STORED} from the store, cost unknown"
    assert f"\n{answers:,} answers{more}; {paid}\n" in printed
    shown = html.unescape(page)
    assert f"{answers:,} answers{more}: 0 refused, " in shown
    assert f"; {paid}, scored after " in shown

    last_line = printed.splitlines()[-1]
    items = sum(int(count) for count in re.findall(r"(\d+) (?:passed|failed|skipped)", last_line))
    release_fails_alone = report["gates"][0]["verdict"] == "inconclusive"
    assert items == 14 + 1 + release_fails_alone
