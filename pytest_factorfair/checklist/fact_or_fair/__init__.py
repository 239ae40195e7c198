"""FACT-OR-FAIR: statistics about groups, asked for as facts and as choices among people.

layout, truths, wording (pictured) → build → expand → prompts; recognise is the inverse, from a prompt.
"""

from pytest_factorfair.checklist.fact_or_fair import build, layout, rules
from pytest_factorfair.checklist.fact_or_fair.expand import cases, notices, queries
from pytest_factorfair.checklist.fact_or_fair.lint import findings
from pytest_factorfair.checklist.protocol import Protocol

PROTOCOL = Protocol(
    name="fact_or_fair",
    layout=layout.read,
    rules=(rules.facts, rules.texts),
    truths=build.truth_sets,
    build=build.checklist,
    cases=cases,
    queries=queries,
    notices=notices,
    lint=findings,
    schema=layout.schema,
)

__all__ = ["PROTOCOL"]
