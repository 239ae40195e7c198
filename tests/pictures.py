"""Small pictures for tests, generated when needed: the same name always gives the same bytes."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
from io import BytesIO
from typing import Any

SIZE = 8


def drawn(name: str, kind: str = "PNG") -> bytes:
    """A picture of a single colour, which depends on the hash of the name."""
    from PIL import Image

    red, green, blue = hashlib.sha256(name.encode()).digest()[:3]
    file = BytesIO()
    Image.new("RGB", (SIZE, SIZE), (red, green, blue)).save(file, kind)
    return file.getvalue()


def reply(names: Iterable[str], fields: Mapping[str, Any]) -> dict[str, Any]:
    """The body of an images reply in OpenAI's format."""
    data = [{"b64_json": base64.b64encode(drawn(name)).decode(), **fields} for name in names]
    return {"created": 0, "data": data, "usage": {"input_tokens": 12, "output_tokens": 4160}}
