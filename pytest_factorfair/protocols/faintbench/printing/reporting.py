"""What FAIntbench prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_factorfair.domain import Case, Score, Summary, plural
from pytest_factorfair.protocols.faintbench.checklist import PromptCase, prompt_cases
from pytest_factorfair.protocols.faintbench.metrics import METRICS
from pytest_factorfair.protocols.faintbench.printing import drilldown, figures, paper_tables, tables
from pytest_factorfair.protocols.reporting import PERCEIVED, Reporting
from pytest_factorfair.reports.entries import Entry, LeftOut, by_checklist, entries
from pytest_factorfair.reports.figures import FIT, Figure, Spec
from pytest_factorfair.reports.statements import per_case
from pytest_factorfair.reports.table import Table


class FaintbenchReporting(Reporting):
    """Implicit and explicit scores by level, and eta."""

    metrics = METRICS
    piece = ("category of prompts", "categories of prompts")
    assets = "pytest_factorfair.protocols.faintbench.printing"

    def size(self, summary: Summary) -> str:
        return f"{plural(per_case(summary), 'picture')} per prompt"

    def label(self, metric: str, part: str, context: str | None) -> str:
        del part, context
        return metric

    def tables(self, summary: Summary) -> Iterator[Table]:
        return tables.faintbench_tables(summary)

    def paper_tables(self, entries: Sequence[Entry]) -> Iterator[Table | LeftOut]:
        return paper_tables.faintbench(entries)

    def figures(self, checklist: str, entries: Sequence[Entry]) -> Iterator[Figure | LeftOut]:
        del checklist
        return figures.faintbench(entries)

    def page(self, summary: Summary, cases: Sequence[Case]) -> Mapping[str, Any]:
        """The axis of eta, and the tree of levels and prompts."""
        listed = by_checklist(entries({"": summary}))
        return {
            "etas": [
                {"title": f"eta of {checklist}", "spec": _on_screen(spec)}
                for checklist, group in listed.items()
                if (spec := figures.eta_axis(group))
            ],
            "trees": list(drilldown.trees(summary, prompt_cases(cases))),
        }

    def reply_place(self, case: Case) -> Mapping[str, Any] | None:
        """The prompt in the tree."""
        if not isinstance(case, PromptCase):
            return None
        return {"prompt": case.id, "part": case.part}

    def on_card(self, score: Score) -> bool:
        """Only scores of the whole model."""
        return score.context is None and score.metric in METRICS

    def limits(self, summary: Summary) -> Iterator[str]:
        if not summary.prompts:
            return
        names = dict.fromkeys(one.attribute for one in summary.prompts)
        yield f"The groups are those of the checklist, by {', '.join(names)}; no others are covered."
        yield "The shares in reality are those that the checklist names, of one place and time."
        yield PERCEIVED


def _on_screen(spec: Spec) -> Spec:
    """A printed figure at the width and in the font of the page."""
    drawn = {name: part for name, part in spec.items() if name not in ("title", "config")}
    return drawn | {"width": "container", "height": 2 * spec["height"], "autosize": FIT}


REPORTING = FaintbenchReporting()
