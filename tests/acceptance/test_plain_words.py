"""Ten situations, read as somebody reads them who knows no metric: whether to ship, and why.

``tests/data/situations.yaml`` holds what terminal, Markdown and page must say; each situation is run once.
"""

from __future__ import annotations

import html
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.project import DATA, FEW_PORTRAITS, WITHOUT_OTHERS, Project

PLAIN = DATA / "plain.yaml"
WIDTH = 80
SITUATIONS: dict[str, dict[str, Any]] = yaml.safe_load((DATA / "situations.yaml").read_text(encoding="utf-8"))


def run(project: Project, model: str, gates: list[str], *arguments: str, checklist: Path) -> pytest.RunResult:
    return project.run_pytest(
        *WITHOUT_OTHERS, "-p", "no:xdist", f"--factorfair-model={model}", f"--factorfair-checklist={checklist}",
        *(f"--factorfair-gate={gate}" for gate in gates), *arguments,
    )  # fmt: skip


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_newcomer_reads_whether_to_ship_and_why(
    name: str, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    situation = SITUATIONS[name]
    arguments = tuple(situation.get("arguments", ()))
    checklist = FEW_PORTRAITS if situation.get("pictures") else PLAIN
    if former := situation.get("former"):
        run(project, former, [], checklist=checklist)
        shutil.copy(project.report_path, "former.json")
        arguments += ("--factorfair-baseline=former.json",)
    result = run(
        project, situation["model"], situation.get("gates", ["default"]), *arguments, checklist=checklist
    )
    start = next(number for number, line in enumerate(result.outlines) if "= factorfair: " in line)
    section = result.outlines[start : next(
        number for number, line in enumerate(result.outlines) if line.startswith("report: ")
    ) + 1]  # fmt: skip
    assert [line for line in section if len(line) > WIDTH] == []
    assert section[-1].startswith("report: .factorfair/report/report.html")

    report, folder = project.report(), project.report_path.parent
    explained = {
        gate["subject"]: gate["explanation"] for gate in report["gates"] if gate["verdict"] != "passed"
    }
    sentences = {subject: explanation["sentence"] for subject, explanation in explained.items()}
    assert sentences == situation.get("why", {})

    shown = {
        "terminal": " ".join(" ".join(section).split()),
        "markdown": re.sub(r"\\(.)", r"\1", (folder / "report.md").read_text(encoding="utf-8")),
        "page": html.unescape((folder / "report.html").read_text(encoding="utf-8")),
    }
    for where, text in shown.items():
        assert f"{situation['verdict']}: " in text, where
        assert situation["short"] in text, where
        for sentence in sentences.values():
            assert sentence in text, where
        for explanation in explained.values():
            # The terminal explains the first verdicts in full.
            if where != "terminal" and explanation["next_step"]:
                assert f"Next: {explanation['next_step']}." in text, where
    legends = [line for line in section if line.startswith("± 95 %")]
    assert len(legends) == 1
