"""What to try when answers are lost, by reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from pytest_factorfair.domain import Answer, Example, Exchange, excerpt, lost
from pytest_factorfair.reading import outcomes

LONGEST = 120
"""Characters of a reply that a message quotes."""

_LIMIT = "raise the limit of tokens (--factorfair-model-arg=max_tokens=N)"
_FORMAT = (
    "state the answer format in a system prompt (--factorfair-model-arg=system=TEXT), "
    "or parse such replies with the hook pytest_factorfair_read_answer"
)

_LOOK = "look at the reply in the store, or parse it with your own hook"

REMEDIES: Mapping[str, str] = MappingProxyType(
    {
        reading.reason: remedy
        for reading, remedy in (
            (outcomes.CUT_OFF, _LIMIT),
            (outcomes.ONLY_REASONING, f"{_LIMIT}: reasoning used it up"),
            (outcomes.EMPTY, f"{_LIMIT}, as hidden reasoning may use it up, and check the chat template"),
            (outcomes.TOO_LONG, f"ask for short replies: {_FORMAT}"),
            (outcomes.AMBIGUOUS, _FORMAT),
            (outcomes.NOT_CHOSEN, _FORMAT),
            (outcomes.NOT_OFFERED, _FORMAT),
            (outcomes.NO_OPTION, _FORMAT),
            (outcomes.NO_PICTURE, "check that the endpoint generates images"),
            (
                outcomes.NO_FACE,
                "look at the contact sheets; another --factorfair-detector may find faces",
            ),
            (outcomes.NO_GROUP, "use a --factorfair-detector whose classes are the groups of the checklist"),
        )
    }
)
"""What to try for an unparsed answer."""

ASK_AGAIN = "fix the error and run again: only what is missing is asked"
NOT_STORED = "run once without --factorfair-replay: only what is missing is asked"


def example(answers: Sequence[Answer], exchanges: Sequence[Exchange], *, replay: bool) -> Example | None:
    """An answer lost for the most frequent reason, with the start of its reply; None if none is lost."""
    gone = lost(answers)
    if not gone:
        return None
    ((outcome, reason), _), *_ = Counter((one.outcome, one.reason) for one in gone).most_common(1)
    if outcome == "error":
        return Example(reason, "", NOT_STORED if replay else ASK_AGAIN)
    query = next(one.query for one in gone if (one.outcome, one.reason) == (outcome, reason))
    response = next(one.response for one in exchanges if one.query.id == query)
    reply = excerpt(response.text if response else "", LONGEST)
    return Example(reason, reply, REMEDIES.get(reason, _FORMAT if reply else _LOOK))
