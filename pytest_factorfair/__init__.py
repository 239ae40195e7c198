"""Factuality and fairness of a model as a pytest run that passes or fails a release.

    checklist → cases → queries → model → responses → answers → counts → measurements → verdicts → reports

pytest loads ``plugin``. ``run`` does the same without pytest, in a notebook or a script. Scores of counts are
in ``pytest_factorfair.scoring``. ARCHITECTURE.md describes all rooms, and follows one answer through them.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_factorfair.session.start import run as run

__all__ = ["run"]


def __getattr__(name: str) -> Any:
    """Import ``run`` when it is used: pytest imports this package at every start."""
    if name == "run":
        from pytest_factorfair.session.start import run

        return run
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
