"""How FACT-OR-FAIR's files are read."""

from pytest_factorfair.checklist.fact_or_fair import build, layout, rules
from pytest_factorfair.checklist.fact_or_fair.lint import findings
from pytest_factorfair.checklist.protocol import Files

FILES = Files(
    layout=layout.read,
    rules=(rules.facts, rules.texts),
    truths=build.truth_sets,
    build=build.checklist,
    lint=findings,
    schema=layout.schema,
)
