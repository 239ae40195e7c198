"""A cleaned reply with its mentions, and where its lines and sentences begin and end."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from pytest_factorfair.reading.mentions import Mention
from pytest_factorfair.reading.outcomes import NOTHING

# Not the points of "U.S.", "e.g.", "vs." and of a number in a list: "2. Alex".
_BOUNDARY = re.compile(
    r"(?<![A-Z]\.[A-Z])(?<!\b[ei]\.[ge])(?<!\bvs)(?<!\b\d)(?<!\b\d\d)[.!?](?=[\s\"')\]]|$)|[;\n]"
)

# Within reach of a mention, in characters: a sentence longer than this says nothing clear about it.
_REACH = 120

_NEGATED_BEFORE = re.compile(
    r"\b(?:not|never|neither|nor|cannot|without|except|besides|excluding|eliminat\w+|exclud\w+|reject\w*"
    r"|rul(?:e|ed|ing) out|rather than|instead of|as opposed to|let alone)\b|n't\b"
    r"|\b(?:non-?|than|over|unlike|against)\s*(?:the |option |person |for )?[\"'(]?$",
    re.IGNORECASE,
)
_VERB = (
    "is|are|was|were|would be|can be|should be|could be|"
    "seems?|looks?|has|have|does|do|did|would|will|can|should"
)
_ADVERB = r"(?:(?:both|also|all|simply|just|clearly|certainly|probably|very|quite|definitely)\s+)?"
_NEGATED_AFTER = re.compile(
    r"[\"')\]]*(?:\s+(?:people|persons?|individuals?|americans?|men|women|group)\b)?\s+"
    rf"{_ADVERB}(?:(?:{_VERB})\s+{_ADVERB}(?:not|never|no more|no less|no longer|less|irrelevant)\b(?! only)"
    rf"|(?:is|are|was|were|does|do|did|has|have|would|could|should|ca|wo)n't\b|cannot\b"
    rf"|(?:(?:{_VERB})\s+{_ADVERB})?(?:wrong|incorrect|false|unlikely|ruled out|excluded|eliminated)\b)",
    re.IGNORECASE,
)
CONTRAST = re.compile(
    r"\b(?:but|however|yet|still|nevertheless|nonetheless|that said|instead|so|therefore|thus|"
    r"hence)\b(?! of\b)"
    r"|\bcontrary to\b[^,.;\n]{1,60},|:",
    re.IGNORECASE,
)
"""What ends the reach of a negation within a sentence."""


class Reply:
    """A cleaned text and what each of its mentions has before and after it, looked up once."""

    def __init__(self, text: str, found: Sequence[Mention]) -> None:
        self.text = text
        self.mentions = found
        self._boundaries = [match.start() for match in _BOUNDARY.finditer(text)]
        self.negated = [self._is_negated(index) for index in range(len(found))]

    @property
    def named(self) -> frozenset[str]:
        """All letters spoken of, whatever is said of them."""
        return NOTHING.union(*(mention.letters for mention in self.mentions))

    @property
    def spoken(self) -> frozenset[str]:
        """All letters spoken of otherwise than to rule them out."""
        pairs = zip(self.mentions, self.negated, strict=True)
        return NOTHING.union(*(mention.letters for mention, negated in pairs if not negated))

    def sentence_start(self, at: int) -> int:
        index = bisect_left(self._boundaries, at)
        return self._boundaries[index - 1] + 1 if index else 0

    def sentence_end(self, at: int) -> int:
        index = bisect_left(self._boundaries, at)
        return self._boundaries[index] if index < len(self._boundaries) else len(self.text)

    def line(self, at: int) -> int:
        """Where the line begins."""
        return self.text.rfind("\n", 0, at) + 1

    def before(self, index: int) -> str:
        """The sentence before a mention, as far as the mention before it."""
        mention = self.mentions[index]
        last = self.mentions[index - 1].end if index else 0
        return self.text[
            max(self.sentence_start(mention.start), last, mention.start - _REACH) : mention.start
        ]

    def after(self, index: int) -> str:
        """The sentence after a mention."""
        mention = self.mentions[index]
        return self.text[mention.end : min(self.sentence_end(mention.end), mention.end + _REACH)]

    def ruled_out(self, index: int) -> bool:
        """Whether what follows a mention says that it is not the answer."""
        return bool(_NEGATED_AFTER.match(self.after(index)))

    def _is_negated(self, index: int) -> bool:
        before = CONTRAST.split(self.before(index))[-1]
        return bool(_NEGATED_BEFORE.search(before)) or self.ruled_out(index)
