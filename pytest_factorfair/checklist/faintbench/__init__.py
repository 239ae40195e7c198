"""FAIntbench: people pictured by occupation, characteristic and relation, with and without a group asked for.

layout, rules → build → expand → prompts.
"""

from pytest_factorfair.checklist.faintbench import build, layout, rules
from pytest_factorfair.checklist.faintbench.expand import cases, notices, queries
from pytest_factorfair.checklist.faintbench.lint import findings
from pytest_factorfair.checklist.protocol import Protocol

PROTOCOL = Protocol(
    name="faintbench",
    layout=layout.Checklist.model_validate,
    rules=(rules.names, rules.figures, rules.texts),
    truths=build.truth_sets,
    build=build.checklist,
    cases=cases,
    queries=queries,
    notices=notices,
    lint=findings,
    schema=layout.schema,
)

__all__ = ["PROTOCOL"]
