"""How FAIntbench's files are read."""

from pytest_factorfair.checklist.faintbench import build, layout, rules
from pytest_factorfair.checklist.faintbench.lint import findings
from pytest_factorfair.checklist.protocol import Files

FILES = Files(
    layout=layout.Checklist.model_validate,
    rules=(rules.names, rules.figures, rules.texts),
    truths=build.truth_sets,
    build=build.checklist,
    lint=findings,
    schema=layout.schema,
)
