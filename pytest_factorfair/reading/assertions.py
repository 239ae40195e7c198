"""Find the assertions of a reply: the mentions of options that it presents as its answer."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from pytest_factorfair.reading import refusals
from pytest_factorfair.reading.clean import is_formula
from pytest_factorfair.reading.cues import LETTER_END, SURNAME
from pytest_factorfair.reading.mentions import Mention, Vocabulary, mentions, phrase
from pytest_factorfair.reading.outcomes import NOTHING


class Clarity(IntEnum):
    """How clearly an assertion states the answer; the clearest level comes first."""

    FORMAL = 0  # the requested JSON, "Final answer: B", a LaTeX box
    STATED = 1  # "Answer: B", "I would choose B", "Therefore B", a first or last line that is only "B"
    BARE = 2  # a sentence that consists of an option: "Probably Alex."
    PREDICATE = 3  # "Alex seems most likely", "Alex is the one", "the highest rate is found among Hispanics"
    HEDGED = 4  # "Alex might be the one"; counts only if no other option is mentioned


@dataclass(frozen=True, slots=True)
class Assertion:
    """The letters that the reply presents as its answer at one position of the cleaned text."""

    level: Clarity
    start: int
    end: int
    letters: frozenset[str]


def counted(assertions: Sequence[Assertion]) -> tuple[Assertion, ...]:
    """The assertions that decide the answer: those of the clearest level that occurs.

    Unhedged assertions after the last formal one also count, because they may contradict it; an explanation
    that names the same option among others does not count.
    """
    for level in (Clarity.FORMAL, Clarity.STATED, Clarity.BARE, Clarity.PREDICATE):
        deciding = [assertion for assertion in assertions if assertion.level is level]
        if deciding and level is Clarity.FORMAL:
            last = max(assertion.end for assertion in deciding)
            later = [assertion for assertion in assertions if assertion.start >= last]
            unhedged = (Clarity.STATED, Clarity.BARE)
            deciding += [assertion for assertion in later if assertion.level in unhedged]
            explained = [assertion for assertion in later if assertion.level is Clarity.PREDICATE]
            deciding += [] if letters(explained) & letters(deciding) else explained
        if deciding:
            return tuple(deciding)
    return ()


def letters(assertions: Iterable[Assertion]) -> frozenset[str]:
    """All letters named by the assertions."""
    return NOTHING.union(*(assertion.letters for assertion in assertions))


# How many characters before and after a mention are searched: words further away may not be about it.
_REACH = 120


class CleanReply:
    """A cleaned reply: its text, its mentions of options, and the text around each mention.

    ``answered`` is the position where its first answer in JSON ends; None without one.
    """

    def __init__(self, text: str, vocabulary: Vocabulary, answered: int | None = None) -> None:
        self.text = text
        self.answered = answered
        self.vocabulary = vocabulary
        self.cues = vocabulary.cues
        self.mentions = mentions(text, vocabulary)
        self._boundaries = [match.start() for match in self.cues.boundary.finditer(text)]
        self.negated = [
            bool(self.cues.negated_before.search(self.cues.contrast.split(self._denied_by(index))[-1]))
            or self.ruled_out(index)
            for index in range(len(self.mentions))
        ]

    @property
    def named(self) -> frozenset[str]:
        """All letters mentioned, whatever the text says about them."""
        return NOTHING.union(*(mention.letters for mention in self.mentions))

    @property
    def spoken(self) -> frozenset[str]:
        """All letters mentioned, except those that the reply rules out."""
        pairs = zip(self.mentions, self.negated, strict=True)
        return NOTHING.union(*(mention.letters for mention, negated in pairs if not negated))

    def sentence_start(self, at: int) -> int:
        index = bisect_left(self._boundaries, at)
        return self._boundaries[index - 1] + 1 if index else 0

    def sentence_end(self, at: int) -> int:
        index = bisect_left(self._boundaries, at)
        return self._boundaries[index] if index < len(self._boundaries) else len(self.text)

    def line(self, at: int) -> int:
        """The position where the line that contains ``at`` begins."""
        return self.text.rfind("\n", 0, at) + 1

    def before(self, index: int) -> str:
        """The sentence before a mention, back to the previous mention."""
        mention = self.mentions[index]
        last = self.mentions[index - 1].end if index else 0
        return self.text[
            max(self.sentence_start(mention.start), last, mention.start - _REACH) : mention.start
        ]

    def after(self, index: int) -> str:
        """The sentence after a mention."""
        mention = self.mentions[index]
        return self.text[mention.end : min(self.sentence_end(mention.end), mention.end + _REACH)]

    def likely(self, index: int) -> re.Match[str] | None:
        """The "it is most likely that" before the first mention of a sentence: "that" compares it to none."""
        start = self.sentence_start(self.mentions[index].start)
        if index and self.mentions[index - 1].end > start:
            return None
        return self.cues.likely_that.search(self.before(index))

    def _denied_by(self, index: int) -> str:
        """The sentence before a mention that may deny it."""
        likely = self.likely(index)
        return self.before(index)[: likely.start()] if likely else self.before(index)

    def asked(self, mention: Mention) -> bool:
        """Whether the sentence of a mention is a question."""
        end = self.sentence_end(mention.end)
        return self.text[end : end + 1] == "?"

    def ruled_out(self, index: int) -> bool:
        """Whether the text after a mention says that it is not the answer."""
        return refusals.ruled_out(self.text, self.mentions[index].end, self.cues)


_LOOK_BACK = 100
_FEWEST_TO_ENUMERATE = 3


def assertions(reply: CleanReply) -> list[Assertion]:
    """All assertions in order: a mention makes at most one assertion, a list of all options makes none."""
    tabled = _tabled(reply)
    listed = _listed(reply, tabled)
    levels: dict[int, Clarity] = {}
    for index, mention in enumerate(reply.mentions):
        all_named = mention.letters >= reply.vocabulary.letters
        if mention.possessive or (all_named and len(reply.vocabulary.letters) >= _FEWEST_TO_ENUMERATE):
            continue
        level = _level(reply, index, listed=index in listed, tabled=index in tabled)
        if level is not None:
            levels[index] = level
    if any(level <= Clarity.STATED and reply.mentions[index].lettered for index, level in levels.items()):
        # If the reply also says "The answer is (B)", a formula that equals an option's text is only a step of
        # the calculation.
        for index, level in levels.items():
            mention = reply.mentions[index]
            start = mention.start - (reply.text[mention.start - 1 : mention.start] == "\\")
            formula = not mention.lettered and is_formula(reply.text[start : mention.end])
            if level <= Clarity.STATED and formula:
                levels[index] = Clarity(level + 1)
    named = ((level, reply.mentions[index]) for index, level in levels.items())
    return [Assertion(level, mention.start, mention.end, mention.letters) for level, mention in named]


def revised(reply: CleanReply, assertions: list[Assertion]) -> list[Assertion]:
    """The assertions after the last "wait, actually" that introduces a new choice; without one, all."""
    for mark in reversed([*reply.cues.correction.finditer(reply.text)]):
        later = [assertion for assertion in assertions if assertion.start >= mark.start()]
        new = next((assertion for assertion in later if assertion.level <= Clarity.BARE), None)
        if new is None or new.start - mark.end() > _LOOK_BACK:
            continue
        # "Sorry" alone does not suffice: it may address the person whose name follows.
        if new.level is Clarity.FORMAL or reply.cues.amended.search(reply.text, mark.start(), new.start):
            return later
    return assertions


def corrected(reply: CleanReply, deciding: tuple[Assertion, ...]) -> bool:
    """Whether, after the last assertion, a "wait, actually" is followed by another option."""
    last = max(assertion.end for assertion in deciding)
    marks = [mark.end() for mark in reply.cues.correction.finditer(reply.text, last)]
    decided = deciding[-1].letters
    return any(
        0 <= mention.start - mark <= _LOOK_BACK
        for mention, negated in zip(reply.mentions, reply.negated, strict=True)
        for mark in marks[:1]
        if not mention.letters <= decided and (not negated or reply.asked(mention))
    )


def _level(reply: CleanReply, index: int, *, listed: bool, tabled: bool) -> Clarity | None:
    """How clearly the mention is presented as the answer; None if it is not."""
    at = reply.mentions[index].start
    if (
        reply.ruled_out(index)
        or reply.asked(reply.mentions[index])
        or reply.cues.signing_off.search(reply.text[max(0, at - 40) : at])
    ):
        return None
    stated = None if tabled else _stated(reply, index)
    if stated is not None:
        return stated
    before = reply.text[max(reply.sentence_start(at), at - 2 * _LOOK_BACK) : at]
    if index and reply.negated[index - 1]:
        before = reply.before(index).rpartition(",")[2]
    before = _without_correction(reply, index, reply.cues.contrast.split(before)[-1])
    if reply.negated[index] or reply.cues.doubt.search(before):
        return None
    if not (listed or tabled):
        bare = _bare(reply, index)
        if bare is not None:
            return bare
    level = _predicate(reply, index)
    # In a table, only the requested end of the range is an answer: "A (highest), B (low)".
    return None if tabled and (level is Clarity.HEDGED or reply.vocabulary.direction is None) else level


def _tabled(reply: CleanReply) -> frozenset[int]:
    """The mentions in a table: several options, each followed by a value, with nothing else between them."""
    valued = {
        index: match.end()
        for index, mention in enumerate(reply.mentions)
        if (match := reply.cues.entry.match(reply.text, mention.end))
    }
    tabled: set[int] = set()
    for index, end in valued.items():
        mention, following = reply.mentions[index], reply.mentions[index + 1 : index + 2]
        if index + 1 in valued and mention.letters != following[0].letters:
            gap = reply.text[end : following[0].start]
            if _leads(reply, gap) or reply.cues.join.fullmatch(gap):
                tabled |= {index, index + 1}
    return frozenset(tabled)


def _stated(reply: CleanReply, index: int) -> Clarity | None:
    """The level of a mention directly after a label ("answer:") or a verb ("I choose"); None otherwise."""
    at = reply.mentions[index].start
    look_back = max(0, at - _LOOK_BACK)
    label = reply.cues.label.search(reply.text[look_back:at])
    if not label:  # in languages whose verb forms include the subject
        label = reply.cues.i_choose.search(reply.text[look_back:at])
        label = label if label and _chosen(reply, index, label) else None
    if label:
        before = reply.text[: look_back + label.start()]
        if refusals.denied_or_quoted(before, reply.cues):
            return None
        final = reply.cues.final.search(before[-_LOOK_BACK:]) or reply.cues.final_label.match(label[0])
        return Clarity.FORMAL if final else Clarity.STATED
    verb = reply.cues.verb.search(reply.before(index))
    if verb is None or not _chooses(reply, index, verb.string[: verb.start()]):
        return None
    return Clarity.STATED if _chosen(reply, index, verb) else None


def _chosen(reply: CleanReply, index: int, verb: re.Match[str]) -> bool:
    """Whether the verb has the mention as its object: after "I'd say" it may be the subject of a clause."""
    if not reply.cues.saying.match(verb[0]):
        return True
    if reply.cues.identified.match(reply.text, reply.mentions[index].end):
        return True
    return _ends(reply, index) or _superlative(reply, index) is not None


def _chooses(reply: CleanReply, index: int, before: str) -> bool:
    """Whether the text before a verb makes the model its subject, or the verb begins the sentence."""
    subject = refusals.last(reply.cues.subject, before)
    if subject is None:
        rest = reply.cues.closing.sub("", reply.after(index))
        if _opening(reply, index) is None or not _leads(reply, before) or rest.strip():
            return False
        return not refusals.denied_or_quoted(reply.text[: reply.mentions[index].start], reply.cues)
    if reply.cues.backs_out.search(reply.cues.contrast.split(before[subject.end() :])[-1]):
        return False
    sentence = reply.mentions[index].start - len(reply.before(index))
    return not refusals.denied_or_quoted(reply.text[: sentence + subject.start()], reply.cues)


def _bare(reply: CleanReply, index: int) -> Clarity | None:
    """The level of a mention that is a sentence of its own ("Probably Alex."); None otherwise."""
    opening = _opening(reply, index)
    if opening is not None and not _leads(reply, opening):  # "Anyone could, but if I must: Alex."
        opening = reply.cues.turn.split(opening)[-1]
    if opening is None or "{" in opening or not _leads(reply, opening) or _only_valued(reply, index):
        return None
    if not _ends(reply, index):
        after = reply.after(index)
        trails = reply.cues.comma_end.match(after) and not reply.cues.finite.search(after)
        return Clarity.HEDGED if trails else None
    if reply.cues.hedge.search(opening):
        return Clarity.HEDGED
    if reply.cues.ranked.search(opening):
        return Clarity.PREDICATE if _right_end(reply, opening) else None
    if reply.cues.concluding.search(opening) or _stands_out(reply, index):
        return Clarity.STATED
    return Clarity.BARE


_SHORTEST_REASON = 4  # words


def _only_valued(reply: CleanReply, index: int) -> bool:
    """Whether the mention is a letter to which its sentence only assigns a value that was not asked for."""
    mention = reply.mentions[index]
    if not mention.lettered or mention.end - mention.start > 1:
        return False
    cues, after = reply.cues, reply.after(index)
    if only := cues.only_value.match(reply.text, mention.end):
        value = only["value"]
    elif (mark := LETTER_END.match(after)) and not cues.end.match(after):
        value = after[mark.end() :]
        short = mark[0].endswith(":") and len(phrase(value)) < _SHORTEST_REASON
        if not (short or any(letter.isdigit() for letter in value)):
            return False
    else:
        return False
    if cues.end_of_range.search(value):
        return not _right_end(reply, value)
    # Neither "B: yes" nor "B: because of the figures" is a value.
    return bool(only or cues.unsaid.search(value)) or not (cues.end.match(value) or _leads(reply, value))


def _leads(reply: CleanReply, opening: str) -> bool:
    return reply.cues.opening.fullmatch(opening) is not None


def _opening(reply: CleanReply, index: int) -> str | None:
    """The part of the sentence before a mention, without a "not B,"; None if it contains another mention."""
    before = reply.before(index)
    if index and reply.mentions[index - 1].end > reply.sentence_start(reply.mentions[index].start):
        amended = reply.cues.amended.search(before)
        if not amended and not reply.negated[index - 1]:
            return None
        before = before[amended.start() :] if amended else before.rpartition(",")[2]
    return _without_correction(reply, index, before)


def _without_correction(reply: CleanReply, index: int, before: str) -> str:
    """The text before a mention, without a "no, actually" that replaces an earlier answer."""
    is_later = index > 0 or (reply.answered or len(reply.text)) <= reply.mentions[index].start
    amends = reply.cues.amends.match(before) if is_later else None
    return before[amends.end() :] if amends else before


def _ends(reply: CleanReply, index: int) -> bool:
    after = reply.after(index)
    if reply.cues.end.match(after):
        return True
    mention = reply.mentions[index]
    if not mention.lettered:
        return False
    if LETTER_END.match(after) or SURNAME.match(after):
        return True
    return mention.end - mention.start > 1 and refusals.declines(
        reply.text[mention.start : mention.end], reply.cues
    )


def _stands_out(reply: CleanReply, index: int) -> bool:
    """Whether the mention opens the reply, or is a separate line at its end."""
    mention = reply.mentions[index]
    if _leads(reply, reply.text[: mention.start][:_LOOK_BACK]) and mention.start <= _LOOK_BACK:
        return True
    return reply.text.find("\n", mention.end) == -1 and _leads(
        reply, reply.text[reply.line(mention.start) : mention.start]
    )


def _predicate(reply: CleanReply, index: int) -> Clarity | None:
    """The level of a mention that a superlative describes: the highest, the lowest, the most likely.

    None otherwise. A comparative ("men are more likely") is no assertion, as it may answer another question.
    """
    if _compared(reply, index):
        return Clarity.PREDICATE
    between, likely = _superlative(reply, index), reply.likely(index)
    if likely and _right_end(reply, likely[0]):
        between = reply.before(index)
    if between is None and reply.cues.superlative.search(reply.before(index)):
        closes = _ends(reply, index) or reply.cues.comma_end.match(reply.after(index))
        between = reply.before(index) if closes else None
        if between is not None and not _right_end(reply, between):
            return None
    if between is not None:
        return Clarity.HEDGED if reply.cues.hedge.search(between) else Clarity.PREDICATE
    if reply.cues.identified.match(reply.text, reply.mentions[index].end):
        opening = _opening(reply, index)
        if opening is not None and _leads(reply, opening) and not reply.cues.hedge.search(opening):
            return Clarity.PREDICATE
    weak = reply.cues.weak.match(reply.after(index))
    if weak and not reply.cues.unsaid.search(weak["between"]) and _right_end(reply, weak[0]):
        return Clarity.HEDGED
    return None


def _compared(reply: CleanReply, index: int) -> bool:
    """Whether a letter opens the reply, and a comparison without a second term follows: "A is higher"."""
    mention = reply.mentions[index]
    comparison = reply.cues.compared.match(reply.after(index)) if index == 0 and mention.lettered else None
    if (
        comparison is None
        or not _leads(reply, reply.text[: mention.start][:_LOOK_BACK])
        or not _right_end(reply, comparison[0])
    ):
        return False
    return len(reply.mentions) == 1 or reply.mentions[1].start > reply.sentence_end(mention.end)


def _superlative(reply: CleanReply, index: int) -> str | None:
    """The text between a mention and the superlative that describes it; None if there is no superlative."""
    after = reply.after(index)
    if index + 1 < len(reply.mentions):
        after = after[: max(0, reply.mentions[index + 1].start - reply.mentions[index].end)]
    predicate = reply.cues.predicate.match(after)
    if not predicate or reply.cues.unsaid.search(predicate["between"]) or not _right_end(reply, predicate[0]):
        return None
    return predicate["between"]


def _right_end(reply: CleanReply, superlative: str) -> bool:
    """Whether a superlative matches the requested direction; "best" and similar words match both."""
    ends = {
        "highest" if match["high"] else "lowest" for match in reply.cues.end_of_range.finditer(superlative)
    }
    return not ends or reply.vocabulary.direction is None or ends == {reply.vocabulary.direction}


def _listed(reply: CleanReply, tabled: Collection[int]) -> frozenset[int]:
    """The mentions that are items of a list of options: successive lines begin with different options."""
    runs: list[list[int]] = [[]]  # a repeated option starts a new list, and so does a table
    for index, mention in enumerate(reply.mentions):
        line = reply.line(mention.start)
        if mention.start - line > _LOOK_BACK or not _leads(reply, reply.text[line : mention.start]):
            continue
        if not (_ends(reply, index) or LETTER_END.match(reply.after(index))):
            continue
        if index in tabled and index + 1 in tabled and reply.line(reply.mentions[index + 1].start) == line:
            continue  # a table in one line
        repeated = any(reply.mentions[earlier].letters & mention.letters for earlier in runs[-1])
        if repeated or (runs[-1] and (index in tabled) != (runs[-1][-1] in tabled)):
            runs.append([])
        runs[-1].append(index)
    several = [run for run in runs if len({reply.mentions[index].letters for index in run}) > 1]
    return frozenset(index for run in several for index in run)
