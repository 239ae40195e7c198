"""Messages of servers and libraries, made fit to be shown: one line, short, without secrets or commands."""

from __future__ import annotations

import re

LONGEST = 200

# What services echo back of a key they refuse is often masked in part ("sk-ab***yz"): such words go as well.
_SECRET = re.compile(
    r"(?i)\b(?:bearer|basic)\s+\S+"
    r"|\b(?:sk|pk|rk|gsk|hf|xai|key|pplx|r8|nvapi|AIza)[-_][\w*.-]{6,}"
    r"|\bAIza[\w-]{10,}"
    r"|(?<=://)[^\s/@]+@"
)
_UNPRINTABLE = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029\s]+")


def fit(text: str, *secrets: str) -> str:
    """The text as one short line, the given secrets and what looks like one replaced by "***"."""
    for secret in filter(None, secrets):
        text = text.replace(secret, "***")
    line = _UNPRINTABLE.sub(" ", _SECRET.sub("***", text[: LONGEST * 20])).strip()
    line = line.replace("##[", "## [")  # a CI runner obeys it anywhere in a line of its log
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}..."
