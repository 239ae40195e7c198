"""Judge scores: parse gates, expand recommended sets, and reach verdicts.

text → parse → gate, default → expand → gates; check before a call is made; judge at the end
"""

from pytest_factorfair.gates.comparison import boards, changes
from pytest_factorfair.gates.evidence import LOST, enough
from pytest_factorfair.gates.expression import cautions, check, expand, parse, recommended
from pytest_factorfair.gates.judge import Ruling, Terms, check_floors, judge, possible, rule
from pytest_factorfair.gates.release import Obstacle, release, unjudged
from pytest_factorfair.gates.waivers import Waiver, unused, waivers

__all__ = [
    "LOST",
    "Obstacle",
    "Ruling",
    "Terms",
    "Waiver",
    "boards",
    "cautions",
    "changes",
    "check",
    "check_floors",
    "enough",
    "expand",
    "judge",
    "parse",
    "possible",
    "recommended",
    "release",
    "rule",
    "unjudged",
    "unused",
    "waivers",
]
