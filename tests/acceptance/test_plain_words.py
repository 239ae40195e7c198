"""Situations, read as somebody reads them who knows no metric: whether to ship, why, and what to do.

``tests/data/situations.yaml`` holds what terminal, Markdown and page must say; each situation is run once.
"""

from __future__ import annotations

import html
import re
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.project import DATA, FEW_PORTRAITS, WITHOUT_OTHERS, Project
from tests.servers import StubServer

PLAIN = DATA / "plain.yaml"
WIDTH = 80
SITUATIONS: dict[str, dict[str, Any]] = yaml.safe_load((DATA / "situations.yaml").read_text(encoding="utf-8"))

SCREEN = 25
"""Lines of report.md that a reader sees at first."""

LAST = 10
"""Lines of the terminal that a reader sees at the end."""


def run(project: Project, model: str, gates: list[str], *arguments: str, checklist: Path) -> pytest.RunResult:
    return project.run_pytest(
        *WITHOUT_OTHERS, "-p", "no:xdist", f"--factorfair-model={model}", f"--factorfair-checklist={checklist}",
        *(f"--factorfair-gate={gate}" for gate in gates), *arguments,
    )  # fmt: skip


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_newcomer_reads_whether_to_ship_why_and_what_to_do(
    name: str, project: Project, stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    situation = SITUATIONS[name]
    arguments = tuple(situation.get("arguments", ()))
    checklist = FEW_PORTRAITS if situation.get("pictures") else PLAIN
    if former := situation.get("former"):
        run(project, former, [], checklist=checklist)
        shutil.copy(project.report_path, "former.json")
        arguments += ("--factorfair-baseline=former.json",)
    if (settings := situation.get("pyproject")) is not None:
        project.write("pyproject.toml", settings)
    with socket.socket() as closed:  # bound, and nobody listens
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}/v1" if situation.get("down") else stub.base_url
        if (script := situation.get("server")) is not None:
            stub.script(**script)
            arguments += (f"--factorfair-model-arg=base_url={address}",)
        result = run(
            project, situation["model"], situation.get("gates", ["default"]), *arguments, checklist=checklist
        )
    start = next(number for number, line in enumerate(result.outlines) if "= factorfair: " in line)
    ours = result.outlines[start : next(
        number for number, line in enumerate(result.outlines) if line.startswith("Next: ") or "Ship it, " in line
    )]  # fmt: skip
    assert [line for line in ours if len(line) > WIDTH] == []

    report, folder = project.report(), project.report_path.parent
    explained = {
        gate["subject"]: gate["explanation"]
        for gate in report["gates"]
        if gate["verdict"] != "passed" and gate["explanation"]
    }
    sentences = {subject: explanation["sentence"] for subject, explanation in explained.items()}
    causes = sorted({gate["cause"] for gate in report["gates"] if gate["cause"]})
    assert sentences == situation.get("why", {})
    assert causes == sorted(situation.get("causes", []))

    markdown = re.sub(r"\\(.)", r"\1", (folder / "report.md").read_text(encoding="utf-8"))
    markdown = markdown.replace("\u200b", "")  # which keeps addresses from becoming links
    first_screen = "\n".join(markdown.splitlines()[:SCREEN])
    page = html.unescape((folder / "report.html").read_text(encoding="utf-8"))
    page = re.sub(r"\u200b|</?code>", "", page)
    last = " ".join(" ".join(result.outlines[-LAST:]).split())
    short = situation["short"].replace("ADDRESS", address)
    for where, text in {"terminal": last, "markdown": first_screen, "page": page}.items():
        assert f"{situation['verdict']}: " in text, where
        assert short in text, where
    step = situation.get("next", "")
    for lines in (result.outlines[-LAST:], first_screen.replace("`", "").splitlines()):
        assert [line for line in lines if line.startswith("Next: ")] == [f"Next: {step}"] * bool(step)
    for explanation in explained.values():  # the terminal explains the first ones
        assert explanation["sentence"] in page
        assert f"Next: {explanation['next_step']}" in page
