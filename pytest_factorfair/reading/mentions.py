"""Find the mentions of options in a reply, by letter, text or words, whatever it says about them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import pairwise

from pytest_factorfair.domain import ENGLISH, Direction, Language, Option
from pytest_factorfair.reading.cues import Cues, cues
from pytest_factorfair.reading.outcomes import NOTHING

# Alphabets with capitals whose words are separated by spaces, with their combining marks.
_SPACED = "0-9A-Za-zª²³µ¹ºÀ-ÖØ-öø-\u052f\u1e00-\u1fff"
_UNSPACED = "\u0e00-\u0eff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"

WORD = re.compile(rf"[{_SPACED}]+|[{_UNSPACED}]|(?:(?![{_SPACED}{_UNSPACED}])[^\W_])+")
"""A word. "答案是B" has four, so that letters are found in scripts without spaces."""

Phrase = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The letters of a query's options, and all phrases that name one: by first word, longest first.

    A phrase that several options share (two people with one name) maps to all their letters. ``direction``
    is the requested direction of a statistic, if any; ``cues`` are those of the language of the reply.
    ``unknown`` is the letter of the option that means that nobody can know, if there is one.
    """

    letters: frozenset[str]
    texts: Mapping[str, tuple[Phrase, ...]]
    phrases: Mapping[str, tuple[tuple[Phrase, frozenset[str]], ...]]
    cues: Cues
    direction: Direction | None = None
    unknown: frozenset[str] = NOTHING

    def named(self, text: str) -> frozenset[str]:
        """The letters of the options whose text or name equals the whole text."""
        words = phrase(self.cues.plain(text))
        entries = self.phrases.get(words[0], ()) if words else ()
        return next((letters for spelling, letters in entries if spelling == words), NOTHING)

    def undetermined(self, text: str) -> frozenset[str]:
        """The option that means unknown, if a text says that nobody can know and then chooses no other."""
        says = self.cues.unknown.search(text) if self.unknown else None
        if says is None or self.cues.chose.search(text, says.end()):
            return NOTHING
        last = mentions(text, self)[-1:]
        named = NOTHING.union(*(mention.letters for mention in last if not WORD.search(text, mention.end)))
        return NOTHING if len(named) == 1 and named != self.unknown else self.unknown


def vocabulary(
    options: tuple[Option, ...], direction: Direction | None, language: Language = ENGLISH
) -> Vocabulary:
    """Collect all phrases that may name an option in a reply in this language."""
    spoken = cues(language)
    named = {
        option.letter: tuple(
            phrase(spoken.plain(name)) for name in dict.fromkeys((option.text, *option.words))
        )
        for option in options
    }
    owners: defaultdict[Phrase, set[str]] = defaultdict(set)
    for option in options:
        for words in named[option.letter]:
            owners[words].add(option.letter)
        if option.age is not None and spoken.spaces:  # a person: the first name suffices
            owners[phrase(spoken.plain(option.words[0]))[:1]].add(option.letter)
    by_first: defaultdict[str, list[tuple[Phrase, frozenset[str]]]] = defaultdict(list)
    for words in sorted(owners, key=len, reverse=True):
        if len("".join(words)) > 1 or not (spoken.spaces or words[0].isascii()):
            by_first[words[0]].append((words, frozenset(owners[words])))
    return Vocabulary(
        letters=frozenset(option.letter for option in options),
        texts=named,
        phrases={word: tuple(entries) for word, entries in by_first.items()},
        cues=spoken,
        direction=direction,
        unknown=frozenset(option.letter for option in options if option.unknown),
    )


def phrase(text: str) -> Phrase:
    """The words of a text without case and punctuation."""
    return tuple(WORD.findall(text.casefold()))


MOST_MENTIONS = 400
"""Maximum number of mentions; a reply with more repeats itself, and is not an answer."""

_GAP = 3  # signs between two words of one phrase: "35-year-old", "individual, of"

_AFTER_SMALL = re.compile(r"[ \t]*(?:$|[\n.)\]}\"',;:!/_])")
_ENDS_LINE = re.compile(r"(?: [A-Z][a-z'-]{1,20}){0,2}[ \t]*+[.!]?[ \t]*(?:\n|$)")
_LABELLED_TEXT = re.compile(
    r"[ \t]*[)\].:-]{1,2}[\"'_]{0,2}[ \t]{1,3}[\"'(]?(?P<text>[^.;!?\n]{1,120})(?=[.;!?\n]|$)"
)

_UNLIKE = 0.74
_SHORTEST_CUT = 4
_LONGEST_SPELT = 60
_FEWEST_SHARED = 3
_LONGEST_GAP = 60


@dataclass(frozen=True, slots=True)
class Mention:
    """A stretch of text that names one option, or several joined by "or", "and" or a comma.

    ``letters`` may contain a letter that is not an option. ``lettered`` is whether the mention begins with
    a letter, ``possessive`` whether it is followed by "'s".
    """

    start: int
    end: int
    letters: frozenset[str]
    lettered: bool = False
    possessive: bool = False


def mentions(text: str, vocabulary: Vocabulary) -> list[Mention]:
    """All mentions in order, joined if they belong together. The search ends after ``MOST_MENTIONS``."""
    single: list[Mention] = []
    words = list(WORD.finditer(text))
    at = 0
    while at < len(words):
        mention, length = _at(text, words, at, vocabulary)
        at += length
        if mention is not None:
            single.append(mention)
        if len(single) > MOST_MENTIONS:
            return single
    return _joined(
        text,
        [_spelt(text, mention, vocabulary) for mention in _labelled(text, single, vocabulary)],
        vocabulary,
    )


def _at(
    text: str, words: Sequence[re.Match[str]], at: int, vocabulary: Vocabulary
) -> tuple[Mention | None, int]:
    """The mention that begins with this word, if any, and the number of words to advance."""
    word = words[at][0]
    for spelling, letters in vocabulary.phrases.get(word.casefold(), ()):
        length = len(spelling)
        if _spells(words, at, spelling) and not (length == 1 and word in vocabulary.cues.everyday_names):
            start = words[at].start()
            end = _with_suffix(text, words[at + length - 1].end(), vocabulary)
            if _within_compound(text, start, end, vocabulary):
                return None, length
            return Mention(
                start, end, letters, possessive=text.startswith(vocabulary.cues.possessives, end)
            ), length
    if len(word) == 1:
        end = _with_suffix(text, words[at].end(), vocabulary)
        if _is_letter(text, words[at], end, vocabulary):
            return Mention(words[at].start(), end, frozenset(word.upper()), lettered=True), 1
    if 1 < len(word) <= len(vocabulary.letters) == len(vocabulary.letters | set(word)):
        start, end = words[at].span()
        bracketed = text[:start][-1:] in ("(", "[") and text[end : end + 1] in (")", "]")
        if bracketed and len(set(word)) == len(word):  # several letters: "(CB)"
            return Mention(start, end, frozenset(word), lettered=True), 1
    return None, 1


def _spells(words: Sequence[re.Match[str]], at: int, spelling: tuple[str, ...]) -> bool:
    matches = words[at : at + len(spelling)]
    return (
        len(matches) == len(spelling)
        and all(word[0].casefold() == spelt for word, spelt in zip(matches, spelling, strict=True))
        and all(after.start() - before.end() <= _GAP for before, after in pairwise(matches))
    )


def _within_compound(text: str, start: int, end: int, vocabulary: Vocabulary) -> bool:
    """Whether a phrase is half of a hyphenated word ("white-collar", "anti-Black"); "non-" is a negation."""
    before, after = text[max(0, start - 8) : start].lower(), text[end : end + 10].lower()
    led = re.search(r"\w-$", before) and not before.endswith("non-")
    followed = re.match(r"-\w", after) and not vocabulary.cues.compound_ends.match(after)
    return bool(led or followed)


def _with_suffix(text: str, end: int, vocabulary: Vocabulary) -> int:
    """The end of a mention, including an ending that is attached to it."""
    suffix = vocabulary.cues.suffix.match(text, end)
    return suffix.end() if suffix else end


def _is_letter(text: str, word: re.Match[str], end: int, vocabulary: Vocabulary) -> bool:
    """Whether a letter, whose mention ends at ``end``, is an option rather than part of another word."""
    letter, start = word[0], word.start()
    after = text[end : end + 24]
    if vocabulary.cues.within.search(text[max(0, start - 2) : start]):
        return _quoted(text, start, end)
    if vocabulary.cues.goes_on_as.match(after):
        return _quoted(text, start, end)
    if not letter.isupper():
        offered = letter.upper() in vocabulary.letters
        return offered and bool(
            vocabulary.cues.before_small.search(text[max(0, start - 12) : start])
            and _AFTER_SMALL.match(after)
        )
    if letter in vocabulary.cues.pronoun_letters:
        return bool(vocabulary.cues.after_pronoun.match(after))
    offered = letter in vocabulary.letters
    if letter in vocabulary.cues.article_letters:
        return offered and bool(vocabulary.cues.after_letter.match(after))
    return offered or bool(vocabulary.cues.after_letter.match(after))


def _quoted(text: str, start: int, end: int) -> bool:
    """Whether the letter stands alone between apostrophes: 'B'."""
    closed = text[end : end + 1] == "'" or text[end : end + 2] in (")'", ".'")
    return text[start - 1 : start] == "'" and closed and not text[start - 2 : start - 1].isalnum()


def _labelled(text: str, single: list[Mention], vocabulary: Vocabulary) -> list[Mention]:
    """Join letters with the options' words that they label; "non-X Y" counts as Y."""
    merged: list[Mention] = []
    for mention in single:
        before = merged[-1] if merged else None
        if before is not None and _is_label(text, before, mention, vocabulary.cues):
            letters = before.letters & mention.letters or before.letters | mention.letters
            merged[-1] = replace(mention, start=before.start, letters=letters, lettered=True)
        elif (
            before is not None
            and text[max(0, before.start - 4) : before.start].lower() in ("non-", "non ")
            and text[before.end : mention.start] == " "
        ):
            merged[-1] = replace(mention, start=before.start - len("non-"))
        else:
            merged.append(mention)
    return merged


def _is_label(text: str, label: Mention, mention: Mention, cues: Cues) -> bool:
    gap = text[label.end : mention.start]
    if not label.lettered or mention.lettered or len(gap) > _GAP + len("the "):
        return False
    if not gap:  # "B女性"
        return True
    if "\n" not in gap and cues.label_gap.fullmatch(gap):
        return True
    return bool(cues.full_stop.fullmatch(gap)) and (
        label.letters <= mention.letters or bool(_ENDS_LINE.match(text, mention.end))
    )


def _spelt(text: str, label: Mention, vocabulary: Vocabulary) -> Mention:
    """Join a letter with the text after it if the text resembles an option's.

    The text may be truncated ("(a) Liber"), misspelt or reworded. If it is another option's, its letter is
    added, so that the mention is ambiguous.
    """
    if not label.lettered or len(label.letters) > 1 or label.end - label.start > 1:
        return label
    match = _LABELLED_TEXT.match(text, label.end)
    if match is None:
        return label
    words = phrase(match["text"])
    scores = {
        letter: max(_likeness(words, name) for name in names) for letter, names in vocabulary.texts.items()
    }
    best = max(scores.values(), default=0.0)
    if best <= _UNLIKE:
        return label
    likeliest = frozenset(letter for letter, score in scores.items() if score == best)
    return replace(label, end=match.end(), letters=label.letters & likeliest or label.letters | likeliest)


def _likeness(words: Phrase, name: Phrase) -> float:
    """How similar words are to an option's text: as its beginning, letter by letter, or by shared words."""
    written, full = " ".join(words), " ".join(name)
    if len(written) >= _SHORTEST_CUT and full.startswith(written):
        return 1.0
    likeness = 0.0
    if _SHORTEST_CUT < len(full) <= _LONGEST_SPELT and abs(len(written) - len(full)) <= len(full) / 4:
        likeness = SequenceMatcher(None, written, full, autojunk=False).ratio()
    shared = len(set(name) & set(words)) / len(set(name)) if len(set(name)) >= _FEWEST_SHARED else 0.0
    return max(likeness, shared)


def _joined(text: str, single: list[Mention], vocabulary: Vocabulary) -> list[Mention]:
    """Join neighbouring mentions connected by "or" and the like; a repeated letter begins a new mention."""
    joined: list[Mention] = []
    last = NOTHING
    for mention in single:
        before = joined[-1] if joined else None
        again = before is not None and mention.letters & before.letters and mention.letters != last
        if before is not None and not again and _joins(text, before, mention, vocabulary.cues):
            joined[-1] = replace(before, end=mention.end, letters=before.letters | mention.letters)
        else:
            joined.append(mention)
        last = mention.letters
    return joined


def _ruled_out(text: str, mention: Mention, cues: Cues) -> bool:
    """Whether "not" precedes the mention in its sentence, so that the choice follows after ":" or ";"."""
    sentence = cues.boundary.split(text[max(0, mention.start - _LONGEST_GAP) : mention.start])[-1]
    return cues.negated_before.search(sentence) is not None


def _joins(text: str, before: Mention, mention: Mention, cues: Cues) -> bool:
    """Whether two mentions are separated only by a conjunction, a space, or the bracket of "(B)"."""
    gap = text[before.end : mention.start]
    if gap and not gap.strip(" "):
        return True
    if len(gap) > _LONGEST_GAP:
        return False
    if cues.join.fullmatch(gap):
        return not re.search("[:;]", gap) or not _ruled_out(text, before, cues)
    return gap.strip(" ") == "(" and mention.lettered and text[mention.start + 1 : mention.start + 2] == ")"
