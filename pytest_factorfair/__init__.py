"""Factuality and fairness of a model as a pytest run that passes or fails a release.

    checklist → cases → queries → model → responses → answers → counts → measurements → verdicts → reports

pytest loads ``plugin``. ``run`` does the same without pytest, in a notebook or a script, and ``load_report``
reads what either wrote. Scores of counts are in ``pytest_factorfair.scoring``. ARCHITECTURE.md describes all
rooms, and follows one answer through them.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_factorfair.reports.notebook import load_report as load_report
    from pytest_factorfair.runs.start import run as run

__all__ = ["load_report", "run"]


def __getattr__(name: str) -> Any:
    """Import what is used, and not before: pytest imports this package at every start."""
    if name == "run":
        from pytest_factorfair.runs.start import run

        return run
    if name == "load_report":
        from pytest_factorfair.reports.notebook import load_report

        return load_report
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
