"""A report in a notebook: its rows as data frames, its figures, and what Jupyter displays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from pytest_factorfair.benchmarks import rows_named
from pytest_factorfair.config.settings import DEFAULT_REPORT
from pytest_factorfair.domain import Summary
from pytest_factorfair.drawing.entries import by_checklist, entries
from pytest_factorfair.drawing.figures import Figure, to_svg
from pytest_factorfair.errors import InputError
from pytest_factorfair.reports import json_report
from pytest_factorfair.reports.html.document import fragment
from pytest_factorfair.reports.html.page import content
from pytest_factorfair.reports.papers import figures
from pytest_factorfair.reports.sections import sections

if TYPE_CHECKING:
    import altair as alt
    import pandas as pd
    import polars as pl

SHOWN = 10
"""Rows that a notebook displays at each end of a longer table."""


def load_report(path: str | Path = DEFAULT_REPORT) -> Report:
    """Load the report of a run from its folder, or from its ``report.json`` or ``report.json.gz``.

    Raises:
        InputError: there is no report, or it is damaged or of another version.
    """
    file = json_report.located(str(path))
    return Report(json_report.read(file, name=str(path)), Path(file).parent)


class Rows(Sequence[Mapping[str, Any]]):
    """Rows of a table, which a notebook displays and pandas or polars convert to a data frame."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self._rows = tuple(rows)

    @overload
    def __getitem__(self, index: int) -> Mapping[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> Rows: ...
    def __getitem__(self, index: int | slice) -> Mapping[str, Any] | Rows:
        return Rows(self._rows[index]) if isinstance(index, slice) else self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"Rows({len(self)} of {', '.join(self.columns)})"

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order of appearance."""
        return tuple(dict.fromkeys(name for row in self._rows for name in row))

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a pandas data frame; pandas must be installed."""
        import pandas as pd

        return pd.DataFrame(list(self._rows), columns=list(self.columns))

    def to_polars(self) -> pl.DataFrame:
        """The rows as a polars data frame; polars must be installed."""
        import polars as pl

        return pl.DataFrame(list(self._rows), infer_schema_length=None)

    def _repr_html_(self) -> str:
        """Both ends of the table."""
        left_out = max(0, len(self) - 2 * SHOWN)
        head, tail = (self._rows[:SHOWN], self._rows[-SHOWN:]) if left_out else (self._rows, ())
        values = {"columns": self.columns, "head": head, "left_out": left_out, "tail": tail}
        return fragment("rows.html", values)


class Chart:
    """A figure: ``spec`` is a Vega-Lite specification."""

    def __init__(self, figure: Figure) -> None:
        self._figure = figure
        self.spec = figure.spec

    def __repr__(self) -> str:
        return f"Chart({self._figure.name})"

    def to_altair(self) -> alt.TopLevelMixin:
        """The figure as an Altair chart, which you can change or combine; altair 6 must be installed."""
        import altair as alt

        spec = deepcopy(self.spec)
        # Vega takes a layout of legends, the schema by which Altair checks does not.
        spec.get("config", {}).get("legend", {}).pop("layout", None)
        chart: alt.TopLevelMixin = alt.Chart.from_dict(spec)
        return chart

    def _repr_svg_(self) -> str | None:
        """The figure as drawn by vl-convert (extra ``figures``); without it, a notebook shows its name."""
        try:
            return to_svg(self._figure).decode()
        except ImportError:
            return None


class Report:
    """A run's report: ``summary`` has all its content, ``folder`` contains its files."""

    def __init__(self, summary: Summary, folder: Path) -> None:
        self.summary = summary
        self.folder = folder

    def __repr__(self) -> str:
        return f"Report({', '.join(self.summary.fingerprint.models)}: {sections(self.summary).title})"

    def _repr_html_(self) -> str:
        return fragment("report.html", content(self.summary))

    @property
    def gates(self) -> Rows:
        """A row per verdict: gate, subject, judgement, value, bounds, threshold, answers and the reason."""
        return Rows(map(asdict, self.summary.gates))

    @property
    def scores(self) -> Rows:
        """A row per metric, part, context and attribute, with the value, its 95 % interval and references."""
        return Rows(map(asdict, self.summary.scores))

    @property
    def topics(self) -> Rows:
        """A row per topic and group: how often the group was answered, and the numbers of missing answers."""
        return self.rows("topics")

    @property
    def prompts(self) -> Rows:
        """A row per prompt, person, attribute and group, for benchmarks that count pictures by prompt."""
        return self.rows("prompts")

    def rows(self, name: str) -> Rows:
        """The rows that a benchmark adds to reports under this name, such as ``impact_ratios``."""
        rows, declared = self.summary.rows.get(name, ()), rows_named(name)
        if declared is None:
            raise InputError(f"no benchmark adds rows '{name}' to reports")
        if declared.flat is None:
            return Rows(map(asdict, rows))
        return Rows(line for row in rows for line in declared.flat(row))

    @cached_property
    def replies(self) -> Rows:
        """A row per answer: its outcome, the group it names for each attribute, prompt and reply.

        Raises:
            InputError: the file with the replies, beside the report, is missing or damaged.
        """
        plain, packed = (self.folder / name for name in (json_report.RESPONSES, json_report.COMPRESSED))
        file = packed if packed.exists() else plain
        return Rows(
            {
                **{name: row[name] for name in ("model", "checklist", "case", "query")},
                "repeat": row.get("repeat", 0),
                "outcome": row["outcome"],
                "letter": row.get("letter"),
                "reason": row.get("reason", ""),
                "prompt": row["prompt"],
                "reply": (row["response"] or {}).get("text"),
                "image_file": (row["response"] or {}).get("image_file") or None,
                **row.get("groups", {}),
            }
            for row in json_report.replies(file, where=f"the report's replies are in {file}")
        )

    @property
    def figures(self) -> Mapping[str, Chart]:
        """The papers' figures that can be drawn from these scores, by name."""
        listed = by_checklist(entries({str(self.folder): self.summary}))
        drawn = (figure for checklist, group in listed.items() for figure in figures(checklist, group))
        return {figure.name: Chart(figure) for figure in drawn if isinstance(figure, Figure)}
