"""Whether what precedes a question names a group of an attribute."""

from __future__ import annotations

from pytest_factorfair.domain import Attribute
from pytest_factorfair.protocols.fact_or_fair.checklist import Background, Context


def background(context: Context, attribute: Attribute) -> Background:
    """Which group of the attribute the context names: none, that of the truth, or a random one."""
    placeholder = f"{{{attribute.name}}}"
    named = {
        "none": False,
        "truth": attribute.name in context.attributes,
        "random": placeholder in context.text,
    }
    return context.background if named[context.background] else "none"
