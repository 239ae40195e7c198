"""Scores to verdicts: expressions, the recommended set, and the judgement.

text → parse → gate, default → expand → gates; check before a call is made; judge at the end
"""

from pytest_factorfair.gates.boards import boards
from pytest_factorfair.gates.changes import changes
from pytest_factorfair.gates.check import check
from pytest_factorfair.gates.defaults import defaults, expand
from pytest_factorfair.gates.expression import parse
from pytest_factorfair.gates.judge import Ruling, judge, rule
from pytest_factorfair.gates.release import release
from pytest_factorfair.gates.terms import Terms
from pytest_factorfair.gates.unjudged import unjudged
from pytest_factorfair.gates.waivers import Waiver, unused, waived, waivers

__all__ = [
    "Ruling",
    "Terms",
    "Waiver",
    "boards",
    "changes",
    "check",
    "defaults",
    "expand",
    "judge",
    "parse",
    "release",
    "rule",
    "unjudged",
    "unused",
    "waived",
    "waivers",
]
