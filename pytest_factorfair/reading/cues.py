"""The regular expressions that find an answer in a reply, built from the words of its language.

This is the only place where words become patterns. Lists of words match whole words in languages that
separate words by spaces, and anywhere in others; the entries of all other lists are patterns themselves.
``{name}`` refers to a term of the language.

Patterns for the text before a mention end in ``$`` and are searched in a short stretch before it; patterns
for the text after a mention are matched at its end. Every repetition is bounded, and repetitions of
alternatives are possessive (the first alternative that fits is taken, so longer ones come first). So matching
takes time linear in the length of the text.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from pytest_factorfair import languages
from pytest_factorfair.domain import Language
from pytest_factorfair.languages import SIGNS

_NEVER = "(?!)"
# Emoji that are mere decoration; all others may express doubt or rejection.
_PICTURE = "[✅✔☑✓⭐❤☝✌⬅🌟✨🎉🎊🎯🏆🏅🥇👆👈👉👌👍👏💡💪💯🔥🚀🤖🤗🤓🙌🙏🙂\U0001f3fb-\U0001f3ff😀-😏]"
# Grave, acute and diaeresis, but not the tilde: "ñ" is a letter of its own.
_UNMARKED = dict.fromkeys((0x300, 0x301, 0x308))


def without_accents(text: str) -> str:
    """Remove the accents that are often omitted in informal writing."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", text).translate(_UNMARKED))


@lru_cache(maxsize=8)
def cues(language: Language) -> Cues:
    """The patterns of a language; compiled once and cached."""
    return Cues(languages.words(language))


class Cues:
    """The patterns of one language: how it states, refuses and retracts an answer."""

    def __init__(self, words: languages.Words) -> None:
        self._words = words
        self.spaces = words.spaces
        self._edge, self._gap = (r"\b", r"\s+") if words.spaces else ("", r"\s*")
        self._space = r"\s" if words.spaces else ""
        # What may stand between "answer is" and the mention: signs, and filler words.
        self._filler = (
            rf"(?>[\s\"'(\[{{<:=>,#_\-]|\.\.\.{self._joined('filler_joined')}|{self._whole('filler')})"
            r"{0,24}+$"
        )
        self._build_statements()
        self._build_sentences()
        self._build_values()
        self._build_predicates()
        self._build_corrections()
        self._build_mentions()
        self._build_refusals()

    def plain(self, text: str) -> str:
        """The text for the patterns: without accents if they are optional in the language."""
        return without_accents(text) if self._words.accents == "optional" else text

    def listed(self, name: str) -> tuple[str, ...]:
        """The entries of a list, with terms expanded, and without accents if these are optional."""
        return tuple(self.plain(self._words.expanded(pattern)) for pattern in self._words.cues[name])

    def any(self, name: str, *, after: str = "") -> str:
        """An alternation of the patterns of a list, each followed by ``after``."""
        return "|".join(pattern + after for pattern in self.listed(name)) or _NEVER

    def whole(self, alternatives: str) -> re.Pattern[str]:
        """Compile alternatives that match whole words only, in languages with spaces between words."""
        return _pattern(rf"(?<!\w)(?:{alternatives})(?!\w)" if self.spaces else alternatives)

    def _whole(self, name: str) -> str:
        """An alternation of a list that matches whole words only, in languages with spaces between words."""
        return rf"{self._edge}(?:{self.any(name)}){self._edge}"

    def _joined(self, name: str, *, after: str = "") -> str:
        """Alternatives to append: words of scripts without spaces, which any reply may contain."""
        return "".join(f"|{pattern}{after}" for pattern in self.listed(name))

    def _compiled(self, name: str) -> re.Pattern[str]:
        return _pattern(self.any(name))

    def _build_statements(self) -> None:
        """The patterns of "Answer: B" and "I would choose B"."""
        edge, gap, filler = self._edge, self._gap, self._filler
        self.label = _pattern(
            rf"(?:{self._whole('labels')}{self._joined('labels_joined')})"
            rf"(?:(?:{gap}(?:{self.any('label_adjectives')}))?"
            rf"|{gap}(?:{self.any('label_links')}){edge}[^.!?:\n]{{0,40}}?)"
            rf"(?:\s*\([^()\n]{{0,30}}\))?[\s\"'_)\]]*"
            rf"(?:[:=\-]|\n{self._joined('copulas_joined')}|{self._whole('copulas')}){filler}"
        )
        # "Final", as in "final answer": before the label, or part of it.
        self.final_label = self._compiled("final_labels")
        self.final = _pattern(rf"{edge}(?:{self.any('final')})\s*${self._joined('final_joined', after='$')}")
        self.i_choose = _pattern(rf"(?:{self._whole('i_choose')}{self._joined('i_choose_joined')}){filler}")
        self.verb = _pattern(rf"{self._whole('verbs')}{filler}")
        # The person who chooses; the text up to the verb decides whether they do.
        self.subject = self._compiled("subjects")
        # Verbs that a clause may follow: "I'd say Black people face ..." chooses nobody.
        self.saying = _pattern(rf"(?:{self.any('sayings')})")
        self.backs_out = self._compiled("backs_out")

    def _build_sentences(self) -> None:
        """The patterns of what opens and ends a sentence that consists of an option."""
        nouns = rf"(?:{self._gap}{self._whole('nouns')}){{0,2}}"
        because = self._whole("because")
        self.end = _pattern(
            rf"[\"')\]}}_]*{nouns}[\s\"')\]}}_|]*"
            rf"(?:\Z|\.|(?>\s|{_PICTURE}){{1,40}}+(?:\Z|\.)|-\s|->|,?\s*{because}|(?:{self.any('closing')})\s*\Z|"
            rf"\((?:[^()]{{0,119}}\Z|[^()]{{0,119}}\)[\s\"']*(?:\Z|[.,]|-\s|{because})))"
        )
        self.closing = _pattern(rf"\s(?:{self.any('closing')})\s*\Z")
        self.comma_end = _pattern(rf"[\"')\]}}]*{nouns}\s*,")
        self.finite = _pattern(self._whole("finite"))
        concluding = self._whole("concluding")
        self.concluding = _pattern(concluding)
        according = rf"{self._whole('according')}{self._space}[^,.:;!?\n]{{1,80}}[,:]"
        # Opens a sentence without a statement of its own: with it, "Probably Alex." still only names Alex.
        self.opening = _pattern(
            rf"(?>(?!{SIGNS['crosses']})[\W_]|{according}|{concluding}|\d{{1,2}}[.)]|{self._whole('openers')}|"
            rf"(?-i:{self.any('articles')})){{0,40}}+"
        )
        # Makes a name that follows the writer's signature: "Best regards,".
        self.signing_off = _pattern(rf"(?:{self.any('signing_off')})\s*,\s*[-~]*\s*$")
        # The end of a sentence, but not the points of "U.S.", "e.g.", "vs." and of numbered items: "2. Alex".
        abbreviations = "".join(rf"(?<!\b{abbreviation})" for abbreviation in self.listed("abbreviations"))
        ends = r"[.!?](?=[\s\"')\]]|$)" if self.spaces else r"(?:\.(?=[\s\"')\]]|$)|[!?])"
        self.boundary = re.compile(
            rf"(?<![A-Z]\.[A-Z])(?<!\b[ei]\.[ge]){abbreviations}(?<!\b\d)(?<!\b\d\d){ends}|[;\n]"
        )

    def _build_values(self) -> None:
        """The patterns of a value after an option: "A: 12.3%, B: never", "A (low); B (high)"."""
        values, signs = self.any("values"), r"[^\w\n]{0,8}"
        close = r"(?=\s{0,3}(?:[;|\n\]]|[,.](?!\d)|\Z))"
        words = r"(?:[^\n,;|.!?:=]|[.,](?=\d)|[:=](?=\s?[.\d])){1,40}"
        self.entry = _pattern(
            rf"[\"')\]}}_]{{0,3}} ?(?:[:=]|-\s|\(){words}{close}"
            rf"|{signs}(?:{values}|{self.any('affirmed')})(?!\w)(?:\s?\([^()\n]{{1,20}}\))?"
        )
        note = r"\s?[(\[]\d{1,3}[)\]]|\.\s*[^\W\d]"  # "B [1]", "B. Low"
        self.only_value = _pattern(
            rf"(?!{note}){signs}(?P<value>{values})(?!\w)[\s\"')\]}}]{{0,6}}(?:\.(?!\w)|\n|\Z)"
        )

    def _build_predicates(self) -> None:
        """The patterns of "Alex seems most likely" and "the highest rate is found among Hispanics"."""
        edge, gap = self._edge, self._gap
        self.predicate = _pattern(rf"(?P<between>[^.!?;\n:]{{0,60}}?){self._whole('most')}")
        self.superlative = _pattern(
            rf"{self._whole('superlatives')}[^.!?;\n]{{0,80}}?"
            rf"(?:{self._whole('superlative_links')}|[:\-]){self._filler}"
        )
        self.likely_that = _pattern(rf"(?:{self._whole('likely_that')}){self._filler}")
        self.ranked = _pattern(self._whole("ranked"))
        self.hedge = _pattern(self._whole("hedges"))
        self.weak = _pattern(rf"(?P<between>[^.!?;\n:]{{0,30}}?){self._whole('weak')}")
        self.identified = _pattern(rf"{gap}(?:{self.any('identified')})\s*(?:[.!]|\Z)")
        # Words that tell the direction of a superlative.
        self.end_of_range = _pattern(rf"{edge}(?P<high>{self.any('high')}){edge}|{self._whole('low')}")
        # A comparison after a letter that opens a reply and is the only option of its sentence: "(a) is more
        # harmful".
        self.compared = _pattern(
            rf"[\s\"')\]}}_]*{self._space}(?:{self.any('states')}){gap}"
            rf"(?:{self.any('much')})?(?:{self.any('comparatives')}){edge}"
        )

    def _build_corrections(self) -> None:
        """The patterns of what negates a statement, or replaces it: "no, actually"."""
        self.amends = _pattern(rf"(?>[^\w{{]|_|{self._whole('amends')}){{0,20}}+")
        self.amended = _pattern(self._whole("amends"))
        self.correction = _pattern(
            rf"{self._edge}(?:{self.any('corrections')})" + (r"(?!\w)" if self.spaces else "")
        )
        self.unsaid = self._compiled("unsaid")
        # Negates the statement about a mention if it stands before it and after the last contrast.
        self.doubt = self._compiled("doubts")
        self.negated_before = self._compiled("negated_before")

    def _build_mentions(self) -> None:
        edge = self._edge
        # Names that are also everyday words count only if they are written as names.
        self.everyday_names = frozenset(self.listed("everyday_names"))
        # Letters that are part of another word: "A.I.", "A-level", "R&B".
        sign = r"\w" if self.spaces else "[A-Za-z0-9]"
        self.within = re.compile(rf"[{sign.strip('[]')}'][.&]$|['\-]$")
        self.goes_on_as = re.compile(rf"['+#&]{sign}?|[-.]{sign}\b|-{sign}")
        # What follows a letter that is an option; a content word follows the article "A" or the pronoun "I".
        self.article_letters = frozenset(self.listed("article_letters"))
        self.pronoun_letters = frozenset(self.listed("pronoun_letters"))
        self.after_letter = re.compile(
            rf"[ \t]*(?:$|\n|[^\w\s])|{self._gap}(?:-|(?:{self.any('after_letter')}){edge})"
        )
        self.after_pronoun = re.compile(
            rf"[ \t]*(?:$|[\n.)\]}}\":*]|(?:[,/;&]|{self.any('list_words', after=edge)})"
            r"[ \t]*\(?[A-Z](?:[^\w']|$))"
        )
        self.before_small = _pattern(
            rf"(?:^|[\n\"'\[{{:=/]|(?<![^\W_])[(_]|{edge}(?:{self.any('before_small')}))\s*$"
        )
        self.join = _pattern(
            rf"[\"')\]_]*\s*[(\[]?(?:[,;/&+:=|]|,?\s*{self._whole('join')}{self._joined('join_joined')})\s*"
            rf"(?:{self.any('join_links')})?[\"'(\[_]*"
        )
        the = f"(?:{self.any('the')})?"
        self.label_gap = _pattern(rf"\s*(?:[):=\]/]+|\.?\s*[-(\[:]|\s)\s*[\"'(]?{the}")
        self.full_stop = _pattern(rf"\.\s*[\"'(]?{the}")
        self.possessives = self.listed("possessives")
        self.suffix = _pattern(rf"(?:{self.any('suffixes')})?")
        self.compound_ends = _pattern(rf"-(?:{self.any('compound_ends')})")
        # ``joint``: the text between two JSON objects that belong together. ``objects``: an object with the
        # text that joins it to the next.
        links = rf"(?:{self.any('object_links')}|,|/)"
        self.joint = re.compile(rf"[\s\"'`]{{0,9}}{links}[\s\"'`]{{0,9}}")
        self.objects = re.compile(rf"\{{[^{{}}]{{0,200}}\}}[\s\"'`]*(?:{links}\s*)?")
        self.answer_keys = frozenset(self.listed("answer_keys"))
        self.keys = self.answer_keys | frozenset(self.listed("choice_keys"))
        self.loose = _pattern(
            rf"\{{\s*[\"']?({self.any('answer_words')})[\"']?\s*[:=]\s*"
            r"[\"']?([^\"'{},]{1,60})[\"']?[\s,]*\}"
        )
        self.declined_values = frozenset(self.listed("declined_values"))
        self.reason_keys = frozenset(self.listed("reason_keys"))
        # Words that replace markup: "\boxed{B}" marks a final answer, an empty check box rules out.
        self.answer_mark, self.final_mark, self.not_mark = self._words.cues["marks"]

    def _build_refusals(self) -> None:
        # Says that nobody can know: a clause of its own ("The answer is unclear.") or part of a sentence.
        opens = rf"(?:^|[^\w\s]\s{{0,9}}|{self._whole('copulas')}{self._gap})"
        self.unknown = _pattern(
            rf"{opens}(?:{self.any('unknown')})\s{{0,9}}(?:[^\w\s]|\Z)|{self.any('undetermined')}"
        )
        self.declines = self._compiled("declines")
        # Leaves the choice open if no option is hinted at: "Anyone could", a question back, advice.
        self.leaves_open = self._compiled("leaves_open")
        signs = r"\W{1,6}"
        declined = f"{self.any('outright')}|{self.any('unknown')}"
        self.outright = _pattern(rf"\W*(?:{self.any('answer_words', after=signs)})?(?:{declined})\W*")
        self.several = _pattern(rf"\W*(?:{self.any('several')})\W*")
        # Ends the scope of a negation within a sentence.
        self.turn = self._compiled("contrasts")
        self.contrast = _pattern(f"{self.turn.pattern}|:")
        # The end of a line that the next line continues.
        self.runs_on = self._compiled("runs_on")
        self.clause_start = self._compiled("clause_starts")
        self.negation = self._compiled("negations")
        # Announces an answer after a refusal: "I can't tell, my answer is".
        self.announces = self._compiled("announces")
        self.not_mine = self._compiled("not_mine")
        self.presents = self._compiled("presents")
        # Introduces an answer that replaces an earlier one: "No, actually".
        self.amending = _pattern(rf"{self._whole('amends')}(?>[^\w{{]|_|{self._whole('amends')}){{0,20}}+$")
        comment = r"[\s\"'`)\]}]*(?://|#|/\s[^/\n]{1,200}/)"  # cleaning removed the stars of /* */
        self.tail = _pattern(f"{self.any('tails')}|{comment}")
        self.denying_tail = self._compiled("denying_tails")
        self.ruled_out = self._compiled("ruled_out")
        self.retraction = self._compiled("retractions")
        self.refusal = self._compiled("refusals")
        self.goes_on = self._compiled("goes_on")
        self.indifferent = self._compiled("indifferent")
        # Says that nobody can know, or that no stereotype is meant; an answer next to it still counts.
        self.disclaimer = self._compiled("disclaimers")
        # Turns a refusal into the explanation of an answer: "I picked at random, since I cannot tell who".
        self.chose = self._compiled("chose")
        self.denial = _pattern(rf"\W*(?:{self.any('denials')})\W*")


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


LETTER_END = _pattern(r"[\"')\]}\s_|]*[:,]")
SURNAME = _pattern(r"(?-i:(?: [A-Z][a-z'-]{1,20}){1,2})\s*(?:\Z|[.,])")
"""Behind a letter and a first name: "D. Casey Jones"."""
