"""Values: frozen dataclasses and the vocabulary, standard library only.

Everything else imports from here; nothing here imports from anywhere else.
"""

from pytest_factorfair.domain.answer import (
    NO_CONFIDENCE,
    NO_FACE,
    NO_GROUP,
    OUTCOMES,
    Answer,
    Answers,
    Outcome,
    Reading,
    asked,
)
from pytest_factorfair.domain.board import Better, Board, Difference, Leaderboard, Standing, Succession
from pytest_factorfair.domain.case import Case, CaseKey, Option, Query
from pytest_factorfair.domain.change import Change
from pytest_factorfair.domain.checklist import Attribute, Checklist, Modality
from pytest_factorfair.domain.choices import Choices, Share, together
from pytest_factorfair.domain.detection import Detection, Face
from pytest_factorfair.domain.exchange import Exchange, Finish, Request, Response
from pytest_factorfair.domain.fact_or_fair import (
    DIRECTIONS,
    IN_GROUP,
    Background,
    Context,
    Direction,
    FactOrFair,
    People,
    Scenario,
    Source,
    Statistic,
    Topic,
    TopicCase,
    Truth,
    Valence,
    fact_or_fair,
    topic_cases,
)
from pytest_factorfair.domain.faintbench import (
    KINDS,
    Faintbench,
    Kind,
    Pair,
    Place,
    PromptCase,
    Side,
    Subject,
    faintbench,
    prompt_cases,
)
from pytest_factorfair.domain.gate import Comparison, Gate, Judgement, Verdict
from pytest_factorfair.domain.groups import shared
from pytest_factorfair.domain.reasons import CITATIONS, Citation, Reason, ReasonShare
from pytest_factorfair.domain.record import Record
from pytest_factorfair.domain.sampling import Design, Prompts, Sampling
from pytest_factorfair.domain.score import Estimator, Headline, Interval, Score
from pytest_factorfair.domain.summary import (
    ContactSheet,
    Correction,
    Fingerprint,
    PromptCounts,
    Summary,
    TopicCounts,
)
from pytest_factorfair.domain.text import utf8
from pytest_factorfair.domain.usage import Usage

__all__ = [
    "CITATIONS",
    "DIRECTIONS",
    "IN_GROUP",
    "KINDS",
    "NO_CONFIDENCE",
    "NO_FACE",
    "NO_GROUP",
    "OUTCOMES",
    "Answer",
    "Answers",
    "Attribute",
    "Background",
    "Better",
    "Board",
    "Case",
    "CaseKey",
    "Change",
    "Checklist",
    "Choices",
    "Citation",
    "Comparison",
    "ContactSheet",
    "Context",
    "Correction",
    "Design",
    "Detection",
    "Difference",
    "Direction",
    "Estimator",
    "Exchange",
    "Face",
    "FactOrFair",
    "Faintbench",
    "Fingerprint",
    "Finish",
    "Gate",
    "Headline",
    "Interval",
    "Judgement",
    "Kind",
    "Leaderboard",
    "Modality",
    "Option",
    "Outcome",
    "Pair",
    "People",
    "Place",
    "PromptCase",
    "PromptCounts",
    "Prompts",
    "Query",
    "Reading",
    "Reason",
    "ReasonShare",
    "Record",
    "Request",
    "Response",
    "Sampling",
    "Scenario",
    "Score",
    "Share",
    "Side",
    "Source",
    "Standing",
    "Statistic",
    "Subject",
    "Succession",
    "Summary",
    "Topic",
    "TopicCase",
    "TopicCounts",
    "Truth",
    "Usage",
    "Valence",
    "Verdict",
    "asked",
    "fact_or_fair",
    "faintbench",
    "prompt_cases",
    "shared",
    "together",
    "topic_cases",
    "utf8",
]
