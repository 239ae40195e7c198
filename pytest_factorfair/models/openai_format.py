"""The part of OpenAI's protocol that text and pictures share.

A format is a provider's settings and their meaning: the fields of a request, and the response in a reply.
``openai_chat`` is the format of text, ``openai_images`` that of pictures.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from typing import ClassVar

from pytest_factorfair.domain import Modality, Request, Response
from pytest_factorfair.models.arguments import Arguments, Flag, Seconds, Text
from pytest_factorfair.models.openai_errors import Complaint

Parameters = Mapping[str, object]
Fetch = Callable[[str], Awaitable[bytes]]


class Format(Arguments, ABC):
    """How to ask a model of a service; the same for HTTP and litellm."""

    seed: Flag = False
    base_url: Text | None = None
    api_key_env: Text | None = None
    timeout: Seconds
    body: dict[str, object]

    modality: ClassVar[Modality]
    largest: ClassVar[int]
    """Maximum size of a reply in bytes."""

    @property
    @abstractmethod
    def parameters(self) -> Parameters:
        """The parameters of every request, including those passed on."""

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
        """The response in a reply; ``fetch`` downloads what the reply only links to.

        Raises:
            MalformedReplyError: there is none, or it is incomplete.
        """

    @abstractmethod
    def without_refused(self, sent: Parameters, complaint: Complaint) -> Parameters | None:
        """The parameters without the one that the model does not support; None if it rejects none."""

    @abstractmethod
    def dropped(self, sent: Parameters) -> tuple[str, ...]:
        """The names of the parameters that are not sent because the model does not support them."""

    @abstractmethod
    def notes(self, dropped: tuple[str, ...]) -> tuple[str, ...]:
        """Departures from the settings that a report must mention."""


def tokens(count: object) -> int | None:
    """A number of tokens; None for anything else."""
    return count if isinstance(count, int) and not isinstance(count, bool) and count >= 0 else None
