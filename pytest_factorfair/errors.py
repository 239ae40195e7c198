"""Everything that can go wrong, one sentence each.

    FactorfairError
    ├── InputError(ValueError)          the user gave invalid input
    │   ├── ChecklistError              a checklist or statistics file, with file, line and field
    │   └── MissingExtraError           a spec needs an optional dependency that is not installed
    ├── ModelError(RuntimeError)        the model under test could not be asked
    │   ├── FatalModelError             no further call can succeed; the run stops
    │   ├── RetryableModelError         the same call may succeed later
    │   ├── RejectedRequestError        this one request was rejected
    │   └── UnloggedError               a log has no reply to this one request
    ├── PictureError(ValueError)        one picture cannot be decoded; it is counted, and the run continues
    ├── DetectorError(RuntimeError)     the detector cannot read pictures; the run stops
    ├── BudgetError(RuntimeError)       a limit is reached, or the run was ended; the next run resumes
    ├── PendingError(RuntimeError)      answers are in batches that are not done; the next run collects them
    └── StoreError(OSError)             the response store cannot be opened, read or written
        ├── LostPictureError            a stored picture is missing or damaged
        └── RescuedError                the store failed, but the responses are safe elsewhere

The message of every error is one line that says what is wrong, where, and what would be right.
"""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from traceback import extract_tb, format_exception_only, walk_tb
from typing import TYPE_CHECKING, Literal, Self

if TYPE_CHECKING:
    from pytest_factorfair.domain import Response


class FactorfairError(Exception):
    """Base of all errors of this package."""


class InputError(FactorfairError, ValueError):
    """The user gave invalid input."""


class ChecklistError(InputError):
    """A checklist or statistics file is wrong; the message begins with ``file:line: field:``."""

    def __init__(self, path: Path | str, line: int | None, field: str, problem: str) -> None:
        where = f"{path}:{line}" if line is not None else str(path)
        super().__init__(f"{where}: {field}: {problem}" if field else f"{where}: {problem}")
        self.path = path
        self.line = line
        self.field = field


class MissingExtraError(InputError):
    """A spec needs an optional dependency that is not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs an extra: pip install 'pytest-factorfair[{extra}]'")
        self.extra = extra


_LIBRARIES = tuple(
    {sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")}
    | {str(Path(__file__).parent), "<"}
)


def is_library(file: str) -> bool:
    """Whether a source file belongs to Python, to something installed or to this package."""
    return file.startswith(_LIBRARIES) or bool({"site-packages", "dist-packages"} & {*Path(file).parts})


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a call failed; failures with equal causes are reported together.

    ``detail`` is the HTTP status or the type of the exception, ``where`` the last line of the user's code
    in the exception's traceback. Errors with a status are about the model's name, the address or the length
    of the context if the service says so.
    """

    kind: Literal[
        "status", "model", "address", "context", "tls", "connection", "timeout", "reply", "raised", "unknown"
    ] = "unknown"
    detail: str = ""
    where: str = ""

    @classmethod
    def raised(cls, error: BaseException) -> Self:
        """The cause for an exception of a user's Python code."""
        lines = [(frame.f_code, line) for frame, line in walk_tb(error.__traceback__)]
        user_frames = [(code, line) for code, line in lines if not is_library(code.co_filename)]
        if not user_frames:
            return cls("raised", type(error).__name__)
        code, line = user_frames[-1]
        file = os.path.relpath(code.co_filename)
        return cls("raised", type(error).__name__, f"{file}:{line} in {code.co_name}")


UNKNOWN = Cause()

FOREIGN_REPLY = Cause("reply", "foreign")
"""The cause of a complete reply that has another form than the one asked for, such as another API's."""


class ModelError(FactorfairError, RuntimeError):
    """The model under test could not be asked.

    ``billable`` is whether the call may have cost money: not if it was rejected or never sent. ``counted`` is
    false if no call was made, because it was known to be useless.
    """

    def __init__(
        self, message: str, *, cause: Cause = UNKNOWN, billable: bool = True, counted: bool = True
    ) -> None:
        super().__init__(message)
        self.cause = cause
        self.billable = billable
        self.counted = counted


TO_DO = "; to do: "
"""Stands in the message of a fatal error between what failed and what to do about it, if that is known."""

AGAIN = "run the same command again"
"""What to do about batches that are not done."""


class FatalModelError(ModelError):
    """No further call can succeed; the run stops."""


class RetryableModelError(ModelError):
    """The same call may succeed later, after ``retry_after`` seconds if the provider said so.

    ``throttled`` means too many calls at a time (429). ``at_once`` means that the retry need not wait,
    because the model now omits the rejected parameter, or because it made a probe first; ``probe`` is its
    response. Neither is billable, except for the probe.
    """

    def __init__(  # noqa: PLR0913  # by keyword
        self,
        message: str,
        retry_after: float | None = None,
        *,
        throttled: bool = False,
        at_once: bool = False,
        probe: Response | None = None,
        cause: Cause = UNKNOWN,
        billable: bool = True,
    ) -> None:
        super().__init__(message, cause=cause, billable=billable and not (throttled or at_once))
        self.retry_after = retry_after
        self.throttled = throttled
        self.at_once = at_once
        self.probe = probe


class RejectedRequestError(ModelError):
    """This one request was rejected; others may succeed.

    ``reply`` is the response that the rejection amounts to if the service answers other prompts: a firewall
    that blocks this one does not say so.
    """

    def __init__(
        self,
        message: str,
        *,
        cause: Cause = UNKNOWN,
        billable: bool = True,
        reply: Response | None = None,
    ) -> None:
        super().__init__(message, cause=cause, billable=billable)
        self.reply = reply


class UnloggedError(ModelError):
    """A log has no reply to this one request, which says nothing about the others; nothing was called."""

    def __init__(self, message: str) -> None:
        super().__init__(message, billable=False, counted=False)


class PictureError(FactorfairError, ValueError):
    """One picture cannot be decoded; it counts as an error, and the run continues."""


class DetectorError(FactorfairError, RuntimeError):
    """The detector cannot read pictures; the run stops, and generated pictures stay in the store."""


class BudgetError(FactorfairError, RuntimeError):
    """A limit of the run is reached, or the run was ended; the next run continues from there."""


class PendingError(FactorfairError, RuntimeError):
    """Answers are in batches that are not done, so nothing is judged; the next run collects them."""


class StoreError(FactorfairError, OSError):
    """The response store cannot be opened, read or written."""


class LostPictureError(StoreError):
    """A stored picture is missing or damaged."""


class RescuedError(StoreError):
    """The store failed, but the responses that it was to take are safe elsewhere."""


def nearest(word: str, words: Iterable[str], *, listing: bool = True, cutoff: float = 0.6) -> str:
    """The clause ``; did you mean 'x'?`` for the closest known word in any case, else all, if ``listing``."""
    import difflib  # only when needed, not at every start of pytest

    choices = sorted(words)
    folded = {choice.casefold(): choice for choice in choices}
    close = difflib.get_close_matches(word.casefold(), folded, n=1, cutoff=cutoff)
    if close:
        return f"; did you mean '{folded[close[0]]}'?"
    return f"; known: {', '.join(choices)}" if choices and listing else ""


@contextmanager
def attributed(subject: str) -> Iterator[None]:
    """A context in which code of a user's benchmark runs.

    Raises:
        InputError: the code raised an exception; one line with the subject, the exception and its line.
    """
    try:
        yield
    except FactorfairError:
        raise
    except Exception as error:
        frame = extract_tb(error.__traceback__)[-1]
        raised = format_exception_only(error)[0].strip()
        raise InputError(f"{subject}: {frame.filename}, line {frame.lineno}, raised {raised}") from error
