"""What ``factorfair compare`` says of ten pairs of models, as somebody reads it who knows no metric.

``tests/data/comparisons.yaml`` holds the sentences of terminal, Markdown and page: who is ahead, what got worse,
and why nothing is claimed.
"""

from __future__ import annotations

import html
import re
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_factorfair import run
from pytest_factorfair.commands.compare import compare
from pytest_factorfair.reports.html.comparison import to_html
from pytest_factorfair.reports.leaderboard import HOW, headline, sections, to_markdown, to_text
from tests.project import DATA, FEW_PORTRAITS

COMPARISONS: dict[str, dict[str, Any]] = yaml.safe_load((DATA / "comparisons.yaml").read_text("utf-8"))
WIDTH = 80


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Path], Path]:
    """The report of a model on a checklist; several comparisons are with the same one."""

    @cache
    def completed(model: str, checklist: Path) -> Path:
        folder = tmp_path_factory.mktemp("run")
        run(model, root=folder, checklist=[str(checklist)], looks=1, declines="missing")
        return folder / ".factorfair" / "report" / "report.json"

    return completed


@pytest.mark.parametrize("name", COMPARISONS)
def test_a_newcomer_reads_which_model_is_better(
    name: str, reported: Callable[[str, Path], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    situation = COMPARISONS[name]
    checklist = FEW_PORTRAITS if situation.get("pictures") else DATA / "plain.yaml"
    models = {"former.json": situation.get("former", "sim:ideal"), "later.json": situation["later"]}
    reports = [str(shutil.copy(reported(model, checklist), file)) for file, model in models.items()]

    comparison, entries = compare(reports, baseline=True)
    sentences = [*headline(comparison)]
    for section in sections(comparison):
        sentences += [line for line in section.lines if line not in (HOW, *comparison.reports)]
    assert sentences == situation["sentences"]
    assert comparison.regressed is situation["regressed"]
    terminal = to_text(comparison)
    assert [line for line in terminal.splitlines() if len(line) > WIDTH] == []
    shown = {
        "terminal": " ".join(terminal.split()),
        "markdown": re.sub(r"\\(.)", r"\1", to_markdown(comparison)),
        "page": html.unescape(to_html(comparison, entries)),
    }
    for where, text in shown.items():
        assert [line for line in sentences if line not in text] == [], where
