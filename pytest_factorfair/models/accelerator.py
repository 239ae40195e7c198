"""What every model of torch needs: a device, seeds, and batches that shrink to what memory holds."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import Generic, TypeVar

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.errors import FatalModelError, ModelError, RejectedRequestError
from pytest_factorfair.models import arguments
from pytest_factorfair.redaction import fit

# torch is imported by name, when used: it takes seconds, and is not always installed.

T = TypeVar("T")
DEVICE = arguments.matching(r"auto|cpu|mps|xpu|cuda(:\d+)?", says="auto, cpu, mps, xpu, cuda or cuda:NUMBER")
DTYPE = arguments.matching("auto|float32|float16|bfloat16", says="auto, float32, float16 or bfloat16")


class Halving(Generic[T]):
    """Batches through ``generate``; ``batch`` shrinks to what fits into memory."""

    def __init__(self, name: str, batch: int, generate: Callable[[list[T]], list[Response]]) -> None:
        self.batch = batch
        self._name = name
        self._generate = generate

    def __call__(self, requests: list[T]) -> list[Response | ModelError]:
        """All at once; by halves where memory does not suffice, or to find the request that fails."""
        if not requests:
            return []
        half = len(requests) // 2
        try:
            return [*self._generate(requests)]
        except ModelError:
            raise
        except Exception as error:  # noqa: BLE001  (models are programs)
            failure = self._failure(error)
            if _is_out_of_memory(error):
                self.batch = max(1, half)
        if not half:
            return [failure]
        import_module("torch").cuda.empty_cache()
        return self(requests[:half]) + self(requests[half:])

    def _failure(self, error: Exception) -> ModelError:
        """What an error means once it is down to one request; after a failed kernel a GPU is lost."""
        said = f"{self._name}: {line(error)}"
        if "CUDA error" in str(error):
            raise FatalModelError(said) from error
        return RejectedRequestError(said)


def chosen(wanted: str) -> str:
    """The device to use on this machine, in this process.

    Raises:
        RuntimeError: a GPU is wanted and none is there.
    """
    torch = import_module("torch")
    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    return device(wanted, gpus=gpus, worker=os.environ.get("PYTEST_XDIST_WORKER", ""))


def device(wanted: str, *, gpus: int, worker: str) -> str:
    """The device to use: with "auto" or "cuda", workers of pytest-xdist take the visible GPUs in turn.

    Raises:
        RuntimeError: a GPU is wanted and none is there.
    """
    if wanted not in ("auto", "cuda"):
        return wanted
    if not gpus:
        if wanted == "cuda":
            raise RuntimeError("no GPU is visible")
        return "cpu"
    number = worker.removeprefix("gw")
    return f"cuda:{int(number) % gpus if number.isdecimal() else 0}"


def seed_of(request: Request) -> int:
    """The seed of a request's own generator."""
    return (request.seed << 20) + request.repeat


def line(error: Exception) -> str:
    """An error of a library in one line."""
    return fit(f"{type(error).__name__}: {error}")


def _is_out_of_memory(error: Exception) -> bool:
    said = str(error)
    return isinstance(error, import_module("torch").cuda.OutOfMemoryError) or "not enough memory" in said
