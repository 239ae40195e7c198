"""A model behind a service that answers with letters: as JSON, or as probabilities."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.errors import FatalModelError, RejectedRequestError, RetryableModelError
from pytest_factorfair.models.openai_answers import UnfitModelError, ways
from pytest_factorfair.models.openai_format import Format, Parameters
from pytest_factorfair.models.service import ServiceModel, Transport
from pytest_factorfair.models.spec import ModelSpec

_REFUSED = ("400", "422")
"""The statuses of a request with a parameter that the service does not take."""


def build(spec: ModelSpec, transport: Transport, format: Format, *, openai: bool) -> ServiceModel:  # noqa: A002  # the field's word
    """The model for what a spec asks for; ``openai`` is whether the service does as OpenAI does.

    Raises:
        MissingExtraError: pictures are asked for, and Pillow is not installed.
    """
    if spec.answers == "text":
        return ServiceModel(spec, transport, format)
    return LetterModel(spec, transport, format, openai=openai)


class LetterModel(ServiceModel):
    """Finds with probes a way to ask for letters that the service supports, before it asks anything else.

    A probe is a call of its own: ``ask`` asks it in place of a request, and raises an error after which the
    request is asked at once. So probes are granted and paid for as all calls are.
    """

    def __init__(
        self,
        spec: ModelSpec,
        transport: Transport,
        format: Format,  # noqa: A002  # the field's word
        *,
        openai: bool,
    ) -> None:
        super().__init__(spec, transport, format)
        self._answers = spec.answers
        self._ways = list(ways(spec, openai=openai))
        self._proven = False
        self._probing = asyncio.Lock()
        self._probed: list[Response] = []
        self._objections: list[str] = []

    async def ask(self, request: Request) -> Response:
        """Ask once, or ask a probe instead.

        Raises:
            FatalModelError: the service supports no way to answer so.
            RetryableModelError: a probe was asked.
            RejectedRequestError: this request was rejected.
        """
        if not self._proven:
            async with self._probing:
                if not self._proven:
                    await self._probe()
        try:
            return await super().ask(request)
        except UnfitModelError as error:
            raise self._unable(str(error), billable=True) from None

    async def _probe(self) -> None:
        """Ask the next probe of a way, and drop the way if the service refuses or ignores it."""
        if not self._ways:
            raise self._hopeless(billable=False, counted=False)
        way, billable = self._ways[0], True
        objection, probed = "", None
        try:
            probed = await super().ask(way.probes[len(self._probed)])
        except UnfitModelError as error:
            objection = str(error)
        except RejectedRequestError as error:
            if error.cause.detail not in _REFUSED:
                raise
            billable = error.billable
            objection = (
                f"it refuses a request with {way.parameter}: {str(error).removeprefix(f'{self._name}: ')}"
            )
        else:
            self._probed.append(probed)
            if len(self._probed) == len(way.probes):
                objection = way.objection(self._probed)
                self._proven = not objection
        if objection:
            self._objections.append(objection)
            self._probed.clear()
            self._ways.pop(0)
            if not self._ways:
                raise self._hopeless(billable=billable)
        raise RetryableModelError(f"{self._name}: a probe was asked", at_once=True, probe=probed)

    def _hopeless(self, *, billable: bool, counted: bool = True) -> FatalModelError:
        # The last way is a variant of the one before it, which says more.
        reasons = dict.fromkeys(self._objections[:-1] or self._objections)
        return self._unable("; ".join(reasons), billable=billable, counted=counted)

    def _unable(self, reason: str, *, billable: bool, counted: bool = True) -> FatalModelError:
        others = "text" if self._answers == "json" else "text or json"
        return FatalModelError(
            f"{self._name}: it cannot answer as {self._answers}: {reason}; use --factorfair-answers={others}",
            billable=billable,
            counted=counted,
        )

    def _body(self, request: Request, parameters: Parameters) -> dict[str, object]:
        return self._ways[0].request(request, super()._body(request, parameters))

    async def _response(self, reply: Mapping[str, object], request: Request) -> Response:
        return self._ways[0].response(reply, await super()._response(reply, request))
