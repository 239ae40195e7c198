"""Image generation: the format of image models. Each call returns one picture.

Arguments: size, quality, style, format (png, the services' default; webp and jpeg are smaller), seed=true
(sends each request's own seed, if the service supports it), base_url, api_key_env, timeout (600 s), and
``body.KEY=VALUE``, which is passed on unchanged.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from pytest_factorfair.domain import Modality, Request, Response, utf8
from pytest_factorfair.errors import PictureError
from pytest_factorfair.models.arguments import AcceptedValues, PassThrough, PictureFormat, Seconds, Text
from pytest_factorfair.models.openai_errors import Complaint, MalformedReplyError
from pytest_factorfair.models.openai_format import Fetch, Format, Parameters, tokens
from pytest_factorfair.models.openai_replies import described

RESPONSE_FORMAT = "response_format"
OUTPUT_FORMAT = "output_format"
UNSEEDED = "unseeded: no seed was sent to the service, so its pictures cannot be reproduced"
REWRITTEN = "the service rewrote the prompt: the rewritten prompt is stored with each picture"

Size = Annotated[
    str, Field(pattern=r"^(?:\d+x\d+|auto)$"), AcceptedValues("WIDTHxHEIGHT or auto", verbatim=True)
]


class ImageFormat(Format):
    """The settings of an image model; builds its requests and reads its replies."""

    size: Size | None = None
    quality: Text | None = None
    style: Text | None = None
    format: PictureFormat = "png"
    timeout: Seconds = 600
    body: Annotated[
        dict[str, object],
        PassThrough(
            frozenset({"prompt", "model", "n", "stream", RESPONSE_FORMAT, OUTPUT_FORMAT}), same_names=True
        ),
    ] = Field(default_factory=dict)

    modality: ClassVar[Modality] = "image"
    largest: ClassVar[int] = 96 * 2**20  # a picture of 64 MB in base64

    @property
    def parameters(self) -> Parameters:
        settings = {"size": self.size, "quality": self.quality, "style": self.style}
        settings[OUTPUT_FORMAT] = None if self.format == "png" else self.format
        return {name: value for name, value in settings.items() if value is not None} | self.body

    @property
    def identity(self) -> Mapping[str, object]:
        parameters = {name: value for name, value in self.parameters.items() if name != RESPONSE_FORMAT}
        return {"parameters": parameters, "seeded": self.seed}

    def request(self, request: Request, parameters: Parameters) -> dict[str, object]:
        seed = {"seed": request.seed} if self.seed else {}
        return {**parameters, **seed, "prompt": request.prompt, "n": 1}

    async def response(
        self, reply: Mapping[str, object], *, prompt: str, model: str, fetch: Fetch
    ) -> Response:
        data = reply.get("data")
        pictures = data if isinstance(data, list) else []
        picture = pictures[0] if pictures and isinstance(pictures[0], dict) else {}
        fields = {name: picture.get(name) for name in ("b64_json", "url", "revised_prompt")}
        texts = {name: utf8(value) for name, value in fields.items() if isinstance(value, str)}
        encoded, url = texts.get("b64_json", ""), texts.get("url", "")
        if not (encoded or url):
            raise MalformedReplyError(f"the reply contains no picture: {described(reply)}", is_foreign=True)
        image = await asyncio.to_thread(_whole, encoded or await fetch(url))
        revised = texts.get("revised_prompt", "")
        notes = [REWRITTEN] if revised not in ("", prompt) else []
        if len(pictures) > 1:
            notes.insert(0, f"{len(pictures)} pictures were returned for 1 requested: the first was used")
        counts = reply.get("usage")
        usage = counts if isinstance(counts, dict) else {}
        return Response(
            revised,
            tokens_in=tokens(usage.get("input_tokens")),
            tokens_out=tokens(usage.get("output_tokens")),
            model=model,
            notes=tuple(notes),
            image=image,
        )

    def without_refused(self, sent: Parameters, complaint: Complaint) -> Parameters | None:
        # A message may also name a parameter that the model accepts, or contain "n".
        names = sorted(sent, key=lambda name: name != complaint.parameter)
        refused = next((name for name in names if complaint.refuses(name)), None)
        return {name: sent[name] for name in sent if name != refused} if refused else None

    def dropped(self, sent: Parameters) -> tuple[str, ...]:
        return tuple(name for name in self.parameters if name not in sent and name != RESPONSE_FORMAT)

    def notes(self, dropped: tuple[str, ...]) -> tuple[str, ...]:
        notes = tuple(f"{name} was not accepted: the model's default was used" for name in dropped)
        return notes if self.seed else (*notes, UNSEEDED)


def _whole(picture: str | bytes) -> bytes:
    """Decode a picture from base64, or return its bytes unchanged; run in a thread because it is slow.

    Raises:
        MalformedReplyError: the base64 is invalid.
    """
    from pytest_factorfair.pictures.decode import decode

    try:
        image = base64.b64decode(picture, validate=True) if isinstance(picture, str) else picture
        decode(image)
    except binascii.Error:
        raise MalformedReplyError("the picture's base64 is cut off or broken") from None
    except PictureError as error:
        raise MalformedReplyError(str(error)) from None
    return image
