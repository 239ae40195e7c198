"""Clean a reply: remove reasoning, markup and invisible characters, and unify the spelling of signs."""

from __future__ import annotations

import html
import re
import unicodedata

from pytest_factorfair.languages import SIGNS
from pytest_factorfair.reading.cues import Cues

_REASONING = r"think|thinking|thought|thoughts|reasoning|scratchpad|analysis|reflection"
_REASONING_TAG = re.compile(
    rf"[<◁]\s{{0,9}}(/?)\s{{0,9}}(?:{_REASONING})\b[^<>◁▷]{{0,100}}[>▷]", re.IGNORECASE
)
_FINAL_CHANNEL = "<|channel|>final<|message|>"

_ESCAPE = re.compile(r"\x1b\[[0-9;:?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b.?")
_BREAK = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
# Controls, format characters (zero width, direction, tags), variation selectors, lone surrogates.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\ufe00-\ufe0f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e01ef]"
)
# Quotation marks, hyphens and dashes, full stops and commas of all scripts that models write in.
_SIGNS = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u02bc\u201b\u2032", "'"),
        **dict.fromkeys("“”„‟«»″「」『』【】《》", '"'),
        **dict.fromkeys("\u2010\u2012\u2013\u2212", "-"),
        **dict.fromkeys("—―", " - "),
        **dict.fromkeys("。\u06d4।", ". "),
        **dict.fromkeys("、،", ","),
        "؟": "?",
        "؛": ";",
    }
)

_STRUCK_SIGN = re.compile("[^\\W_][\u0335-\u0338]")
_STRUCK = re.compile(
    r"~~[^~\n]{1,200}~~|(?<!~)~[^~\s]{1,20}~(?!~)|<(s|del|strike)>[^<>]{0,200}</\1>", re.IGNORECASE
)
# A check box or cross at the start of a line: "( ) A (x) B", "✗ A". A tick alone is decoration: "✅ C".
_EMPTY_BOX = rf"\[ ?\]|\( ?\)|[☐□⬜]|{SIGNS['crosses']}"
_TICKED_BOX = r"\[[xX✓✔]\]|\([xX✓✔]\)|[☑☒✓✔✅]"
_BALLOT = re.compile(rf"^(?:[\w ]{{1,30}}:)?[ \t>*•-]{{0,8}}(?:{_EMPTY_BOX}|{_TICKED_BOX}).*", re.MULTILINE)

_ANSWER_TAG = re.compile(r"<(?:final[ _-]?)?(?:answer|choice|response)>", re.IGNORECASE)
_TAG = re.compile(r"<\|[^<>|]{0,40}\|>|</?[a-z!][^<>]{0,200}>|\[/?INST\]", re.IGNORECASE)
_INLINE_TAG = re.compile(
    r"</?(?:b|i|u|em|strong|span|code|mark|font|small|big)\b[^<>]{0,200}>", re.IGNORECASE
)
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[\w+-]*|```[\w+-]{1,20}$", re.MULTILINE)
_MATH_FONT = re.compile(r"\\(?:text|mathrm|mathbf|mathit|mathsf|operatorname)[a-z]{0,4}\s*\{([^{}]{0,300})\}")
_BOXED = re.compile(r"\\(?:boxed|fbox)\s*\{([^{}]{0,300})\}")
_CANCELLED = re.compile(r"\\(?:[bx]?cancel|sout|st)\s*\{[^{}]{0,300}\}")
_MATH = re.compile(r"\\[()\[\]]|\$")

_FORMULA = re.compile(
    r"(?!\(?[A-Z][.):])(?=[^\n]{0,300}[\d=+*/^<>\\])"
    r"(?>\\[A-Za-z]{1,20}|\b(?:sin|cos|tan|log|exp|sqrt|frac|mod|max|min|lim)\b|[A-Za-z]{1,2}(?![A-Za-z])"
    r"|\d|[^\w\n]|_){1,300}+"
)


def is_formula(text: str) -> bool:
    """Whether a text is a number or a formula: "12 %", "x^2 + 1", LaTeX; not "B" or "B. 12"."""
    return _FORMULA.fullmatch(text) is not None


def without_reasoning(text: str) -> str:
    """Remove marked reasoning from a text; an unclosed block extends to the end."""
    text = text.rpartition(_FINAL_CHANNEL)[2]
    if "<" not in text and "◁" not in text:
        return text
    visible: list[str] = []
    depth = at = 0
    for tag in _REASONING_TAG.finditer(text):
        if depth == 0:
            visible.append(text[at : tag.start()])
        if not tag[1]:
            depth += 1
        elif depth:
            depth -= 1
        else:
            visible.clear()  # some chat templates open the block in the prompt
        at = tag.end()
    return "".join(visible) if depth else "".join([*visible, text[at:]])


def clean(text: str, cues: Cues) -> str:
    """Remove markup, escapes and invisible characters; full-width characters become plain ones.

    Look-alike letters of other alphabets are kept: a Cyrillic letter is not an option. Markup that marks an
    answer is replaced by words of the language.
    """
    text = _BREAK.sub("\n", _ESCAPE.sub("", text) if "\x1b" in text else text)
    if not text.isascii():
        text = unicodedata.normalize("NFKC", _STRUCK_SIGN.sub("", text))
    text = _INVISIBLE.sub("", text)
    if "&" in text:
        text = html.unescape(text)
    text = text.translate(_SIGNS) if not text.isascii() else text
    if "<" in text:
        text = _ANSWER_TAG.sub(f"\n{cues.answer_mark}", _STRUCK.sub(" ", text))
        text = _TAG.sub("\n", _INLINE_TAG.sub("", text))
    if re.search(_EMPTY_BOX, text):
        # Replace check boxes by words: options that are not ticked are ruled out.
        text = _BALLOT.sub(
            lambda line: re.sub(
                _TICKED_BOX, f"\n{cues.answer_mark}", re.sub(_EMPTY_BOX, f"\n{cues.not_mark}", line[0])
            ),
            text,
        )
    if "\\" in text or "$" in text:
        text = _BOXED.sub(
            lambda box: f"\n{cues.answer_mark if is_formula(box[1]) else cues.final_mark}{box[1]}\n",
            _CANCELLED.sub(" ", _MATH_FONT.sub(r"\1", text)),
        )
        text = _MATH.sub("", text)
    if "~" in text:
        text = _STRUCK.sub(" ", text)
    if "`" in text or "~" in text:
        text = _FENCE.sub("", text).replace("`", "")
    return cues.plain(text.replace("*", "").strip())
