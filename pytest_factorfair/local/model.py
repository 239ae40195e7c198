"""A model that runs in this process: in its own thread, in batches, on a device with limited memory.

``transformers_model`` generates text, ``diffusers_model`` generates pictures.
"""

from __future__ import annotations

import asyncio
import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from threading import Event
from typing import Annotated, Any, Generic, TypeVar

from pydantic import Field

from pytest_factorfair.domain import AnswerMode, Request, Response
from pytest_factorfair.errors import FatalModelError, ModelError, RejectedRequestError
from pytest_factorfair.models.arguments import AcceptedValues, Arguments, Count, Text
from pytest_factorfair.models.prices import FREE
from pytest_factorfair.redaction import fit, identified

# torch is imported by name when used: importing takes seconds, and it may not be installed.

PreparedT = TypeVar("PreparedT")
Generated = Response | Callable[[], Response]
"""A response, or a function that completes it (encodes a picture) while the next batch is generated."""
Waiting = tuple[Request, "asyncio.Future[Generated]"]

Device = Annotated[
    str,
    Field(pattern=r"^(?:auto|cpu|mps|xpu|cuda(?::\d+)?)$"),
    AcceptedValues("auto, cpu, mps, xpu, cuda or cuda:NUMBER", verbatim=True),
]
Dtype = Annotated[
    str,
    Field(pattern="^(?:auto|float32|float16|bfloat16)$"),
    AcceptedValues("auto, float32, float16 or bfloat16", verbatim=True),
]
DeviceMap = Annotated[
    str,
    Field(pattern="^(?:auto|balanced|balanced_low_0|sequential)$"),
    AcceptedValues("auto, balanced, balanced_low_0 or sequential", verbatim=True),
]


class LocalArguments(Arguments):
    """The arguments of every local model."""

    batch: Count
    device: Device = "auto"
    dtype: Dtype = "auto"
    revision: Text | None = None


class LocalModel:
    """A model on this machine. Requests that arrive while a batch runs form the next one.

    The first request calls ``load`` in the model's own thread. Requests with the same value of ``alike`` can
    share a batch.
    """

    price = FREE
    modes: tuple[AnswerMode, ...] = ()
    batches = 2
    """How many batches of requests are accepted at once: one runs, the next is selected from the others."""

    def __init__(
        self,
        name: str,
        load: Callable[[], Generator[Any]],
        *,
        batch: int,
        identity: Mapping[str, object],
        alike: Callable[[Request], object] = lambda _: None,
    ) -> None:
        self.endpoint = name
        self.parallel: int | None = self.batches * batch
        self.identity = identified(identity)
        self._load = load
        self._batch = batch
        self._alike = alike
        self._generator: Generator[Any] | None = None
        self._waiting: deque[Waiting] = deque()
        self._worker: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="factorfair-generator")

    async def ask(self, request: Request) -> Response:
        """Queue the request, wait for the batch that contains it, and complete the response."""
        outcome: asyncio.Future[Generated] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, outcome))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        generated = await outcome
        if isinstance(generated, Response):
            return generated
        try:
            return await asyncio.to_thread(generated)
        except Exception as error:  # an encoder may raise anything
            raise RejectedRequestError(f"{self.endpoint}: {one_line(error)}") from error

    async def close(self) -> None:
        if self._generator is not None:
            self._generator.closing.set()
        if self._worker is not None:
            self._worker.cancel()
            await asyncio.wait([self._worker])
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._generator = None

    async def _work(self) -> None:
        """Generate batches until no request waits; if that fails, all waiting requests fail."""

        def generate(requests: list[Request]) -> list[Generated | ModelError]:
            if self._generator is None:
                self._generator = self._load()
            return self._generator(requests)

        batch: list[Waiting] = []
        try:
            await asyncio.sleep(0)  # requests made in the same turn of the loop join the first batch
            while self._waiting:
                batch = self._next_batch()
                run = asyncio.get_running_loop().run_in_executor
                outcomes = await run(self._thread, generate, [request for request, _ in batch])
                for (_, waiting), outcome in zip(batch, outcomes, strict=True):
                    _settle(waiting, outcome)
        except BaseException as error:  # however this task ends, no request may wait forever
            for _, waiting in (*batch, *self._waiting):
                _settle(waiting, error)
            self._waiting.clear()
            if not isinstance(error, Exception):
                raise

    def _next_batch(self) -> list[Waiting]:
        """The oldest request and, up to the batch size, the compatible ones nearest to it in length.

        All prompts of a batch are padded to the longest, and padding costs as much time as text.
        """
        size = self._generator.batch if self._generator else self._batch
        oldest, *newer = self._waiting
        kind, length = self._alike(oldest[0]), len(oldest[0].prompt)
        compatible = [waiting for waiting in newer if self._alike(waiting[0]) == kind]
        compatible.sort(key=lambda waiting: abs(len(waiting[0].prompt) - length))
        batch = [oldest, *compatible[: size - 1]]
        outcomes = {id(outcome) for _, outcome in batch}
        self._waiting = deque(waiting for waiting in newer if id(waiting[1]) not in outcomes)
        return batch


def _settle(waiting: asyncio.Future[Generated], outcome: Generated | BaseException) -> None:
    if waiting.done():
        return
    if isinstance(outcome, asyncio.CancelledError):
        waiting.cancel()
    elif isinstance(outcome, BaseException):
        waiting.set_exception(outcome)
    else:
        waiting.set_result(outcome)


class Generator(ABC, Generic[PreparedT]):
    """A model that is loaded and generates batches.

    ``batch`` is reduced until a batch fits into memory; setting ``closing`` ends the current one.

    Raises:
        FatalModelError: the model cannot be loaded.
    """

    def __init__(self, name: str, batch: int) -> None:
        self.closing = Event()
        self.name = name
        self.batch = batch
        try:
            os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
            self.load()
        except FatalModelError:
            raise
        except Exception as error:  # libraries raise anything for a broken checkpoint
            raise FatalModelError(f"{name}: cannot be loaded: {one_line(error)}") from error

    @abstractmethod
    def load(self) -> None:
        """Load the model onto its device."""

    @abstractmethod
    def prepared(self, request: Request) -> PreparedT | ModelError:
        """Convert a request to the model's input; an error is returned, and concerns this request only."""

    @abstractmethod
    def generate(self, batch: list[PreparedT]) -> Sequence[Generated | ModelError]:
        """Generate the outcomes of a batch, in the order of its requests."""

    def __call__(self, requests: Sequence[Request]) -> list[Generated | ModelError]:
        """The outcome of each request, in order."""
        entries = [self.prepared(request) for request in requests]
        outcomes = iter(self._outcomes([entry for entry in entries if not isinstance(entry, ModelError)]))
        return [entry if isinstance(entry, ModelError) else next(outcomes) for entry in entries]

    def _outcomes(self, batch: list[PreparedT]) -> list[Generated | ModelError]:
        """Run the batch; if it fails, run its halves, to save memory or to isolate the bad request."""
        if not batch:
            return []
        half = len(batch) // 2
        torch = import_module("torch")
        try:
            return [*self.generate(batch)]
        except ModelError:
            raise
        except Exception as error:  # a model's code may raise anything
            message = f"{self.name}: {one_line(error)}"
            if isinstance(error, torch.AcceleratorError):  # the GPU is unusable after a failed kernel
                raise FatalModelError(message) from error
            if not half:
                return [RejectedRequestError(message)]
        torch.cuda.empty_cache()
        outcomes = self._outcomes(batch[:half]) + self._outcomes(batch[half:])
        # No request fails alone, so the batch was too large. Not every device raises its own type for that.
        if not any(isinstance(outcome, ModelError) for outcome in outcomes):
            self.batch = min(self.batch, half)
        return outcomes


def chosen_device(requested: str) -> str:
    """Resolve a requested device for this process, from the GPUs that torch sees.

    Raises:
        RuntimeError: a GPU is wanted and none is visible.
    """
    cuda = import_module("torch").cuda
    gpus = cuda.device_count() if cuda.is_available() else 0
    return device(requested, gpus=gpus, worker=os.environ.get("PYTEST_XDIST_WORKER", ""))


def device(requested: str, *, gpus: int, worker: str) -> str:
    """Resolve a requested device; for "auto" and "cuda", pytest-xdist's workers take the GPUs in turn.

    Raises:
        RuntimeError: a GPU is wanted and none is visible.
    """
    if requested not in ("auto", "cuda"):
        return requested
    if not gpus:
        if requested == "cuda":
            raise RuntimeError("no GPU is visible")
        return "cpu"
    number = worker.removeprefix("gw")
    return f"cuda:{int(number) % gpus if number.isdecimal() else 0}"


def seed_of(request: Request) -> int:
    """The seed of a request's own random generator."""
    return (request.seed << 20) + request.repeat


def one_line(error: Exception) -> str:
    """Format a library's exception as one line."""
    return fit(f"{type(error).__name__}: {error}")
