"""From queries to responses: one loop thread, limits, retries, and nothing asked that is known.

The only room that knows threads, loops and signals.
"""

from pytest_factorfair.engine.budget import Budget
from pytest_factorfair.engine.cancellation import Cancellation
from pytest_factorfair.engine.engine import EndpointState, Engine, endpoint_states
from pytest_factorfair.engine.limits import Limits, LocalLimits
from pytest_factorfair.engine.retry import Retry

__all__ = [
    "Budget",
    "Cancellation",
    "EndpointState",
    "Engine",
    "Limits",
    "LocalLimits",
    "Retry",
    "endpoint_states",
]
