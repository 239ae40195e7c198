"""Match the replies of a log to the queries of a run by what they ask.

A reply answers a query if its prompt is the query's, or the query's with other words on how to answer. It
answers an item if it asks the item's question with the item's options, whatever the template and the order:
what stands between the lines of the question may only be a label. Several replies to one question are
repeats, in the order of the log.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from string import ascii_uppercase
from typing import Any, NamedTuple

from pytest_factorfair.benchmarks import benchmark_of
from pytest_factorfair.benchmarks.published_files import slug
from pytest_factorfair.checklist.queries import Draft, numbered
from pytest_factorfair.domain import Checklist, Language, Option, Query, Response, excerpt, listed, plural
from pytest_factorfair.errors import InputError
from pytest_factorfair.logs.items import normalized
from pytest_factorfair.logs.log import Log, LoggedReply
from pytest_factorfair.reading.answers import read

CaseName = tuple[str, str]
"""A checklist and the id of one of its cases."""

Text = Callable[[LoggedReply, Sequence[Option]], str]
"""The text of the response in a reply, given the options as the log shows them."""


def _text(reply: LoggedReply, _options: Sequence[Option]) -> str:
    return reply.text


LONGEST = 60
"""Characters of a text of the log in a message."""

PER_CALL = frozenset({"seed"})
"""Settings that differ from call to call on purpose."""


@dataclass(frozen=True, slots=True)
class Matching:
    """The queries of a run that a log answers.

    ``replies`` are by the ids of queries; ``queries`` are those of the cases that the log asked in words or
    orders of its own. ``model`` gave the replies, with these ``settings``. Of ``logged`` replies, ``matched``
    ask what the checklist asks, ``spare`` of them more often; a run may take more ``repeats`` of items. Of
    ``asked`` queries, ``lacking`` have none.
    """

    replies: Mapping[str, LoggedReply]
    queries: Mapping[CaseName, tuple[Query, ...]]
    model: str
    settings: Mapping[str, Any]
    logged: int
    matched: int
    spare: int
    asked: int
    lacking: int
    repeats: bool

    def as_asked(self, queries: tuple[Query, ...]) -> tuple[Query, ...]:
        """The queries of a case as the log asked them."""
        case = queries[0].case if queries else None
        return queries if case is None else self.queries.get((case.checklist, case.id), queries)

    @property
    def sufficient(self) -> bool:
        """Whether it has as many replies as verdicts need at least."""
        from pytest_factorfair.benchmarks.measurement import ALLOWED  # it imports numpy

        return self.lacking <= ALLOWED * self.asked

    @property
    def notices(self) -> Iterator[str]:
        """Sentences on what was matched and what was not."""
        other = self.logged - self.matched
        sentence = f"{self.matched:,} of {plural(self.logged, 'logged reply', 'logged replies')} match"
        sentence += f"{'es' * (self.matched == 1)} the checklist"
        yield f"{sentence}: {other:,} ask{'s' * (other == 1)} something else" if other else sentence
        if self.spare:
            remedy = "; --factorfair-samples=repeats=N takes N answers" if self.repeats else ""
            yield (
                f"{plural(self.spare, 'logged reply is', 'logged replies are')} left out: the log answers "
                f"questions more often than the run asks them{remedy}"
            )
        if self.lacking:
            yield f"{self.lack}: they count as missing"

    @property
    def lack(self) -> str:
        """How many questions the log lacks."""
        return f"the log lacks {self.lacking:,} of the {plural(self.asked, 'question')} of the checklist"


def match(
    log: Log,
    asked: Iterable[tuple[Checklist, Sequence[Query]]],
    *,
    path: object,
    seed: int,
    text: Text = _text,
) -> Matching:
    """Match a log to the queries of cases, reading it once from beginning to end.

    What is kept of a reply is small: its ``text``, and what a response has besides.

    Raises:
        InputError: the log is damaged, no reply matches, one asks what two items ask or an item with other
            options, or replies that match were made with different settings.
    """
    cases = _Cases(asked, text)
    logged = matched = spare = 0
    first: LoggedReply | None = None
    for reply in log.replies():
        logged += 1
        assigned = cases.assign(reply)
        if assigned is None:
            continue
        matched += 1
        spare += not assigned
        first = first or reply
        _check_settings(reply, first)
    if first is None:
        raise InputError(
            f"{path}: none of its {plural(logged, 'reply', 'replies')} asks what the checklist asks; "
            f"`factorfair import log {path}` makes a checklist of the questions with options in it"
        )
    replies, queries = cases.filled(seed)
    return Matching(
        replies,
        queries,
        first.model,
        {name: value for name, value in first.settings.items() if name not in PER_CALL},
        logged=logged,
        matched=matched,
        spare=spare,
        asked=cases.asked,
        lacking=cases.lacking,
        repeats=cases.of_items,
    )


def _check_settings(reply: LoggedReply, first: LoggedReply) -> None:
    """Check that a reply was made as the first one was.

    Raises:
        InputError: a setting differs.
    """
    for name in sorted({*reply.settings, *first.settings} - PER_CALL):
        value, former = reply.settings.get(name), first.settings.get(name)
        if value != former:
            raise InputError(
                f"{reply.where}: {name} is {excerpt(repr(value), LONGEST)}, and "
                f"{excerpt(repr(former), LONGEST)} at {first.where}; judge replies with one setting"
            )


@dataclass(slots=True)
class _Slots:
    """The queries of a case, and the reply to each, with the query as the log asked it if it differs."""

    checklist: Checklist
    queries: Sequence[Query]
    text: Text
    drafts: dict[int, Draft] = field(default_factory=dict)
    replies: dict[int, LoggedReply] = field(default_factory=dict)

    @property
    def free(self) -> Iterator[int]:
        """The positions of queries without a reply."""
        return (position for position in range(len(self.queries)) if position not in self.replies)

    def fill(self, position: int, reply: LoggedReply, draft: Draft | None = None) -> None:
        """Give a query its reply; what the reply answers stays with the query."""
        text = self.text(reply, self.queries[position].options if draft is None else draft[1])
        self.replies[position] = replace(
            reply, text=text, prompt="", item=None, settings={}, tokens=(), scores={}
        )
        if draft is not None:
            self.drafts[position] = draft

    def as_asked(self, seed: int) -> tuple[Query, ...]:
        """The queries as the log asked them."""
        if not self.drafts:
            return tuple(self.queries)
        case = self.queries[0].case
        assert case is not None  # noqa: S101 - it has an item
        drafts = (
            self.drafts.get(position, (query.prompt, query.options, query.background))
            for position, query in enumerate(self.queries)
        )
        return numbered(drafts, case=case, seed=seed, direction=self.queries[0].direction)


class _Cases:
    """The cases of a run by prompt, by its lines without the answer format, and by item."""

    def __init__(self, asked: Iterable[tuple[Checklist, Sequence[Query]]], text: Text) -> None:
        self._cases = [_Slots(checklist, queries, text) for checklist, queries in asked if queries]
        # Queries with one prompt and repeat share a reply, as they share a key in the store.
        self._by_prompt: dict[str, dict[int, list[tuple[_Slots, int]]]] = {}
        self._by_lines: dict[tuple[str, ...], str] = {}
        self._options: dict[str, int] = {}
        self._items = _ItemIndex()
        for slots in self._cases:
            answer_format = _unix(getattr(slots.checklist, "answer_format", ""))
            for position, query in enumerate(slots.queries):
                prompt = _unix(query.prompt)
                self._by_prompt.setdefault(prompt, {}).setdefault(query.repeat, []).append((slots, position))
                lines = _lines(prompt.removesuffix(answer_format))
                if lines:
                    self._by_lines[lines] = prompt
                    self._options[prompt] = len(query.options)
            case = slots.queries[0].case
            if case is not None and (question := benchmark_of(slots.checklist).question(case)):
                self._items.add(case.id, question, slots)

    def assign(self, reply: LoggedReply) -> bool | None:
        """Assign a reply to a query that it answers; False if all of them have one, None if there is none.

        Raises:
            InputError: it asks what two items ask, or an item with other options, or has the prompt and the
                numbered repeat of another reply.
        """
        prompt = _unix(reply.prompt)
        by_repeat = self._by_prompt.get(prompt) or self._by_prompt.get(self._begins_with(prompt), {})
        for repeat, queries in by_repeat.items():
            if reply.repeat not in (None, repeat):
                continue
            free = [(slots, position) for slots, position in queries if position not in slots.replies]
            for slots, position in free:
                slots.fill(position, reply)
            if free:
                return True
            if reply.repeat is not None:
                raise InputError(f"{reply.where}: an earlier reply has this prompt and repeat {repeat}, too")
        item = self._items.find(reply)
        if item is None:
            return False if by_repeat else None
        free_position = next(item.slots.free, None)
        if free_position is None:
            return False
        item.slots.fill(free_position, reply, item.draft)
        return True

    @property
    def of_items(self) -> bool:
        """Whether the cases are items, whose questions can be asked any number of times."""
        return bool(self._items)

    @property
    def asked(self) -> int:
        """The number of queries."""
        return sum(len(slots.queries) for slots in self._cases)

    @property
    def lacking(self) -> int:
        """The number of queries without a reply."""
        return self.asked - sum(len(slots.replies) for slots in self._cases)

    def filled(self, seed: int) -> tuple[dict[str, LoggedReply], dict[CaseName, tuple[Query, ...]]]:
        """The replies by query, and the queries of the cases that the log asked otherwise."""
        replies: dict[str, LoggedReply] = {}
        queries: dict[CaseName, tuple[Query, ...]] = {}
        for slots in self._cases:
            as_asked = slots.as_asked(seed)
            case = as_asked[0].case
            if slots.drafts and case is not None:
                queries[case.checklist, case.id] = as_asked
            replies |= {as_asked[position].id: reply for position, reply in slots.replies.items()}
        return replies, queries

    def _begins_with(self, logged: str) -> str:
        """The prompt of a query with which a logged prompt begins, without the answer format; or "".

        Text before it may be a context, and a further option makes it another question.
        """
        lines = _lines(logged)
        for length in range(len(lines), 0, -1):
            if (prompt := self._by_lines.get(lines[:length])) is not None:
                further = _option_line(chr(ord("A") + self._options[prompt]))
                return prompt if not any(map(further.match, lines[length : length + 1])) else ""
        return ""


class _AskedItem(NamedTuple):
    """An item that a log asks: the queries of its case, and the query as the log has it."""

    slots: _Slots
    draft: Draft


@dataclass(frozen=True, slots=True, eq=False)
class _ItemText:
    """An item in plain words: its case, the lines of its question, and its queries."""

    case: str
    lines: tuple[str, ...]
    slots: _Slots

    def end_in(self, text: str) -> int:
        """Where its question ends in a text, the last time that it is asked; -1 if it is not.

        What separates its lines may only be a label, or it is another question: a disambiguated context
        begins with the ambiguous one.
        """
        lines = sorted((text.rfind(line), len(line)) for line in self.lines)
        if lines[0][0] < 0:
            return -1
        ends = [start + length for start, length in lines]
        gaps = (text[end:start] for end, (start, _) in zip(ends, lines[1:], strict=False))
        return ends[-1] if all(map(_LABEL.fullmatch, gaps)) else -1


_END = r".!?\u3002\uff01\uff1f"
_LABEL = re.compile(rf"\s*(?:[^{_END}]{{,40}}[^\w,;{_END}]|\W*)\s*")
"""What may stand between context and question: ``Question:``, ``<question>``, ``---``."""

KEY = 24
"""Characters of an item's longest line that the index looks up."""


class _ItemIndex:
    """Items by their longest line, and those lines by their lengths and beginnings: templates begin alike."""

    def __init__(self) -> None:
        self._items: dict[str, list[_ItemText]] = {}
        self._lengths: dict[int, dict[str, set[int]]] = {}

    def __bool__(self) -> bool:
        return bool(self._items)

    def add(self, case: str, question: str, slots: _Slots) -> None:
        lines = tuple(filter(None, map(normalized, question.splitlines())))
        longest = max(lines, key=len)
        beginning = longest[:KEY]
        self._lengths.setdefault(len(beginning), {}).setdefault(beginning, set()).add(len(longest))
        self._items.setdefault(longest, []).append(_ItemText(case, lines, slots))

    def find(self, reply: LoggedReply) -> _AskedItem | None:
        """The item that a reply answers; None if it answers none.

        Raises:
            InputError: it asks what two items ask, or an item with other options.
        """
        prompt, item = normalized(reply.prompt), reply.item
        texts = [prompt] if item is None else [normalized(f"{item.context} {item.question}"), prompt]
        for text in texts:
            candidates = self._last_asked(text)
            if candidates:
                break
        else:
            return None
        if item is not None and len(candidates) > 1:
            same_id = [candidate for candidate in candidates if candidate.case.endswith(slug(item.id))]
            candidates = same_id or candidates
        matching: dict[_ItemText, tuple[Option, ...]] = {}
        problems: list[str] = []
        for candidate in candidates:
            options = candidate.slots.queries[0].options
            language = candidate.slots.checklist.language
            in_prompt = _options_in(prompt[max(candidate.end_in(prompt), 0) :], options)
            try:
                if item is not None and item.options:
                    matching[candidate] = _as_logged(item.options, options, language)
                    if len(in_prompt) < len(options) or not all(label for label, _ in in_prompt):
                        continue
                matching[candidate] = _as_logged(in_prompt, options, language)
            except ValueError as error:
                problems.append(f"{reply.where}: asks '{candidate.case}' with other options: {error}")
        if not matching:
            raise InputError(problems[0])
        if len(matching) > 1:
            cases = listed([f"'{candidate.case}'" for candidate in matching])
            raise InputError(f"{reply.where}: asks what several items ask: {cases}; keep one of them")
        ((candidate, options),) = matching.items()
        return _AskedItem(candidate.slots, (reply.prompt, options, {}))

    def _last_asked(self, text: str) -> list[_ItemText]:
        """The items whose question a text asks last; of those that end at one place, the longest."""
        starts = [0, *(match.end() for match in re.finditer(r"\W", text))]
        candidates = dict.fromkeys(
            item
            for key_length, lengths in self._lengths.items()
            for start in starts
            for length in lengths.get(text[start : start + key_length], ())
            for item in self._items.get(text[start : start + length], ())
        )
        asked = [(item.end_in(text), sum(map(len, item.lines)), item) for item in candidates]
        last = max(((end, length) for end, length, _ in asked), default=(-1, 0))
        return [item for end, length, item in asked if (end, length) == last and end >= 0]


def _options_in(text: str, options: Sequence[Option]) -> list[tuple[str, str]]:
    """The options that a text shows, in its order, each with the letter or number before it, if all have one.

    If a further letter follows them, its text is added. The last occurrence of an option counts: few-shot
    prompts show those of their examples before. Longer options are sought first: one may be part of another.
    """
    by_start: dict[int, str] = {}
    spans: list[tuple[int, int]] = []
    for option in sorted(options, key=lambda option: -len(option.text)):
        wording = normalized(option.text)
        end = len(text)
        while (start := text.rfind(wording, 0, end)) >= 0:
            stop = start + len(wording)
            whole = not (text[start - 1 : start].isalnum() or text[stop : stop + 1].isalnum())
            if whole and all(stop <= other or start >= other_stop for other, other_stop in spans):
                by_start[start] = option.text
                spans.append((start, stop))
                break
            end = stop - 1
    matches = [_BEFORE.search(text, max(start - LABEL, 0), start) for start in sorted(by_start)]
    labels = [match[1].upper() if match else "" for match in matches]
    if len(set(labels)) < len(labels) or "" in labels:
        labels = [""] * len(labels)
    shown = [(label, by_start[start]) for label, start in zip(labels, sorted(by_start), strict=True)]
    following = chr(ord(max(labels, default="")[:1] or "@") + 1)
    rest = text[max((stop for _, stop in spans), default=0) :]
    further = re.match(rf"\W*\b{following}[).:]\W*(.+)", rest, re.IGNORECASE) if shown and labels[0] else None
    return [*shown, (following, further[1])] if further else shown


LABEL = 6
"""Characters of a label before an option, and what is between them."""

_BEFORE = re.compile(r"(?<![^\W_])([a-z]|\d)\W{1,4}$")
"""The letter or number of an option, before its text: ``(A) ``, ``b. ``, ``1: ``."""


def _as_logged(
    logged: Sequence[tuple[str, str]], options: Sequence[Option], language: Language
) -> tuple[Option, ...]:
    """The options of an item as a log shows them, lettered in its order.

    A log may word the option that nobody can know in several ways, of which the first counts for its place.

    Raises:
        ValueError: these are not the item's options.
    """
    by_wording = {normalized(option.text): option for option in options}
    unknown = next((option for option in options if option.unknown), None)
    wordings_by_letter: dict[str, list[str]] = {}
    labels: dict[str, str] = {}
    for label, wording in logged:
        option = by_wording.get(normalized(wording))
        if option is None and unknown is not None and _means_unknown(wording, unknown.text, language):
            option = unknown
        if option is None:
            raise ValueError(f"'{excerpt(wording, LONGEST)}' is not among them")
        wordings_by_letter.setdefault(option.letter, []).append(wording)
        labels.setdefault(option.letter, label)
    by_letter = {option.letter: option for option in options}
    if lacking := by_letter.keys() - wordings_by_letter.keys():
        raise ValueError(f"it lacks '{excerpt(by_letter[min(lacking)].text, LONGEST)}'")
    letters = ascii_uppercase[: len(labels)]
    if set(labels.values()) == set(letters):
        wordings_by_letter = {
            letter: wordings_by_letter[letter] for letter in sorted(labels, key=lambda letter: labels[letter])
        }
    shown = []
    for letter, (our_letter, wordings) in zip(letters, wordings_by_letter.items(), strict=True):
        option, label = by_letter[our_letter], labels[our_letter]
        numbered_as = [label] if label and label not in letters else []
        words = tuple(dict.fromkeys((*option.words, *wordings, *numbered_as)))
        shown.append(replace(option, letter=letter, words=words))
    return tuple(shown)


@cache
def _option_line(letter: str) -> re.Pattern[str]:
    """A line with the option of a letter."""
    return re.compile(rf"\W*{letter}[).:\]]", re.IGNORECASE)


@cache
def _means_unknown(wording: str, unknown: str, language: Language) -> bool:
    """Whether an option says, in other words than the item's, that nobody can know."""
    options = (Option("A", unknown, (unknown,), {}, unknown=True), Option("B", "\uffff", ("\uffff",), {}))
    return read(Response(wording), options, language=language).letter == "A"


def _unix(prompt: str) -> str:
    """The prompt with Unix line ends, which editors and spreadsheets change."""
    return prompt.replace("\r\n", "\n").replace("\r", "\n")


def _lines(prompt: str) -> tuple[str, ...]:
    """The lines of a prompt that are not empty, without white space around them."""
    return tuple(filter(None, map(str.strip, prompt.split("\n"))))
