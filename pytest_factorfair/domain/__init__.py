"""Values: frozen dataclasses and the vocabulary, standard library only.

Everything else imports from here; nothing here imports from anywhere else.
"""

from pytest_factorfair.domain.answer import (
    NO_FACE,
    NO_GROUP,
    OUTCOMES,
    Answer,
    Answers,
    Choices,
    Example,
    Outcome,
    Reading,
    Record,
    Share,
    asked,
    lost,
    together,
)
from pytest_factorfair.domain.board import Better, Board, Difference, Leaderboard, Standing, Succession
from pytest_factorfair.domain.case import DIRECTIONS, Case, CaseKey, Direction, Option, Query
from pytest_factorfair.domain.checklist import Attribute, Checklist, Modality, Source
from pytest_factorfair.domain.detection import Detection, Face
from pytest_factorfair.domain.exchange import (
    BEGUN,
    AnswerMode,
    Exchange,
    Finish,
    Request,
    Response,
    Usage,
    letter_of,
)
from pytest_factorfair.domain.gate import Comparison, Gate, Judgement, Verdict
from pytest_factorfair.domain.reasons import CITATIONS, Citation, Reason, ReasonShare
from pytest_factorfair.domain.sampling import Design, Prompts, Sampling
from pytest_factorfair.domain.score import ALL, Change, Estimator, Headline, Interval, Score
from pytest_factorfair.domain.summary import (
    ContactSheet,
    Correction,
    Fingerprint,
    PromptCounts,
    Summary,
    TopicCounts,
)
from pytest_factorfair.domain.text import defused, excerpt, plural, utf8, visible

__all__ = [
    "ALL",
    "BEGUN",
    "CITATIONS",
    "DIRECTIONS",
    "NO_FACE",
    "NO_GROUP",
    "OUTCOMES",
    "Answer",
    "AnswerMode",
    "Answers",
    "Attribute",
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
    "Correction",
    "Design",
    "Detection",
    "Difference",
    "Direction",
    "Estimator",
    "Example",
    "Exchange",
    "Face",
    "Fingerprint",
    "Finish",
    "Gate",
    "Headline",
    "Interval",
    "Judgement",
    "Leaderboard",
    "Modality",
    "Option",
    "Outcome",
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
    "Score",
    "Share",
    "Source",
    "Standing",
    "Succession",
    "Summary",
    "TopicCounts",
    "Usage",
    "Verdict",
    "asked",
    "defused",
    "excerpt",
    "letter_of",
    "lost",
    "plural",
    "together",
    "utf8",
    "visible",
]
