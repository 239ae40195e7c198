"""Replaces secrets by "***" in everything shown or written: URLs, messages of servers and libraries."""

from __future__ import annotations

import re
from urllib.parse import quote

LONGEST = 200

# Services often echo a refused key partly masked ("sk-ab***yz"): such words are replaced, too.
_SECRET = re.compile(
    r"(?i)\b(?:bearer|basic)\s+\S+"
    r"|\b(?:sk|pk|rk|gsk|hf|xai|key|pplx|r8|nvapi|AIza)[-_][\w*.-]{6,}"
    r"|\bAIza[\w-]{10,}"
)
# User and password before an "@", even if slashes are missing: "postgresql:/user:password@host".
_USERINFO = re.compile(r"(?<=:)(/*)(?:[^\s:/@]*:\S*|[^\s/@]+)@")
# Up to the end of the word, without quotes and full stops that follow a URL in a sentence.
_QUERY = re.compile(r"(://[^\s?#]*[?#])\S+?(?=[\"')\]>]*[.,;:]?(?:\s|$))")
_UNPRINTABLE = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029\s]+")


def redacted(text: str) -> str:
    """The text without anything like a key, and without user, password, query and fragment of its URLs."""
    return _SECRET.sub("***", _QUERY.sub(r"\1***", _USERINFO.sub(r"\1***@", text)))


def shown_url(url: str) -> str:
    """A user's URL in a form that may be shown; it need not be a valid URL."""
    whole = _USERINFO.sub(r"\1***@", quote(url, safe=":/?#[]@!$&()*+,;=%"))
    return redacted(re.sub(r"([?#]).+", r"\1***", whole))


def fit(text: str, *secrets: str) -> str:
    """The text as one short line; the given secrets, and anything like a secret, become "***"."""
    for secret in filter(None, secrets):
        text = text.replace(secret, "***")
    line = _UNPRINTABLE.sub(" ", redacted(text[: LONGEST * 20])).strip()
    line = line.replace("##[", "## [")  # a CI runner executes it anywhere in a log line
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}..."
