"""A user's own Python model: ``python:module:attribute`` or ``python:path/to/file.py:attribute``.

The attribute is one of three, tried in this order: a model (an object with ``ask``, ``identity``,
``endpoint``, ``parallel`` and ``close``); a class, or a function without parameters, which is called
once and returns a model or a function; a function of the prompt, plain or async, which returns the text
or a ``Response`` (for pictures: the bytes of a PNG, JPEG or WebP, or a Pillow image).
Plain functions run in threads, many at a time; ``function.factorfair_parallel = 1`` limits how many.
Stored answers are reused until the function's module, or a module of the project that it imports, changes (in
a notebook: the function) or, if ``function.factorfair_version`` is set, until that changes.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import inspect
import json
import marshal
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor, Future
from io import BytesIO
from pathlib import Path
from queue import SimpleQueue
from types import FunctionType, MethodType, ModuleType
from typing import Any, ParamSpec, TypeVar

from pytest_factorfair.domain import Modality, Request, Response
from pytest_factorfair.errors import Cause, InputError, ModelError, RejectedRequestError
from pytest_factorfair.models.project_files import contents
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.models.python_object import load, module_of
from pytest_factorfair.models.spec import ModelSpec
from pytest_factorfair.redaction import fit

P = ParamSpec("P")
T = TypeVar("T")

THREADS = 64
_PARTS = ("ask", "close", "endpoint", "identity", "parallel")


def build(spec: ModelSpec) -> Model:
    """The model in a module or file, imported at once so that mistakes are reported before any call.

    Raises:
        InputError: there is no such module, file or attribute, or it cannot be asked.
    """
    from pytest_factorfair.models import arguments  # lazy: imports pydantic, which many tests do not need

    arguments.read(spec, arguments.Arguments)
    user_object = load(spec.target, f"model '{spec.text}'")
    return coerce(user_object, spec.text, modality=spec.modality, module=module_of(spec.target))


def coerce(
    user_object: object, name: str, *, modality: Modality = "text", module: ModuleType | None = None
) -> Model:
    """A model that wraps a user's object; ``name`` is its name in messages and keys.

    ``module`` is the one in which the user names the object, if it may be another than the object's own.

    Raises:
        InputError: the object is neither a model nor a function of the prompt.
    """
    candidate = user_object
    if _is_factory(user_object):
        try:
            candidate = user_object()  # type: ignore[operator]  # checked by _is_factory
        except (Exception, SystemExit) as error:  # a user's class may raise anything
            reason = fit(f"{type(error).__name__}: {error}")
            raise InputError(f"model '{name}': calling it without arguments failed: {reason}") from error
    if not isinstance(candidate, type) and hasattr(candidate, "ask"):
        return _checked(candidate, name)
    if not callable(candidate) or _is_factory(candidate):
        raise InputError(
            f"model '{name}': {fit(repr(candidate))} is neither a model nor a function of the prompt"
        )
    return FunctionModel(candidate, name, modality, version=_version(candidate, [user_object, module]))


class DaemonThreads(Executor):
    """A pool of daemon threads: a call that hangs does not keep the process from exiting.

    ``close`` ends idle threads at once and the others after their call.
    """

    def __init__(self, limit: int, name: str) -> None:
        self._limit = limit
        self._name = name
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._idle = threading.Semaphore(0)
        self._started = 0

    def submit(self, call: Callable[P, T], /, *arguments: P.args, **named: P.kwargs) -> Future[T]:
        """Run the call in one of the threads. Not thread-safe: only one thread may submit calls."""
        outcome: Future[T] = Future()

        def run() -> None:
            if not outcome.set_running_or_notify_cancel():
                return
            try:
                outcome.set_result(call(*arguments, **named))
            except BaseException as error:  # noqa: BLE001  # raised again by ``Future.result``
                outcome.set_exception(error)

        if not self._idle.acquire(blocking=False) and self._started < self._limit:
            self._started += 1
            threading.Thread(target=self._work, name=self._name, daemon=True).start()
        self._calls.put(run)
        return outcome

    def close(self) -> None:
        for _ in range(self._started):
            self._calls.put(None)

    def _work(self) -> None:
        while (run := self._calls.get()) is not None:
            run()
            del run  # frees the prompt and the reply, which may be large
            self._idle.release()


class _UserErrors:
    """Turns an exception of a user's function into the error of one request.

    This is a class because a ``contextmanager`` would let a StopIteration through unchanged.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        # A user's function may raise anything, but a cancellation may come from the engine.
        if error is not None and not isinstance(error, ModelError | asyncio.CancelledError):
            line = f"{self._name}: {fit(f'{type(error).__name__}: {error}')}"
            raise RejectedRequestError(line, cause=Cause.raised(error)) from error


class FunctionModel:
    """A function of the prompt as a model."""

    def __init__(
        self, function: Callable[[str], object], name: str, modality: Modality, *, version: str
    ) -> None:
        self._function = function
        self._modality = modality
        self._name = name
        self._is_async = any(map(inspect.iscoroutinefunction, (function, type(function).__call__)))
        self._threads: DaemonThreads | None = None
        self.parallel = _parallel(function, name)
        qualified = getattr(function, "__qualname__", type(function).__qualname__)
        self.endpoint = name
        self.identity: Mapping[str, object] = {
            "provider": "python",
            "name": name,
            "function": f"{getattr(function, '__module__', '')}:{qualified}",
            "version": version,
        }

    async def ask(self, request: Request) -> Response:
        """Call the function; any exception other than a model error rejects this one request."""

        def call() -> object:
            with _UserErrors(self._name):  # here, too: a Future cannot hold a StopIteration
                return self._function(request.prompt)

        if self._is_async:
            reply = call()
        else:
            if self._threads is None:
                self._threads = DaemonThreads(THREADS, "factorfair-model")
            reply = await asyncio.get_running_loop().run_in_executor(self._threads, call)
        if inspect.isawaitable(reply):
            with _UserErrors(self._name):
                reply = await reply
        return self._read(reply)

    async def close(self) -> None:
        if self._threads is not None:
            self._threads.close()

    def _read(self, reply: object) -> Response:
        """The response that the function returned."""
        expected = "str or Response"
        if self._modality == "image":
            expected = "bytes, a Pillow image or Response"
        if isinstance(reply, Response):
            return reply
        if self._modality == "text" and isinstance(reply, str):
            return Response(reply.encode("utf-8", "replace").decode())
        if self._modality == "image" and isinstance(reply, bytes):
            return Response("", image=reply)
        save = getattr(reply, "save", None)
        if self._modality == "image" and callable(save):  # a Pillow image; Pillow may not be installed
            file = BytesIO()
            save(file, "PNG")
            return Response("", image=file.getvalue())
        raise RejectedRequestError(
            f"{self._name}: returned {type(reply).__name__}, not {expected}",
            cause=Cause("raised", "TypeError"),
        )


def _is_factory(user_object: object) -> bool:
    """Whether the object must be called once, without arguments, to get the model or function."""
    if isinstance(user_object, type):
        return True
    if not callable(user_object) or hasattr(user_object, "ask"):
        return False
    try:
        parameters = inspect.signature(user_object).parameters.values()
    except (TypeError, ValueError):  # some functions written in C have no signature
        return False
    return not any(parameter.kind is not parameter.KEYWORD_ONLY for parameter in parameters)


def _checked(user_object: object, name: str) -> Model:
    """The user's object as a model, after checking that it has all attributes of one."""
    missing = [part for part in _PARTS if not hasattr(user_object, part)]
    if missing:
        raise InputError(f"model '{name}': its {type(user_object).__name__} lacks {', '.join(missing)}")
    model: Model = user_object  # type: ignore[assignment]  # its attributes were checked above
    if not inspect.iscoroutinefunction(model.ask):
        raise InputError(f"model '{name}': ask of its {type(user_object).__name__} must be an async function")
    try:
        json.dumps(model.identity)
    except (TypeError, ValueError) as error:
        raise InputError(f"model '{name}': its identity must be JSON values: {fit(str(error))}") from None
    return model


def _parallel(function: object, name: str) -> int | None:
    parallel = getattr(function, "factorfair_parallel", None)
    if parallel is None:
        return None
    if not isinstance(parallel, int) or isinstance(parallel, bool) or parallel < 1:
        raise InputError(
            f"model '{name}': factorfair_parallel must be a whole number of at least 1, not {parallel!r}"
        )
    return parallel


def _version(function: object, origins: Iterable[object]) -> str:
    """The version that the user set, or the hash of the function's source; "" if it has none.

    The source is every file of the project that the modules of the function and of its ``origins`` import,
    and these modules. The code of a function without a file, as in a notebook, is hashed directly.
    """
    version = getattr(function, "factorfair_version", None)
    if version is not None:
        return str(version)
    definition = _defining(function)
    modules = [
        origin if isinstance(origin, ModuleType) else inspect.getmodule(_defining(origin))
        for origin in origins
    ]
    files = contents([module for module in (inspect.getmodule(definition), *modules) if module is not None])
    digests = {hashlib.sha256(content).digest() for content in files.values()}
    if isinstance(definition, FunctionType) and not Path(definition.__code__.co_filename).is_file():
        # Format 2, because later ones depend on reference counts: equal code could differ.
        code = marshal.dumps(definition.__code__, 2)
        digests.add(hashlib.sha256(code).digest())
    if len(digests) < 2:  # noqa: PLR2004
        return "".join(digest.hex() for digest in digests)
    return hashlib.sha256(b"".join(sorted(digests))).hexdigest()


def _defining(user_object: object) -> Any:
    """The function or class that defines an object's behaviour: itself if it is one, otherwise its class."""
    inner = user_object.func if isinstance(user_object, functools.partial) else user_object
    plain = isinstance(inner, FunctionType | MethodType | type)
    return inspect.unwrap(inner if plain else type(inner))  # type: ignore[arg-type]  # it is callable
