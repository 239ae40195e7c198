"""OpenAI's protocol, as far as text and pictures have it in common.

A format is the settings of a provider together with what they mean: the fields of a request, and the response
in a reply. ``openai_chat`` is the format of text, ``openai_images`` that of pictures.
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
    """How a model behind a service is asked; the same whether HTTP or litellm carries the request."""

    seed: Flag = False
    base_url: Text | None = None
    api_key_env: Text | None = None
    timeout: Seconds
    body: dict[str, object]

    modality: ClassVar[Modality]
    largest: ClassVar[int]
    """Bytes of a reply."""

    @property
    @abstractmethod
    def parameters(self) -> Parameters:
        """The parameters of every request, those passed on included."""

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
            MalformedReplyError: there is none, or not a whole one.
        """

    @abstractmethod
    def without_refused(self, sent: Parameters, complaint: Complaint) -> Parameters | None:
        """The parameters without the one that the model does not support; None if it complains of none."""

    @abstractmethod
    def notes(self, sent: Parameters) -> tuple[str, ...]:
        """Departures from the settings that a report must mention."""


def tokens(count: object) -> int | None:
    """A number of tokens; None for anything else."""
    return count if isinstance(count, int) and not isinstance(count, bool) and count >= 0 else None
