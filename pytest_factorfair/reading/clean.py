"""Clean a reply: remove reasoning, citations, markup and invisible characters, and unify signs."""

from __future__ import annotations

import html
import re
import unicodedata

from pytest_factorfair.languages import SIGNS
from pytest_factorfair.reading.cues import Cues

_REASONING = r"think|thinking|thought|thoughts|reasoning|scratchpad|analysis|reflection"
_REASONING_TAG = re.compile(
    rf"[<◁]\s{{0,9}}(/?)\s{{0,9}}(?:\w{{1,20}}:)?(?:{_REASONING})(?:_\w{{1,20}})?\b[^<>◁▷]{{0,100}}[>▷]",
    re.IGNORECASE,
)
# Special tokens of Magistral, Command, OpenThinker, Gemma, Apertus and Solar: [THINK], <|START_THINKING|>,
# <|end_of_thought|>, <|channel>thought ... <channel|>, <|inner_prefix|>, <|think|> ... <|content|>.
_REASONING_TOKEN = re.compile(
    r"(?P<opening>\[THINK\]|<\|channel>(?:\s{0,9}thought\b)?|<\|(?:inner_prefix|think)\|>"
    rf"|(?i:<\|(?:begin|start)_(?:of_)?(?:{_REASONING})\|>))"
    r"|\[/THINK\]|</?channel\|>|<\|(?:inner_suffix|/think|content)\|>"
    rf"|(?i:<\|end_(?:of_)?(?:{_REASONING})\|>)"
)

# Headers of the channels of gpt-oss (Harmony): <|start|>assistant<|channel|>final<|message|>. Servers without
# its parser drop the tokens: "analysisThe user asks ...assistantfinalB". A channel at the start
# of the text is glued to it or a line of its own; "final answer: B" and "analysis shows" are ordinary words.
_CHANNEL_NAME = "(?:analysis|commentary|final)"
_MESSAGE = r"(?:[ ]{0,9}to=[\w.]{1,60})?(?:[ ]{0,9}<\|constrain\|>[ ]{0,9}\w{1,20})?[ ]{0,9}<\|message\|>"
_GLUED_FINAL = r"final(?=[A-Z0-9{\[*`]|json|[^\x00-\x7f])"
_STARTING = rf"(?:analysis|commentary)(?=[^\W_]|[ ]to=|\n)|{_GLUED_FINAL}|final(?=\n)"
_CHANNEL = re.compile(
    rf"""
      (?:<\|start\|>\s{{0,9}})?(?:assistant\s{{0,9}})?<\|channel\|>\s{{0,9}}{_CHANNEL_NAME}(?:{_MESSAGE})?
    | {_CHANNEL_NAME}{_MESSAGE}
    | assistant{_CHANNEL_NAME}
    | \A\s{{0,9}}(?:assistant\s{{1,9}})?(?:{_STARTING})
    """,
    re.VERBOSE,
)
# In a text that begins with a channel, spaces or lines may replace the tokens, and the role may be missing.
_BEGUN_CHANNEL = re.compile(
    r"\s{0,9}(?:<\|\w{1,20}\|>\s{0,9}|assistant\b\s{0,9}){0,4}(?:analysis|commentary)"
)
_LATER_CHANNEL = re.compile(
    rf"{_CHANNEL.pattern}|\bassistant\s{{1,9}}{_CHANNEL_NAME}\b|^{_CHANNEL_NAME}$|(?<![a-z])(?:{_GLUED_FINAL})",
    re.VERBOSE | re.MULTILINE,
)
# Reasoning that plain words end: Granite's, and Gemma's without its tokens, whose answer is the last line.
_WORDED = re.compile(
    r"\s{0,9}(?:Here is my thought process:(?:.*\n\s{0,9}Here is my response:)?|thought\n(?:.*\n(?=.))?)",
    re.DOTALL,
)

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

# It ends at a quotation mark and at a full-width sign: in JSON and in Chinese no space follows it.
_URL = r"https?://[\w/?#:@!$&'*+,;=.~%|-]{1,2000}"
_LINK = rf"\[(?P<words>[^\[\]\n]{{0,300}})\]\({_URL}[^()\n]{{0,300}}\)"
_NUMBERS = r"\[\^?\d{1,3}(?:[,; -]{1,2}\d{1,3}){0,9}\]"
# What a model that searches adds: "[1]", "¹", "【1†source】", "([cdc.gov](https://...))" and footnotes.
_CITATION = re.compile(
    rf"^[ \t]{{0,9}}\[\^?\d{{1,3}}\](?::[^\n]*|[^\n]*?{_URL}[^\n]*)$"
    rf"|\((?:{_LINK.replace('?P<words>', '?:')}[ ,;]{{0,3}}){{1,9}}\)"
    rf"|\[?{_NUMBERS}\]?(?:\({_URL}[^()\n]{{0,300}}\))?|[⁰¹²³⁴-⁹]{{1,9}}|【[^【】\n]{{0,80}}†[^【】\n]{{0,80}}】",
    re.MULTILINE,
)
_LINKED = re.compile(rf"{_LINK}|{_URL}")

_ANSWER_TAG = re.compile(r"<(?:final[ _-]?)?(?:answer|choice|response)>", re.IGNORECASE)
# An option in angle brackets, unless it is markup that is closed: "<B>", "<Option B>", "<B. Black>".
_ANGLED = re.compile(
    r"<(?:(?i:(?:final )?(?:answer|option|choice|letter))\s?[:= ]\s?)?[\"']?"
    r"([A-OQ-Z])([.):] ?[^<>]{1,200})?[\"']?>(?![\s\S]{0,300}</\1>)"
)
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
    text = _final_channel(text)
    if worded := _WORDED.match(text):
        text = "" if worded[0].endswith("process:") else text[worded.end() :]
    text = _REASONING_TOKEN.sub(lambda token: "<think>" if token["opening"] else "</think>", text)
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


def _final_channel(text: str) -> str:
    """The last final channel of a text in channels; without one, what precedes the first channel."""
    pattern = _LATER_CHANNEL if _BEGUN_CHANNEL.match(text) else _CHANNEL
    headers = [*pattern.finditer(text)]
    ends = [*(header.start() for header in headers[1:]), len(text)]
    for header, end in zip(reversed(headers), reversed(ends), strict=False):
        if "final" in header[0].partition("to=")[0]:
            return text[header.end() : end]
    return text[: headers[0].start()] if headers else text


def clean(text: str, cues: Cues) -> str:
    """Remove citations, markup, escapes and invisible characters; full-width characters become plain ones.

    Look-alike letters of other alphabets are kept: a Cyrillic letter is not an option. Markup that marks an
    answer is replaced by words of the language.
    """
    text = _BREAK.sub("\n", _ESCAPE.sub("", text) if "\x1b" in text else text)
    if "[" in text or "://" in text or not text.isascii():
        text = _LINKED.sub(lambda link: link["words"] or "", _CITATION.sub("", text))
    if not text.isascii():
        text = unicodedata.normalize("NFKC", _STRUCK_SIGN.sub("", text))
    text = _INVISIBLE.sub("", text)
    if "&" in text:
        text = html.unescape(text)
    text = text.translate(_SIGNS) if not text.isascii() else text
    if "<" in text:
        text = _ANGLED.sub(r"(\1)\2", text)
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
