"""The interface of a model provider: a small object that answers one request."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from pytest_factorfair.domain import AnswerMode, Request, Response

LETTERS: tuple[AnswerMode, ...] = ("json", "probabilities")
"""The answer modes in which a model returns only a letter, or the probabilities of letters."""


class Model(Protocol):
    """A model under test.

    Providers do not handle retries, caches or limits, and do not know pytest. They are built from plain
    settings outside the event loop; the first ``ask`` creates clients inside the loop.

    ``identity`` is everything but the prompt, repeat and seed that can change an answer
    (provider, model, base URL, sampling parameters), as JSON values and without secrets.
    Models with the same ``endpoint`` ("openai/api.openai.com") share limits. ``parallel`` is the useful
    maximum of requests in flight, None for as many as allowed.

    Optional attributes: ``price`` (a ``prices.Price``; unknown if None or absent), ``url``, which only
    services have (None if unknown): its host is resolved before the first call, and one call at a time is
    made until the first answer, ``timeout`` in seconds, after which a call ends by itself, ``modes``, the
    answer modes that it supports besides text, ``batch_price``, its price in batches, ``may_reason``,
    whether it may reason before it answers, and ``probes``, the calls that test the service first.
    """

    @property
    def identity(self) -> Mapping[str, object]: ...

    @property
    def endpoint(self) -> str: ...

    @property
    def parallel(self) -> int | None: ...

    async def ask(self, request: Request) -> Response:
        """Send a request to the model once, without retries.

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
    """Whether a model with this identity is deterministic: it gives probabilities, or has temperature 0.

    ``dropped`` are parameters that the service did not accept. Numerical noise at temperature 0 (batches,
    hardware) is ignored, because it does not make a repeat an independent sample.
    """
    parameters = identity.get("parameters", identity)
    if identity.get("answers") == "probabilities":
        return True
    at_zero = isinstance(parameters, Mapping) and parameters.get("temperature") == 0
    return at_zero and "temperature" not in dropped


SOURCES: Mapping[object, str] = {"replay": "log", "images": "folder"}
"""What holds the answers of models that cannot be asked, by provider."""


def source_of(model: Model) -> str:
    """What holds the model's answers if they exist already: a log, or a folder of pictures; else empty."""
    return SOURCES.get(model.identity.get("provider"), "")


def stored_name(model: Model) -> str:
    """The name of a model in a store; it does not depend on parameters."""
    return str(model.identity.get("model", model.endpoint))
