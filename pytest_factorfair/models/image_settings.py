"""How an image model behind a service is asked, whoever carries the request.

size, quality, style, seed=true (sends each request's own seed, where a service takes one), base_url,
api_key_env, timeout (600 s), and ``body.KEY=VALUE``, which is passed on as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_factorfair.domain import Request
from pytest_factorfair.models import arguments
from pytest_factorfair.models.chat_errors import Complaint
from pytest_factorfair.models.http_calls import Parameters
from pytest_factorfair.models.spec import ModelSpec

PARAMETERS = {
    "size": arguments.matching(r"\d+x\d+|auto", says="WIDTHxHEIGHT or auto"),
    "quality": arguments.TEXT,
    "style": arguments.TEXT,
}
KINDS = {
    **PARAMETERS,
    "seed": arguments.FLAG,
    "base_url": arguments.TEXT,
    "api_key_env": arguments.TEXT,
    "timeout": arguments.SECONDS,
}
DEFAULTS = {"seed": False, "timeout": 600}
BODY = "body."
FORMAT = "response_format"
SET_BY_THE_RUN = frozenset({"prompt", "model", "n", "stream", FORMAT})
LARGEST = 96 * 2**20  # bytes of a reply: a picture of 64 MB in base64
UNSEEDED = "unseeded: the service was sent no seed, so its pictures cannot be drawn again"


@dataclass(frozen=True, slots=True)
class ImageSettings:
    """``parameters`` are those of the request, what is passed on included; ``timeout`` is in seconds."""

    parameters: Parameters
    seeded: bool
    timeout: float
    base_url: str | None
    api_key_env: str | None

    path = "images/generations"
    largest = LARGEST

    def body(self, parameters: Parameters, request: Request) -> dict[str, object]:
        """The fields of one request for one picture, but for the model."""
        seed = {"seed": request.seed} if self.seeded else {}
        return {**parameters, **seed, "prompt": request.prompt, "n": 1}

    @property
    def identity(self) -> Mapping[str, object]:
        """What of this can change a picture."""
        asked = {key: value for key, value in self.parameters.items() if key != FORMAT}
        return {"parameters": asked, "seeded": self.seeded}

    def without_refused(self, sent: Parameters, complaint: Complaint) -> Parameters | None:
        """The parameters without the one the model does not take; None if the complaint is about none."""
        refused = next((key for key in sent if complaint.refuses(key)), None)
        return {key: sent[key] for key in sent if key != refused} if refused else None

    def notes(self, sent: Parameters) -> tuple[str, ...]:
        """What a report must say of what was sent in the end."""
        left_out = [key for key in self.parameters if key not in sent and key != FORMAT]
        told = tuple(f"{key} was not accepted: the model's default was used" for key in left_out)
        return told if self.seeded else (*told, UNSEEDED)


def settings(spec: ModelSpec, *, taken: frozenset[str] = frozenset()) -> ImageSettings:
    """The settings in a spec's arguments; ``taken`` are further keys that cannot be passed on.

    Raises:
        InputError: an argument is unknown or cannot be right.
    """
    values = DEFAULTS | arguments.read(spec, KINDS, passed_on=(BODY,))
    extra = arguments.under(values, BODY)
    arguments.refuse(spec, BODY, extra, ours=KINDS, taken=SET_BY_THE_RUN | taken)
    return ImageSettings(
        parameters={key: values[key] for key in PARAMETERS if key in values} | extra,
        seeded=values["seed"] is True,
        timeout=arguments.number(values, "timeout"),
        base_url=arguments.text(values, "base_url"),
        api_key_env=arguments.text(values, "api_key_env"),
    )
