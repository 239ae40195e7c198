"""Judge scores: parse gates, expand recommended sets, and reach verdicts.

text → parse → gate, default → expand → gates; check before a call is made; judge at the end
"""

from pytest_factorfair.gates.evidence import LOST, enough
from pytest_factorfair.gates.explanation import Asking
from pytest_factorfair.gates.expression import cautions, check, expand, parse, recommended
from pytest_factorfair.gates.judge import Ruling, Terms, judge, judged_scores, possible, rule
from pytest_factorfair.gates.release import Obstacle, release, release_of, unjudged
from pytest_factorfair.gates.waivers import check_waivers, waivers

__all__ = [
    "LOST",
    "Asking",
    "Obstacle",
    "Ruling",
    "Terms",
    "cautions",
    "check",
    "check_waivers",
    "enough",
    "expand",
    "judge",
    "judged_scores",
    "parse",
    "possible",
    "recommended",
    "release",
    "release_of",
    "rule",
    "unjudged",
    "waivers",
]
