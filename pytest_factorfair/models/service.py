"""A model behind a service: a transport (HTTP, litellm) carries requests of a format (text, pictures)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Protocol

from pytest_factorfair.domain import Modality, Request, Response
from pytest_factorfair.errors import Cause, RetryableModelError
from pytest_factorfair.models import arguments, prices
from pytest_factorfair.models.http_client import HttpClient, fetch_picture
from pytest_factorfair.models.openai_answers import OWN_FIELDS, ProbabilitiesFormat
from pytest_factorfair.models.openai_chat import ChatFormat
from pytest_factorfair.models.openai_errors import MalformedReplyError, ServiceError
from pytest_factorfair.models.openai_format import Format, Parameters
from pytest_factorfair.models.openai_images import ImageFormat
from pytest_factorfair.models.prices import Price
from pytest_factorfair.models.protocol import LETTERS
from pytest_factorfair.models.spec import ModelSpec

FORMATS: Mapping[Modality, type[Format]] = {"text": ChatFormat, "image": ImageFormat}


class Transport(Protocol):
    """How requests reach one model of one service.

    ``provider`` is its name in identities, ``endpoint`` identifies what shares limits, ``url`` is the address
    of calls, if known, and ``listed_as`` the id of its price in litellm's list, if that price applies.
    """

    @property
    def model(self) -> str: ...

    @property
    def provider(self) -> str: ...

    @property
    def endpoint(self) -> str: ...

    @property
    def url(self) -> str | None: ...

    @property
    def listed_as(self) -> str | None: ...

    async def send(self, body: Mapping[str, object]) -> Mapping[str, object]:
        """Send the fields of a request; returns the reply as in the JSON of OpenAI's protocol.

        Raises:
            ServiceError: the service complained.
            MalformedReplyError: the reply is not JSON.
            ModelError: there was no reply.
        """
        ...

    async def close(self) -> None:
        """Release the resources that ``send`` opened."""
        ...


def settings(spec: ModelSpec, *, taken: frozenset[str] = frozenset()) -> Format:
    """The format for the run's modality, with the spec's arguments; keys in ``taken`` cannot be passed on.

    Raises:
        InputError: an argument is unknown or has a wrong value.
    """
    if spec.answers == "text":
        return arguments.read(spec, FORMATS[spec.modality], taken=taken)
    table = ProbabilitiesFormat if spec.answers == "probabilities" else ChatFormat
    return arguments.read(spec, table, taken=taken | OWN_FIELDS)


class ServiceModel:
    """One model of one service. If it rejects a parameter, later calls leave the parameter out.

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
        self._parameters = format.parameters
        self._pictures = HttpClient(name, timeout=format.timeout, largest=format.largest)
        self.modes = LETTERS if format.modality == "text" else ()
        self.endpoint = transport.endpoint
        self.url = transport.url
        self.identity: Mapping[str, object] = {
            "provider": transport.provider,
            "base_url": transport.url,
            "model": transport.model,
            **format.identity,
            **spec.mode,
        }

    def __repr__(self) -> str:
        return f"ServiceModel({self._name!r}, {self.url!r})"

    @cached_property
    def price(self) -> Price | None:
        listed_as = self._transport.listed_as
        return prices.listed(listed_as, self._format.modality) if listed_as else None

    async def ask(self, request: Request) -> Response:
        """Ask once; if the model only rejects a parameter, the next call leaves it out."""
        sent = self._parameters
        try:
            response = await self._response(await self._transport.send(self._body(request, sent)), request)
        except MalformedReplyError as error:
            raise RetryableModelError(f"{self._name}: {error}", cause=Cause("reply")) from None
        except ServiceError as failure:
            if not failure.is_filtered:
                kept = self._format.without_refused(sent, failure.complaint) if failure.adaptable else None
                if kept is None:
                    raise failure.error from failure.__cause__
                if self._parameters is sent:
                    self._parameters = kept
                message = f"{self._name}: a parameter was refused"
                raise RetryableModelError(message, at_once=True) from None
            response = Response("", "filtered", model=self._transport.model)
        dropped = self._format.dropped(sent)
        notes = self._format.notes(dropped)
        return replace(response, notes=(*response.notes, *notes), dropped=dropped) if notes else response

    def _body(self, request: Request, parameters: Parameters) -> dict[str, object]:
        return self._format.request(request, parameters)

    async def _response(self, reply: Mapping[str, object], request: Request) -> Response:
        model = self._transport.model
        return await self._format.response(reply, prompt=request.prompt, model=model, fetch=self._fetch)

    async def close(self) -> None:
        await self._pictures.close()
        await self._transport.close()

    async def _fetch(self, url: str) -> bytes:
        return await fetch_picture(self._pictures, url, base_url=self.url or "")
