"""Hold the most that lines of batches can cost against the run's limits, until their answers are stored."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING

from pytest_factorfair.domain import AccountEntry, CallRequest, Delay, Grant, Request, Response, Stop

if TYPE_CHECKING:
    from pytest_factorfair.engine.budget import Estimate
    from pytest_factorfair.engine.limits import Limits
    from pytest_factorfair.engine.retry import Retry
    from pytest_factorfair.models.protocol import Model
    from pytest_factorfair.store import Store
    from pytest_factorfair.store.batches import BatchRow


class Holds:
    """Budget reserved for lines of batches, by key; a line counts as a call once sent, never as in flight."""

    def __init__(self, store: Store, limits: Limits, retry: Retry, estimate: Estimate) -> None:
        self._store = store
        self._limits = limits
        self._retry = retry
        self._estimate = estimate
        self._grants: dict[str, Grant] = {}
        self._adopted: set[str] = set()

    async def take(self, model: Model, requests: Mapping[str, Request]) -> tuple[int, Delay | Stop | None]:
        """Reserve the most that lines can cost.

        Returns how many of them may be sent, in their order, and why no more.
        """
        clock, probe = self._retry.clock(), self._retry.probe
        asked = [
            self._limits.take(
                CallRequest(model.endpoint, self._estimate(model, request), clock, probe, batched=True)
            )
            for request in requests.values()
        ]
        decisions = [
            await asyncio.wrap_future(decision) if isinstance(decision, Future) else decision
            for decision in asked
        ]
        held, refusal = len(decisions), None
        for number, (key, decision) in enumerate(zip(requests, decisions, strict=True)):
            if isinstance(decision, Grant):
                self._grants[key] = decision
                self._limits.settle(AccountEntry(in_flight=-1))
            elif refusal is None:
                held, refusal = number, decision
        self.free([*requests][held:], unsent=True)
        return held, refusal

    def adopt(self, row: BatchRow) -> None:
        """Hold the most that a batch of another run can cost."""
        if row.name in self._adopted:
            return
        self._adopted.add(row.name)
        share = None if row.held is None else row.held / row.lines
        missing = [item.key for item in self._store.batches.items(row.name) if item.key not in self._grants]
        self._grants |= dict.fromkeys(missing, Grant(reserved=share, estimate=share))
        entries = (AccountEntry.sent(self._grants[key])._replace(calls=0, in_flight=0) for key in missing)
        self._limits.settle(AccountEntry.total(entries))

    def sum(self, keys: Iterable[str]) -> float | None:
        """The USD that are held for these keys; None if that is unknown."""
        amounts = [self._grants[key].reserved for key in keys]
        return None if None in amounts else sum(filter(None, amounts))

    def settle(self, key: str, response: Response) -> None:
        """Enter the cost of an answer."""
        if (grant := self._grants.pop(key, None)) is not None:
            entry = AccountEntry.answered(grant, response)
            self._limits.settle(entry._replace(in_flight=0, batched=1, batch_cost=entry.spent))

    def bill(self, keys: Iterable[str], cost: float | None) -> None:
        """Enter lines that the service completed and that cannot be read.

        ``cost`` is what one of them probably cost; None is the most that it can.
        """
        for key in keys:
            if (grant := self._grants.pop(key, None)) is not None:
                entry = AccountEntry.settled(grant, grant.estimate if cost is None else cost)
                self._limits.settle(entry._replace(in_flight=0, unreadable=1, batch_cost=entry.spent))

    def free(self, keys: Iterable[str], *, unsent: bool = False) -> None:
        """Release the reservation of lines that cost nothing; ``unsent`` ones do not count as calls."""
        grants = [self._grants.pop(key) for key in keys if key in self._grants]
        calls = -1 if unsent else 0
        entries = (AccountEntry.unused(grant)._replace(calls=calls, in_flight=0) for grant in grants)
        self._limits.settle(AccountEntry.total(entries))
