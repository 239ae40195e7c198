"""Scores to verdicts: expressions, the recommended set, and the judgement.

text → parse → gate, default → expand → gates; check before a call is made; judge at the end
"""

from pytest_factorfair.gates.boards import boards
from pytest_factorfair.gates.check import check
from pytest_factorfair.gates.contenders import Contender
from pytest_factorfair.gates.defaults import defaults, expand
from pytest_factorfair.gates.expression import parse
from pytest_factorfair.gates.faintbench import foreseen
from pytest_factorfair.gates.former import Former, changes
from pytest_factorfair.gates.judge import Ruling, judge, rule
from pytest_factorfair.gates.power import detectable
from pytest_factorfair.gates.release import release
from pytest_factorfair.gates.subjects import gate_subjects
from pytest_factorfair.gates.terms import Terms
from pytest_factorfair.gates.unjudged import unjudged
from pytest_factorfair.gates.waivers import Waiver, unused, waived, waivers

__all__ = [
    "Contender",
    "Former",
    "Ruling",
    "Terms",
    "Waiver",
    "boards",
    "changes",
    "check",
    "defaults",
    "detectable",
    "expand",
    "foreseen",
    "gate_subjects",
    "judge",
    "parse",
    "release",
    "rule",
    "unjudged",
    "unused",
    "waived",
    "waivers",
]
