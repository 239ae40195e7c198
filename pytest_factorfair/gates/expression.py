"""Gate expressions: ``metric[filter,...] op number``."""

from __future__ import annotations

import re

from pytest_factorfair.domain import Comparison, Gate
from pytest_factorfair.errors import InputError, nearest
from pytest_factorfair.protocols.registry import metrics

REASONS = "reason"
COMPARISONS: tuple[Comparison, ...] = (">=", "<=")
EXAMPLE = "write it like s_fact[objective,gender] >= 0.80"
REGRESSION_EXAMPLE = "write it like regression(s_fact)[objective,gender] >= -0.02"

_OPERATOR = re.compile(r"[<>=!≤≥]+")
_SCORE = re.compile(
    r"(?:(?P<change>regression)\s*\(\s*(?P<inner>[^()\[\]]*?)\s*\)|(?P<metric>[^()\[\]]*?))"
    r"\s*(?:\[(?P<filters>[^\[\]]*)\])?"
)
_NUMBER = re.compile(r"(?P<number>[+-]?(?:\d+\.?\d*|\.\d+))\s*(?P<percent>%?)")


def parse(text: str) -> Gate:
    """A gate from its expression; the threshold may be a share or a percentage.

    Raises:
        InputError: one line with the expression, what is wrong in it, and what would be right.
    """
    expression = text.strip()
    score, comparison, number = _split(expression)
    metric, filters, regression = _scored(expression, score)
    threshold = _number(expression, number)
    _check_range(expression, threshold, signed=regression or metrics()[metric].signed)
    return Gate(expression, metric, filters, comparison, threshold, regression)


def _split(text: str) -> tuple[str, Comparison, str]:
    # A model among the filters may contain an equals sign, so the comparison is looked for behind them.
    found = _OPERATOR.search(text, text.rfind("]") + 1)
    if found is None:
        raise InputError(f"gate '{text}': no comparison with a threshold; {EXAMPLE}, or 'default'")
    comparison = next((known for known in COMPARISONS if known == found[0]), None)
    if comparison is None:
        raise InputError(f"gate '{text}': '{found[0]}' is not a comparison; use >= or <=")
    return text[: found.start()].strip(), comparison, text[found.end() :].strip()


def _scored(text: str, score: str) -> tuple[str, tuple[str, ...], bool]:
    found = _SCORE.fullmatch(score)
    example = REGRESSION_EXAMPLE if score.startswith("regression") else EXAMPLE
    if found is None:
        raise InputError(f"gate '{text}': '{score}' is not metric[filter,...]; {example}")
    metric = found["inner"] if found["change"] else found["metric"]
    if metric in ("", "regression"):
        raise InputError(f"gate '{text}': no metric before the comparison; {example}")
    if metric.startswith(REASONS):
        raise InputError(
            f"gate '{text}': what reasons cite is reported, never judged; "
            "gate what is chosen: s_e, s_kld or influence"
        )
    if metric not in (known := metrics()):
        raise InputError(f"gate '{text}': unknown metric '{metric}'{nearest(metric, known)}")
    return metric, _filters(text, found["filters"]), bool(found["change"])


def _filters(text: str, inside: str | None) -> tuple[str, ...]:
    words = tuple(word.strip() for word in inside.split(",")) if inside is not None else ()
    if "" in words:
        raise InputError(f"gate '{text}': an empty filter between the brackets; {EXAMPLE}")
    return words


def _number(text: str, number: str) -> float:
    found = _NUMBER.fullmatch(number)
    if found is None:
        raise InputError(f"gate '{text}': threshold '{number}' is not a number like 0.8, .8 or 80%")
    return float(f"{found['number']}e-2" if found["percent"] else found["number"])


def _check_range(text: str, threshold: float, *, signed: bool) -> None:
    least = -1 if signed else 0
    if not least <= threshold <= 1:
        likely = 1 < threshold <= 100 and "%" not in text  # noqa: PLR2004 - percent
        percent = f"; did you mean {threshold:g}%?" if likely else ""
        raise InputError(f"gate '{text}': threshold {threshold:g} is outside {least} to 1{percent}")
