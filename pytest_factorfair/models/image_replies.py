"""From the body of an images reply to a response with a picture that can be decoded."""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from pytest_factorfair.domain import Response, utf8
from pytest_factorfair.errors import PictureError
from pytest_factorfair.models.chat_replies import MalformedReplyError, tokens

REWRITTEN = "the service rewrote the prompt: its own words are kept with each picture"

Fetch = Callable[[str], Awaitable[bytes]]


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a reply says of its first picture: base64 or a URL, the prompt it was drawn from, and notes."""

    encoded: str
    url: str
    revised: str
    notes: tuple[str, ...]


async def response_of(value: Mapping[str, object], *, prompt: str, model: str, fetch: Fetch) -> Response:
    """The response in an images reply; ``fetch`` gets the bytes of a URL.

    Raises:
        MalformedReplyError: there is no picture in it, or not a whole one.
    """
    drawn = _drawn(value, prompt)
    image = await fetch(drawn.url) if drawn.url else None
    usage = value.get("usage")
    count = usage if isinstance(usage, dict) else {}
    return Response(
        drawn.revised,
        tokens_in=tokens(count.get("input_tokens")),
        tokens_out=tokens(count.get("output_tokens")),
        model=model,
        notes=drawn.notes,
        image=await asyncio.to_thread(_whole, image, drawn.encoded),
    )


def _drawn(value: Mapping[str, object], prompt: str) -> Drawn:
    data = value.get("data")
    pictures = data if isinstance(data, list) else []
    if not pictures or not isinstance(pictures[0], dict):
        raise MalformedReplyError("the reply holds no picture")
    encoded, url, revised = (_text(pictures[0], key) for key in ("b64_json", "url", "revised_prompt"))
    if not (encoded or url):
        raise MalformedReplyError("the reply holds no picture")
    more = f"{len(pictures)} pictures came for 1 asked for: the first was used"
    notes = (*([more] if len(pictures) > 1 else ()), *([REWRITTEN] if revised not in ("", prompt) else ()))
    return Drawn(encoded, "" if encoded else url, revised, notes)


def _text(picture: Mapping[str, object], key: str) -> str:
    value = picture.get(key)
    return utf8(value) if isinstance(value, str) else ""


def _whole(image: bytes | None, encoded: str) -> bytes:
    """The bytes, decoded to see that they are a picture; runs in a thread, as that takes a while."""
    from pytest_factorfair.pictures.decode import decode

    try:
        found = base64.b64decode(encoded, validate=True) if image is None else image
        decode(found)
    except binascii.Error:
        raise MalformedReplyError("the picture's base64 is cut off or broken") from None
    except PictureError as error:
        raise MalformedReplyError(str(error)) from None
    return found
