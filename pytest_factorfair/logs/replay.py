"""The replies of a log as a model: ``replay:FILE``; asking it costs nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_factorfair.domain import UNLOGGED, Checklist, Query, Request, Response
from pytest_factorfair.errors import UnloggedError
from pytest_factorfair.logs import formats
from pytest_factorfair.logs.log import Log
from pytest_factorfair.logs.matching import Matching, match
from pytest_factorfair.models import arguments
from pytest_factorfair.models.prices import FREE
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.models.spec import ModelSpec


def build(spec: ModelSpec) -> Model:
    """Build the model of a log.

    Raises:
        InputError: the file cannot be read, or nothing is known that writes such files.
    """
    given = arguments.read(spec, formats.LogArguments)
    path = Path(spec.target)
    return Replay(path, formats.open_log(path, given).of_model(given.model))


@dataclass(frozen=True)
class Replay:
    """A log as a model, which answers once it is matched to the queries of a run."""

    path: Path
    log: Log
    matching: Matching | None = None
    parallel: int | None = None
    price = FREE
    endpoint = "replay"

    @property
    def identity(self) -> Mapping[str, object]:
        """The files with their digests and, once matched, the model that the log names and its settings."""
        files = {"provider": "replay", "files": dict(self.log.files)}
        if self.matching is None:
            return files
        model = {"model": self.matching.model} if self.matching.model else {}
        return files | model | {"parameters": dict(self.matching.settings)}

    def matched(self, asked: Iterable[tuple[Checklist, Sequence[Query]]], *, seed: int) -> Replay:
        """The model that answers these queries of cases; ``seed`` is the run's.

        Raises:
            InputError: the log is damaged, or cannot be matched.
        """
        return Replay(self.path, self.log, match(self.log, asked, path=self.path, seed=seed))

    async def ask(self, request: Request) -> Response:
        """Look the reply up.

        Raises:
            UnloggedError: the log has none, or says why.
        """
        replies = self.matching.replies if self.matching else {}
        reply = replies.get(request.query.id) if request.query else None
        if reply is None or reply.error:
            raise UnloggedError(UNLOGGED if reply is None else reply.error)
        return Response(
            reply.text,
            reply.finish,
            tokens_in=reply.tokens_in,
            tokens_out=reply.tokens_out,
            cost=0.0,
            model=reply.answered_by or reply.model,
            tokens_reasoning=reply.tokens_reasoning,
        )

    async def close(self) -> None:
        """Do nothing: there is no open resource."""
