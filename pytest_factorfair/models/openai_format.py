"""The base class of formats: what text and pictures have in common in OpenAI's protocol.

A format holds a model's settings, builds the fields of a request, and reads the response from a reply.
``openai_chat`` is the format of text, ``openai_images`` that of pictures.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, ClassVar

from pydantic import Field
from pydantic_core import to_json

from pytest_factorfair.domain import Modality, Request, Response
from pytest_factorfair.models.arguments import Arguments, Flag, PassThrough, Seconds, Text
from pytest_factorfair.models.openai_errors import Complaint

Parameters = Mapping[str, object]
Fetch = Callable[[str], Awaitable[bytes]]


class Format(Arguments, ABC):
    """The settings of a model, its requests and its replies, whether sent by HTTP or through litellm."""

    seed: Flag = False
    base_url: Text | None = None
    api_key_env: Text | None = None
    timeout: Seconds
    body: dict[str, object]
    header: Annotated[dict[str, str], PassThrough(from_environment=True)] = Field(default_factory=dict)
    """Environment variables by the header that carries their value."""

    modality: ClassVar[Modality]
    largest: ClassVar[int]
    """Maximum size of a reply in bytes."""

    @property
    @abstractmethod
    def parameters(self) -> Parameters:
        """The parameters of every request, including those that the user passes on."""

    @property
    @abstractmethod
    def identity(self) -> Mapping[str, object]:
        """The settings that can change an answer."""

    @abstractmethod
    def request(self, request: Request, parameters: Parameters) -> dict[str, object]:
        """The fields of one request, without the model."""

    @abstractmethod
    async def response(
        self, reply: Mapping[str, object], *, prompt: str, model: str, fetch: Fetch
    ) -> Response:
        """Read the response from a reply; ``fetch`` downloads pictures that the reply links to.

        Raises:
            MalformedReplyError: the reply contains no response, or an incomplete one.
        """

    @abstractmethod
    def without_refused(self, sent: Parameters, complaint: Complaint) -> Parameters | None:
        """The parameters without the one that the complaint rejects; None if it rejects none of them."""

    @abstractmethod
    def dropped(self, sent: Parameters) -> tuple[str, ...]:
        """The names of the parameters that are not sent because the model does not support them."""

    @abstractmethod
    def notes(self, dropped: tuple[str, ...]) -> tuple[str, ...]:
        """The notes for reports about settings that were not applied."""


def encoded(fields: Mapping[str, object]) -> bytes:
    """The fields of a request as JSON."""
    try:
        return to_json(fields)
    except ValueError:  # a lone surrogate, which only json can escape
        return json.dumps(fields).encode()


def tokens(count: object) -> int | None:
    """The value if it is a valid number of tokens, otherwise None."""
    return count if isinstance(count, int) and not isinstance(count, bool) and count >= 0 else None
