"""Replaces secrets by "***" in everything shown or written: settings, messages, replies, reports.

A secret is anything like a key, a password in a URL, and every known one: the keys of models, those in the
environment, and what looks like a key in a base URL or a system prompt.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

HIDDEN = "***"
LONGEST = 200

SHORTEST = 8
"""Characters of a known secret; shorter keys are placeholders such as EMPTY, and may be words of a reply."""

# A full stop that ends a sentence is not part of the key.
_KEY = (
    r"\b(?:sk|pk|rk|gsk|hf|xai|key|pplx|r8|nvapi|gh[opsu]|github_pat|glpat|xox[abeprs])[-_]"
    r"[\w*.-]{6,}?(?=\.?(?:[^\w*.-]|$))"
    r"|\bAIza[\w-]{10,}|\b(?:AKIA|ASIA)[A-Z0-9]{12,}|\beyJ[\w-]{8,}\.[\w.-]{8,}"
)
# Services often echo a refused key partly masked ("sk-ab***yz"): such words are replaced, too.
_SECRET = re.compile(rf"(?i)\b(?:bearer|basic)\s+\S+|{_KEY}")
# A word that no person would type: a UUID, or letters and digits mixed.
_RANDOM = re.compile(
    r"(?i)(?<![^\W_])(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|(?=[a-z]*\d)(?=\d*[a-z])[a-z0-9]{16,})(?![^\W_])"
)
_KEY_VARIABLE = re.compile(r"(?i)(?:key|token|secret|password)(?:_id)?$")
_VARIABLE = re.compile(r"[A-Z]+|(?:[A-Z0-9]{1,15}_)+[A-Z0-9]{1,15}")
# User and password before an "@", even if slashes are missing: "postgresql:/user:password@host".
_USERINFO = re.compile(r"(?<=:)(/*)(?:[^\s:/@]*:\S*|[^\s/@]+)@")
# Up to the end of the word, without quotes and full stops that follow a URL in a sentence.
_QUERY = re.compile(r"(://[^\s?#]*[?#])\S+?(?=[\"')\]>]*[.,;:]?(?:\s|$))")
_UNPRINTABLE = re.compile(r"[\x00-\x20\x7f-\x9f\u2028\u2029\s]+")

_registered: set[str] = set()


def conceal(*secrets: str) -> None:
    """Replace these strings wherever this process shows or writes them from now on."""
    _registered.update(secret for secret in secrets if len(secret) >= SHORTEST)


def conceal_keys(text: str) -> None:
    """Conceal what is clearly a key in a text, such as a system prompt: unlike words, it has digits."""
    keys = [*re.findall(_KEY, text, re.IGNORECASE), *_RANDOM.findall(text)]
    conceal(*(key.rstrip(".*-") for key in keys if any(map(str.isdecimal, key))))


def conceal_path(url: str) -> None:
    """Conceal the parts of a URL's path that look like keys."""
    parts = urlsplit(url).path.split("/")
    conceal(*(part for part in parts if _SECRET.search(part) or _RANDOM.search(part)))


def conceal_variable(name: str) -> None:
    """Conceal what should be the name of a variable of the environment, but may be the key itself."""
    if name not in os.environ and not _VARIABLE.fullmatch(name):
        conceal(name)


def secrets() -> Collection[str]:
    """All known secrets, the longest first: those concealed, and the keys in the environment.

    A key has digits; the value of a variable such as SSH_KEY may be the path of a file.
    """
    keys = (
        value
        for name in os.environ
        # A thread may delete a variable meanwhile, as pytest does.
        if len(value := os.environ.get(name, "")) >= SHORTEST
        and _KEY_VARIABLE.search(name)
        and any(map(str.isdecimal, value))
        and not (value.startswith("~") or Path(value).exists())
    )
    return sorted({*_registered, *keys}, key=len, reverse=True)


def concealed(text: str, known_secrets: Collection[str] | None = None) -> str:
    """The text without known secrets, and otherwise unchanged: a reply is counted as it was written.

    ``known_secrets`` saves callers with many texts from looking them up for each.
    """
    for secret in secrets() if known_secrets is None else known_secrets:
        if secret in text:
            text = text.replace(secret, HIDDEN)
    return text


def identified(identity: Mapping[str, object]) -> Mapping[str, object]:
    """A model's identity without known secrets; if it has any, their size and a digest keep it distinct."""
    withdrawn: list[str] = []

    def plain(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: plain(part) for name, part in value.items()}
        if isinstance(value, list | tuple):
            return [plain(part) for part in value]
        if isinstance(value, str) and (safe := concealed(value, known_secrets)) != value:
            withdrawn.append(value)
            return safe
        return value

    known_secrets = secrets()
    safe: dict[str, object] = plain(identity)
    if not withdrawn:
        return identity
    whole = json.dumps(withdrawn).encode()
    return {**safe, "withheld": {"bytes": len(whole), "sha256": hashlib.sha256(whole).hexdigest()}}


def withheld(identity: Mapping[str, object]) -> int:
    """The bytes of what ``identified`` replaced."""
    size = identity.get("withheld")
    return int(size["bytes"]) if isinstance(size, Mapping) else 0


def redacted(text: str) -> str:
    """The text without secrets, and without user, password, query and fragment of its URLs."""
    return concealed(_SECRET.sub(HIDDEN, _QUERY.sub(rf"\1{HIDDEN}", _USERINFO.sub(rf"\1{HIDDEN}@", text))))


def shown_url(url: str) -> str:
    """A user's URL in a form that may be shown; it need not be a valid URL."""
    whole = _USERINFO.sub(rf"\1{HIDDEN}@", quote(url, safe=":/?#[]@!$&()*+,;=%"))
    return redacted(re.sub(r"([?#]).+", rf"\1{HIDDEN}", whole))


def fit(text: str) -> str:
    """The text as one short line without secrets."""
    line = _UNPRINTABLE.sub(" ", redacted(text[: LONGEST * 20])).strip()
    line = line.replace("##[", "## [")  # a CI runner executes it anywhere in a log line
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}..."
