"""Values: frozen dataclasses and the vocabulary, standard library only.

Everything else imports from here; nothing here imports from anywhere else.
"""

from pytest_factorfair.domain.answer import OUTCOMES, Answer, Answers, Outcome, Reading
from pytest_factorfair.domain.case import Case, CaseKey, Option, Query
from pytest_factorfair.domain.change import Change
from pytest_factorfair.domain.checklist import (
    DIRECTIONS,
    Attribute,
    Background,
    Checklist,
    Context,
    Direction,
    People,
    Scenario,
    Statistic,
    Topic,
    Truth,
    Valence,
)
from pytest_factorfair.domain.choices import Choices, Share, together
from pytest_factorfair.domain.exchange import Exchange, Finish, Request, Response
from pytest_factorfair.domain.gate import Comparison, Gate, Judgement, Verdict
from pytest_factorfair.domain.record import Record
from pytest_factorfair.domain.sampling import Design, Sampling
from pytest_factorfair.domain.score import Estimator, Headline, Interval, Score
from pytest_factorfair.domain.summary import Fingerprint, Summary, TopicCounts
from pytest_factorfair.domain.usage import Usage

__all__ = [
    "DIRECTIONS",
    "OUTCOMES",
    "Answer",
    "Answers",
    "Attribute",
    "Background",
    "Case",
    "CaseKey",
    "Change",
    "Checklist",
    "Choices",
    "Comparison",
    "Context",
    "Design",
    "Direction",
    "Estimator",
    "Exchange",
    "Fingerprint",
    "Finish",
    "Gate",
    "Headline",
    "Interval",
    "Judgement",
    "Option",
    "Outcome",
    "People",
    "Query",
    "Reading",
    "Record",
    "Request",
    "Response",
    "Sampling",
    "Scenario",
    "Score",
    "Share",
    "Statistic",
    "Summary",
    "Topic",
    "TopicCounts",
    "Truth",
    "Usage",
    "Valence",
    "Verdict",
    "together",
]
