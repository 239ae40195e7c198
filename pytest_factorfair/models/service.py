"""Models of services: a transport (HTTP, litellm) sends requests in a format (text, pictures).

``LetterModel`` asks for letters only: as JSON, or as probabilities.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, NoReturn, Protocol

from pytest_factorfair.domain import AnswerMode, Modality, Request, Response
from pytest_factorfair.errors import (
    FOREIGN_REPLY,
    Cause,
    FatalModelError,
    RejectedRequestError,
    RetryableModelError,
)
from pytest_factorfair.models import arguments, litellm_catalogue
from pytest_factorfair.models.http_client import HttpClient, fetch_picture
from pytest_factorfair.models.openai_answers import (
    AMONG,
    LEAST_NOISE,
    NOISY,
    ONE_CONNECTION,
    OWN_FIELDS,
    PER_QUESTION,
    QUESTIONS,
    UNCACHED,
    ProbabilitiesFormat,
    Repetitions,
    Turn,
    UnfitModelError,
    caches_prompts,
    ways,
)
from pytest_factorfair.models.openai_chat import ChatFormat
from pytest_factorfair.models.openai_errors import ADAPTABLE, Complaint, MalformedReplyError, ServiceError
from pytest_factorfair.models.openai_format import Format, Parameters
from pytest_factorfair.models.openai_images import ImageFormat
from pytest_factorfair.models.openai_people import SCHEMA, PeopleFormat
from pytest_factorfair.models.prices import Price
from pytest_factorfair.models.spec import ModelSpec
from pytest_factorfair.redaction import identified, shown_url
from pytest_factorfair.wings import Wing

if TYPE_CHECKING:
    from pytest_factorfair.batches.protocol import BatchService

FORMATS: Mapping[Modality, type[Format]] = {"text": ChatFormat, "image": ImageFormat}


class Transport(Protocol):
    """Sends requests to one model of one service.

    ``served`` is the model's name at the service, and ``provider`` the service's in identities. Models with
    the same ``endpoint`` share limits. ``url`` is the address of calls, if known, and ``listed_as`` the id
    under which its price is listed, if that applies. ``batches`` builds the service of its batches, None
    if it has none.
    """

    @property
    def model(self) -> str: ...

    @property
    def served(self) -> str: ...

    @property
    def provider(self) -> str: ...

    @property
    def endpoint(self) -> str: ...

    @property
    def url(self) -> str | None: ...

    @property
    def listed_as(self) -> str | None: ...

    @property
    def batches(self) -> Callable[[], BatchService] | None: ...

    async def send(self, body: Mapping[str, object]) -> Mapping[str, object]:
        """Send the fields of a request; the reply has the form of OpenAI's JSON.

        Raises:
            ServiceError: the service replied with an error.
            MalformedReplyError: the reply is not JSON.
            ModelError: there was no reply.
        """
        ...

    async def close(self) -> None:
        """Release the resources that ``send`` opened."""
        ...


def settings(spec: ModelSpec, *, taken: frozenset[str] = frozenset()) -> Format:
    """Parse the spec's arguments as the format for the run's modality; ``taken`` keys cannot be passed on.

    Raises:
        InputError: an argument is unknown or has a wrong value.
    """
    if spec.answers == "text":
        return arguments.read(spec, FORMATS[spec.modality], taken=taken)
    if spec.answers == "people":
        return arguments.read(spec, PeopleFormat, taken=taken | {SCHEMA})
    table = ProbabilitiesFormat if spec.answers == "probabilities" else ChatFormat
    return arguments.read(spec, table, taken=taken | OWN_FIELDS)


def build(spec: ModelSpec, transport: Transport, format: Format, *, openai: bool) -> ServiceModel:  # noqa: A002  # the field's word
    """Build the model for the spec's answer mode; ``openai`` is whether the service behaves like OpenAI's.

    Raises:
        MissingExtraError: pictures are asked for, and Pillow is not installed.
    """
    if spec.answers in ("text", "people"):
        return ServiceModel(spec, transport, format)
    return LetterModel(spec, transport, format, openai=openai or bool(spec.folder))  # files cannot be probed


class ServiceModel:
    """A model of a service. If the model rejects a parameter, later calls leave that parameter out.

    Raises:
        MissingExtraError: pictures are asked for, and Pillow is not installed.
    """

    parallel: int | None = None

    def __init__(self, spec: ModelSpec, transport: Transport, format: Format) -> None:  # noqa: A002  # the field's word
        if format.modality == "image":
            spec.require("images", "PIL")
        self._name = name = spec.text
        self._transport = transport
        self._format = format
        self._refused: tuple[str, ...] = ()
        self._folder = spec.folder
        self._pictures = HttpClient(name, timeout=format.timeout, largest=format.largest)
        self.endpoint = transport.endpoint
        self.timeout = format.timeout
        self.identity = identified(
            {
                "provider": transport.provider,
                "base_url": transport.url,
                "model": transport.model,
                **format.identity,
                **spec.mode,
            }
        )

    def __repr__(self) -> str:
        return f"ServiceModel({self._name!r}, {shown_url(self.url or '')!r})"

    @property
    def url(self) -> str | None:
        """The address of calls; None if unknown."""
        return self._transport.url

    @cached_property
    def price(self) -> Price | None:
        listed_as = self._transport.listed_as
        return litellm_catalogue.price(listed_as, self._format.modality) if listed_as else None

    @cached_property
    def batches(self) -> BatchService | None:
        """The service of its batches, None without one; the first use imports the wing ``batches``."""
        if self._folder is not None:
            service: BatchService = Wing.FOLDER_BATCHES.enter().FolderBatches(self._name, self._folder)
            return service
        return None if self._transport.batches is None else self._transport.batches()

    @cached_property
    def batch_price(self) -> Price | None:
        listed_as = self._transport.listed_as
        if not listed_as or self.batches is None:
            return None
        return litellm_catalogue.batch_price(listed_as, self.batches.discount)

    @property
    def modes(self) -> tuple[AnswerMode, ...]:
        """The answer modes besides text that the model supports."""
        return () if self._format.modality == "image" else litellm_catalogue.modes(self._transport.listed_as)

    @property
    def may_reason(self) -> bool:
        """Whether the model may reason before it answers, as far as is known."""
        return litellm_catalogue.may_reason(self._transport.listed_as)

    @property
    def form(self) -> tuple[str, ...]:
        """How requests are formed, as texts: here, the parameters that the service refused."""
        return self._refused

    def take_form(self, form: Sequence[str]) -> None:
        """Form requests like a model with this ``form``."""
        self._refused = tuple(name for name in form if name in self._format.parameters)

    async def ask(self, request: Request) -> Response:
        """Send the request once. If the model rejects a parameter, it is repeated without the parameter."""
        form = self.form
        reply: Mapping[str, object] | ServiceError
        try:
            reply = await self._transport.send(self._body(request, form))
        except MalformedReplyError as error:
            raise self._unreadable(error) from None
        except ServiceError as failure:
            reply = failure
        return await self._read(reply, request, form)

    def body(self, request: Request) -> Mapping[str, object]:
        """The fields of a request in a batch."""
        return {"model": self._transport.served, **self._body(request, self.form)}

    async def response(
        self, reply: Mapping[str, object] | ServiceError, request: Request, form: Sequence[str]
    ) -> Response:
        """Read the response from a reply in a batch; ``form`` is how the request was formed."""
        return await self._read(reply, request, tuple(form))

    async def _read(
        self, reply: Mapping[str, object] | ServiceError, request: Request, form: tuple[str, ...]
    ) -> Response:
        sent = self._parameters(form)
        if not isinstance(reply, ServiceError):
            try:
                response = await self._response(reply, request, form)
            except MalformedReplyError as error:
                raise self._unreadable(error) from None
        elif reply.is_filtered:
            response = Response("", "filtered", model=self._transport.model)
        else:
            accepted = self._format.without_refused(sent, reply.complaint) if reply.adaptable else None
            if accepted is None:
                rejection = reply.error
                if reply.may_be_filtered and isinstance(rejection, RejectedRequestError):
                    rejection.reply = Response("", "filtered", model=self._transport.model)
                raise rejection from reply.__cause__
            if self.form == form:
                self._refused += tuple(name for name in sent if name not in accepted)
            raise RetryableModelError(f"{self._name}: a parameter was refused", at_once=True)
        dropped = self._format.dropped(sent)
        notes = self._format.notes(dropped)
        return replace(response, notes=(*response.notes, *notes), dropped=dropped) if notes else response

    def _unreadable(self, error: MalformedReplyError) -> RetryableModelError:
        cause = FOREIGN_REPLY if error.is_foreign else Cause("reply")
        return RetryableModelError(f"{self._name}: {error}", cause=cause)

    def _parameters(self, form: Sequence[str]) -> Parameters:
        """The parameters of requests of a form."""
        parameters = self._format.parameters
        for name in form:
            accepted = self._format.without_refused(parameters, Complaint("unsupported", parameter=name))
            parameters = parameters if accepted is None else accepted
        return parameters

    def _body(self, request: Request, form: tuple[str, ...]) -> dict[str, object]:
        return self._format.request(request, self._parameters(form))

    async def _response(
        self,
        reply: Mapping[str, object],
        request: Request,
        form: tuple[str, ...],  # noqa: ARG002  # for letters
    ) -> Response:
        model = self._transport.model
        fetch = partial(fetch_picture, self._pictures, base_url=self.url or "")
        return await self._format.response(reply, prompt=request.prompt, model=model, fetch=fetch)

    async def close(self) -> None:
        await self._pictures.close()
        await self._transport.close()
        batches: BatchService | None = vars(self).get("batches")  # none if nobody has asked for them
        if batches is not None:
            await batches.close()


class LetterModel(ServiceModel):
    """A model that is asked for letters only; probes first find a way to ask that the service supports.

    Further probes measure the noise of probabilities: how much they depend on the service's other requests.
    Responses have this noise. ``ask`` sends a probe instead of the request, and raises an error that makes
    the engine repeat the request at once. So the engine grants and counts probes like all calls.
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
        self._ways = ways(spec, openai=openai)
        self._way = 0
        self._proven = False
        self._probing = asyncio.Lock()
        self._repetitions = Repetitions()
        self._noise = None if spec.answers == "probabilities" else 0.0
        self._repeated = asyncio.Event()
        self._fields: Mapping[str, object] = {}
        self._probed: list[Response] = []
        self._objections: list[str] = []

    async def ask(self, request: Request) -> Response:
        """Send the request once or, until a way to ask and the noise are known, send a probe instead.

        Raises:
            FatalModelError: the service supports none of the ways.
            RetryableModelError: a probe was sent instead.
            RejectedRequestError: the service rejected this request.
        """
        if not self._proven:
            async with self._probing:
                if not self._proven:
                    await self._probe()
        try:
            if self._noise is None:
                await self._repeat(request)
            return self._with_noise(await super().ask(request))
        except UnfitModelError as error:
            raise self._unable(str(error), billable=True) from None

    @property
    def probes(self) -> int:
        """The number of probes, if the service supports the preferred way to ask."""
        return len(self._ways[0].probes) + PER_QUESTION * QUESTIONS * (self._answers == "probabilities")

    @property
    def form(self) -> tuple[str, ...]:
        """How requests are formed: the number of the way to ask, the noise, and the refused parameters."""
        return (str(self._way), str(self._noise or 0.0), *self._refused)

    def take_form(self, form: Sequence[str]) -> None:
        super().take_form(form[2:])
        self._way, self._noise = int(form[0]), float(form[1])
        self._proven = True

    async def response(
        self, reply: Mapping[str, object] | ServiceError, request: Request, form: Sequence[str]
    ) -> Response:
        try:
            return self._with_noise(await super().response(reply, request, form))
        except UnfitModelError as error:
            raise self._unable(str(error), billable=True) from None

    async def _probe(self) -> None:
        """Send the next probe of the current way; drop the way if the service rejects or ignores it."""
        if self._way == len(self._ways):
            raise self._unsupported(billable=False, counted=False)
        way, billable = self._ways[self._way], True
        objection, probed = "", None
        try:
            probed = await super().ask(way.probes[len(self._probed)])
        except UnfitModelError as error:
            objection = str(error)
        except RejectedRequestError as error:
            if error.cause.detail not in map(str, ADAPTABLE):
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
            self._way += 1
            if self._way == len(self._ways):
                raise self._unsupported(billable=billable)
        raise RetryableModelError(f"{self._name}: a probe was asked", at_once=True, probe=probed)

    async def _repeat(self, request: Request) -> None:
        """Take the next turn of the repetitions, or wait for the noise if all turns are taken."""
        async with self._probing:
            if (turn := self._repetitions.alone(request)) is not None:
                await self._take(turn)
        while self._noise is None:
            if self._repetitions.waiting:
                await self._take(self._repetitions.waiting.pop())
            self._repeated.clear()
            await self._repeated.wait()

    async def _take(self, turn: Turn) -> NoReturn:
        """Ask the question of a turn.

        Raises:
            RetryableModelError: it was asked instead of the request.
        """
        reply, done = None, False
        try:
            with suppress(RejectedRequestError):  # another question may be accepted
                reply = await super().ask(turn.request)
            done = True
        finally:
            if done:
                self._repetitions.keep(turn, reply)
                self._noise = self._repetitions.noise
            elif turn.round == AMONG:
                self._repetitions.waiting.append(turn)
            self._repeated.set()
        raise RetryableModelError(f"{self._name}: a repetition was asked", at_once=True, probe=reply)

    def _with_noise(self, response: Response) -> Response:
        """The response with the noise of its probabilities, and a note if that is large enough to matter."""
        if not self._noise:
            return response
        remedy = ONE_CONNECTION if self._fields else ""
        change = self._noise / 4  # the slope of a share of one half
        note = f"{NOISY}, one of 0.5 by about {change:.3f}: intervals allow for it{remedy}"
        notes = response.notes if self._noise < LEAST_NOISE else (*response.notes, note)
        return replace(response, noise=self._noise, notes=notes)

    def _unsupported(self, *, billable: bool, counted: bool = True) -> FatalModelError:
        # The last way is a variant of the one before it, whose objection is more informative.
        reasons = dict.fromkeys(self._objections[:-1] or self._objections)
        return self._unable("; ".join(reasons), billable=billable, counted=counted)

    def _unable(self, reason: str, *, billable: bool, counted: bool = True) -> FatalModelError:
        alternatives = "text" if self._answers == "json" else "text or json"
        return FatalModelError(
            f"{self._name}: it cannot answer as {self._answers}: {reason}; "
            f"use --factorfair-answers={alternatives}",
            billable=billable,
            counted=counted,
        )

    def _body(self, request: Request, form: tuple[str, ...]) -> dict[str, object]:
        return {**self._fields, **self._ways[int(form[0])].request(request, super()._body(request, form))}

    async def _response(
        self, reply: Mapping[str, object], request: Request, form: tuple[str, ...]
    ) -> Response:
        if self._answers == "probabilities" and caches_prompts(reply):
            self._fields = UNCACHED
        return self._ways[int(form[0])].response(reply, await super()._response(reply, request, form))
