"""Scores to verdicts: expressions, the recommended set, and the judgement.

text → parse → gate, default → expand → gates; check before a call is made; judge at the end
"""

from pytest_factorfair.gates.check import check
from pytest_factorfair.gates.defaults import defaults, expand
from pytest_factorfair.gates.expression import parse
from pytest_factorfair.gates.judge import judge

__all__ = ["check", "defaults", "expand", "judge", "parse"]
