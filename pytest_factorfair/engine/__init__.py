"""Turn queries into responses: from the store if possible, else by calls under limits and with retries.

All calls of a process run in one event loop, in a thread of its own.
"""

from pytest_factorfair.engine.budget import Budget
from pytest_factorfair.engine.cancellation import Cancellation
from pytest_factorfair.engine.endpoint import Judge, Unusable
from pytest_factorfair.engine.engine import EndpointState, Engine, endpoint_states
from pytest_factorfair.engine.limits import Limits, LocalLimits
from pytest_factorfair.engine.retry import Retry

__all__ = [
    "Budget",
    "Cancellation",
    "EndpointState",
    "Engine",
    "Judge",
    "Limits",
    "LocalLimits",
    "Retry",
    "Unusable",
    "endpoint_states",
]
