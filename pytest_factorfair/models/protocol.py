"""The interface of a model provider: a small object that answers one request."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from pytest_factorfair.domain import AnswerMode, Request, Response

LETTERS: tuple[AnswerMode, ...] = ("json", "probabilities")
"""The modes in which a model answers with a letter and nothing else."""


class Model(Protocol):
    """A model under test.

    Providers know nothing of retries, caches, limits or pytest. They are built from plain
    settings outside the event loop; the first ``ask`` creates clients inside the loop.

    ``identity`` is everything but the prompt, repeat and seed that can change an answer
    (provider, model, base URL, sampling parameters), as JSON values and without secrets.
    Models with the same ``endpoint`` ("openai/api.openai.com") share limits. ``parallel`` is the useful
    maximum of requests in flight, None for as many as allowed.

    A provider may also have a ``price`` (a ``prices.Price``; unknown if None or absent), a ``url``, whose
    host is resolved before the first call, a ``timeout`` in seconds, after which a call ends by itself, and
    ``modes``, in which it may be asked instead of for text.
    """

    @property
    def identity(self) -> Mapping[str, object]: ...

    @property
    def endpoint(self) -> str: ...

    @property
    def parallel(self) -> int | None: ...

    async def ask(self, request: Request) -> Response:
        """Ask once.

        Raises:
            FatalModelError: no further call can succeed (401, 403, 404, a missing file).
            RetryableModelError: 408, 409, 429, 5xx, time-outs, broken connections, cut bodies.
            RejectedRequestError: this request was turned down (400, 413, 422).
        """
        ...

    async def close(self) -> None:
        """Release the resources that ``ask`` opened; called once, inside the loop."""
        ...


def deterministic(identity: Mapping[str, object], dropped: Collection[str] = ()) -> bool:
    """Whether a model of this identity is deterministic: it gives probabilities, or accepted temperature 0.

    ``dropped`` are the parameters that it did not accept. Chance that remains at temperature 0
    (batches, hardware) does not make a repeat a new sample.
    """
    parameters = identity.get("parameters", identity)
    if identity.get("answers") == "probabilities":
        return True
    at_zero = isinstance(parameters, Mapping) and parameters.get("temperature") == 0
    return at_zero and "temperature" not in dropped
