"""One query put to a model, whatever the model does."""

from __future__ import annotations

import time
from typing import NamedTuple

from pytest_factorfair.domain import Query, Request, Response, excerpt
from pytest_factorfair.engine.budget import Budget
from pytest_factorfair.engine.counters import Counters
from pytest_factorfair.engine.limits import Limits
from pytest_factorfair.engine.lines import MakeWay
from pytest_factorfair.engine.retry import Retry
from pytest_factorfair.errors import (
    BudgetError,
    FatalModelError,
    ModelError,
    RetryableModelError,
    StoreError,
)
from pytest_factorfair.models.protocol import Model

LONGEST = 300  # characters of an error; providers quote whole bodies


class Landing(NamedTuple):
    """What became of a key: a response, or why there is none in one line, and the calls it took."""

    response: Response | None
    error: str = ""
    cached: bool = False
    calls: int = 0


class Asker:
    """Asks under the limits and again where that may help."""

    def __init__(self, *, limits: Limits, budget: Budget, retry: Retry, counters: Counters) -> None:
        self._limits = limits
        self._budget = budget
        self._retry = retry
        self._counters = counters

    async def ask(self, model: Model, query: Query, make_way: MakeWay) -> Landing:
        """The response or the error's one line; ``make_way`` is called before it is asked again.

        Raises:
            FatalModelError: no further call can succeed.
            BudgetError: no further call may be made.
            StoreError: the limits of the run can no longer be kept.
        """
        request = Request(query.prompt, repeat=query.repeat, seed=query.seed)
        sent: list[float] = []
        try:
            response = await self._retry.call(lambda: self._attempt(model, request, sent, make_way))
        except (FatalModelError, BudgetError, StoreError):
            raise
        except ModelError as error:
            return Landing(None, one_line(str(error)), calls=len(sent))
        # A provider's bug spoils its own query only: the others have been paid for.
        except (Exception, SystemExit) as error:  # noqa: BLE001
            return Landing(None, one_line(f"{type(error).__name__}: {error}"), calls=len(sent))
        return Landing(response, calls=len(sent))

    async def spent(self) -> bool:
        """Whether the run has used up what it may use."""
        return await self._budget.spent()

    async def _attempt(
        self, model: Model, request: Request, sent: list[float], make_way: MakeWay
    ) -> Response:
        """Call once; ``sent`` gets the moment of it."""
        lane = self._limits.lane(model)
        async with self._limits.own(model), lane:
            number = await self._budget.take(model, request)
            self._counters.asked += 1
            response: Response | None = None
            sent.append(time.monotonic())
            try:
                response = _checked(await model.ask(request))
            except RetryableModelError as error:
                make_way()
                if error.throttled:
                    lane.throttled(sent[-1])
                lane.pause(min(error.retry_after or 0.0, self._retry.patience))
                raise
            finally:
                self._budget.settle(number, response)
            lane.succeeded()
            return response


def _checked(response: object) -> Response:
    if isinstance(response, Response) and type(response.text) is str:
        return response
    raise TypeError(f"ask returned {type(response).__name__}, not a Response with text")


def one_line(text: str) -> str:
    """The text without line breaks and control characters, cut to a readable length."""
    return excerpt(text, LONGEST)
