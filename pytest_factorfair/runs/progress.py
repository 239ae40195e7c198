"""The progress of a run: counted here, shown by the code that started the run."""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_factorfair.domain import ReportedOutcome, Usage, clock, dollars, excerpt, plural

if TYPE_CHECKING:
    from pytest_factorfair.domain import Record
    from pytest_factorfair.engine import EndpointState
    from pytest_factorfair.runs.account import Account
    from pytest_factorfair.runs.responses import Responses
    from pytest_factorfair.runs.run import Run
    from pytest_factorfair.runs.submissions import Submissions

SLOW = 10
"""Answers a second below which a tenth of them matters: local models."""

LONGEST = 40
"""Characters of a failure's cause."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a run; as text, one line.

    There are ``answers`` of ``total``, or pictures if that is the ``unit``; ``cached`` of them came from the
    store and ``refused`` are refusals, ``filtered`` replies that the provider filtered, ``unparsed`` those
    that cannot be read. ``cost`` in USD is None if unknown. ``endpoints`` are those that throttle or fail,
    and ``store_unavailable`` is whether nothing is asked because the store fails. ``look`` names a further
    look of the gates.
    """

    answers: int
    total: int
    cached: int = 0
    refused: int = 0
    filtered: int = 0
    unparsed: int = 0
    cost: float | None = 0.0
    seconds: float = 0.0
    endpoints: tuple[EndpointState, ...] = ()
    store_unavailable: bool = False
    look: str = ""
    unit: str = "answer"

    def __str__(self) -> str:
        # The remaining answers must be asked for; stored ones say nothing about that rate.
        answered = max(self.answers - self.cached, 0) or self.answers
        rate = answered / self.seconds if self.seconds > 0 else 0.0
        # The cost, the time left and delays come first, because a terminal of 80 columns cuts off the end.
        parts = ["cost unknown" if self.cost is None else dollars(self.cost)]
        if rate > 0:
            parts.append(f"{clock(max(self.total - self.answers, 0) / rate)} left")
        waits = ["the response store"] if self.store_unavailable else []
        if throttled := sum(endpoint.throttled for endpoint in self.endpoints):
            waits.append(f"429 × {throttled:,}")  # noqa: RUF001  # times
        closed = max(self.endpoints, key=lambda endpoint: endpoint.opens_in, default=None)
        if closed is not None and closed.opens_in > 0:
            if closed.failing and not closed.throttled:
                waits.append(f"{excerpt(closed.cause, LONGEST)} × {closed.failing:,}")  # noqa: RUF001  # times
            waits.append(f"next try in {math.ceil(closed.opens_in)} s")
        if waits:
            parts.append(f"waiting: {', '.join(waits)}")
        look = f"{self.look}: " if self.look else ""
        parts.append(f"{look}{self.answers:,} of {plural(self.total, self.unit)}")
        parts.append(f"{rate:.1f}/s" if 0 < rate < SLOW else f"{rate:,.0f}/s")
        parts.append(f"{self.refused:,} refused")
        if self.filtered:
            parts.append(f"{self.filtered:,} filtered")
        if self.unparsed:
            parts.append(f"{self.unparsed:,} unparsed")
        if self.cached and self.answers:
            parts.append(f"{self.cached / self.answers:.0%} from the store")
        return f"factorfair: {' · '.join(parts)}"


class Meter:
    """Counts answers; subclasses show them in ``tick``, ``clear`` and ``announce``."""

    def __init__(self, run: Run, account: Account, responses: Responses, submissions: Submissions) -> None:
        self._account = account
        self._responses = responses
        self._submissions = submissions
        self._unit = run.unit
        self._total = sum(assignment.case.samples for assignment in run.to_ask)
        self._look = ""
        self._began = time.monotonic()
        self._answers = 0
        self._outcomes: Counter[ReportedOutcome] = Counter()
        self._unaccounted = Usage()

    def tick(self) -> None:
        """Called ten times a second while something is awaited, from the thread that waits."""

    def clear(self) -> None:
        """Remove the shown progress."""

    def announce(self, line: str) -> None:
        """Called with a line to print: a further look that may cost something, or a wait of seconds."""

    def begin(self) -> None:
        """Start the clock."""
        self._began = time.monotonic()

    def expect(self, total: int, *, look: str = "") -> None:
        """Count up to this many answers, in this look if it is a further one."""
        self._total, self._look = total, look

    def spend(self, unaccounted: Usage) -> None:
        """Add usage that is not on the account of the run."""
        self._unaccounted += unaccounted

    def add(self, record: Record) -> None:
        """Count the answers of one case; a picture is one answer, however many faces it has."""
        self._answers += record.asked
        self._outcomes += record.reported_outcomes

    def progress(self) -> Progress:
        """The current progress: recorded answers, or received ones if this process has received more."""
        answers, cached = self._answers, self._unaccounted.cached
        if (seen := self._submissions.counters) is not None:
            answers, cached = max(seen.done, answers), max(seen.cached, cached)
        return Progress(
            answers,
            self._total,
            cached=cached,
            refused=self._outcomes["refused"],
            filtered=self._outcomes["filtered"],
            unparsed=self._outcomes["unparsed"],
            cost=(self._account.usage + self._unaccounted).cost,
            seconds=time.monotonic() - self._began,
            endpoints=self._account.endpoints,
            store_unavailable=self._responses.store_unavailable,
            look=self._look,
            unit=self._unit,
        )
