"""The replies of a log as a model: ``replay:FILE``; asking it costs nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_factorfair.domain import UNLOGGED, WITHHELD, Checklist, Query, Request, Response, letter_of
from pytest_factorfair.errors import UnloggedError
from pytest_factorfair.logs import formats
from pytest_factorfair.logs.log import Log, LoggedReply
from pytest_factorfair.logs.matching import Matching, match
from pytest_factorfair.logs.probabilities import Distributions
from pytest_factorfair.models import arguments
from pytest_factorfair.models.prices import FREE
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.models.spec import ModelSpec


def build(spec: ModelSpec) -> Model:
    """Build the model of a log.

    Raises:
        InputError: the file cannot be read, or its format is unknown.
    """
    given = arguments.read(spec, formats.LogArguments)
    path = Path(spec.target)
    log = formats.open_log(path, given).of_model(given.model)
    return Replay(path, log, scored=spec.answers == "probabilities")


LABEL = 4
"""The most tokens that a label needs: white space, ``(``, ``B``, ``)``."""


@dataclass(frozen=True)
class Replay:
    """A log as a model, which answers once it is matched to the queries of a run.

    If ``scored``, its answers are the probabilities in the log.
    """

    path: Path
    log: Log
    matching: Matching | None = None
    scored: bool = False
    parallel: int | None = None
    price = FREE
    endpoint = "replay"

    @property
    def identity(self) -> Mapping[str, object]:
        """The files with their digests and, once matched, the model that the log names and its settings."""
        mode = {"answers": "probabilities"} if self.scored else {}
        files = {"provider": "replay", "files": dict(self.log.files), **mode}
        if self.matching is None:
            return files
        model = {"model": self.matching.model} if self.matching.model else {}
        return files | model | {"parameters": dict(self.matching.settings)}

    def matched(self, asked: Iterable[tuple[Checklist, Sequence[Query]]], *, seed: int) -> Replay:
        """The model that answers these queries of cases; ``seed`` is the run's.

        Raises:
            InputError: the log is damaged, cannot be matched, or has no probabilities.
        """
        if not self.scored:
            return replace(self, matching=match(self.log, asked, path=self.path, seed=seed))
        distributions = Distributions()
        matching = match(self.log, asked, path=self.path, seed=seed, text=distributions.read)
        distributions.check(self.path)
        return replace(self, matching=matching)

    async def ask(self, request: Request) -> Response:
        """Look the reply up.

        Raises:
            UnloggedError: the log has none, or says why.
        """
        matching, query = self.matching, request.query
        reply = matching.replies.get(query.id) if matching and query else None
        if matching is None or query is None or reply is None or reply.error:
            raise UnloggedError(UNLOGGED if reply is None else reply.error)
        is_whole = (
            reply.finish not in WITHHELD if self.scored else _is_whole_label(reply, query, matching.settings)
        )
        return Response(
            reply.text,
            "stop" if is_whole else reply.finish,
            tokens_in=reply.tokens_in,
            tokens_out=reply.tokens_out,
            cost=0.0,
            model=reply.answered_by or reply.model,
            tokens_reasoning=reply.tokens_reasoning,
            noise=reply.noise,
        )

    async def close(self) -> None:
        """Do nothing: there is no open resource."""


def _is_whole_label(reply: LoggedReply, query: Query, settings: Mapping[str, object]) -> bool:
    """Whether a reply that was cut off is all that was asked for: the letter of an option.

    Tools that ask for a letter, such as HELM, allow so few tokens that every reply ends at the limit.
    """
    limit = settings.get("max_tokens")
    return (
        reply.finish == "length"
        and isinstance(limit, int | float)
        and limit <= LABEL
        and letter_of(reply.text) in [option.letter for option in query.options]
    )
