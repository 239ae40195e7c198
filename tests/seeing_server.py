"""A server on loopback with OpenAI's protocol, whose model sees the pictures that it is sent."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jsonschema
import numpy as np

from pytest_factorfair.detection import build
from pytest_factorfair.domain import Attribute
from pytest_factorfair.pictures.decode import Pixels, decode

Reply = tuple[int, object]
"""A reply: the status, and the text of the answer or the body of the error."""


class Eyes:
    """The answers of a model that sees: the colours of squares, and the people on code cards."""

    def __init__(self, *attributes: Attribute) -> None:
        self.attributes = attributes
        self.requests: list[dict[str, Any]] = []
        self.pictures: list[str] = []
        self.before: Callable[[dict[str, Any]], Reply | None] = lambda _: None
        self.people: Callable[[list[dict[str, str]]], object] = lambda seen: {"seen": seen}
        self._cards = build("sim", custom={})
        self._lock = threading.Lock()

    def __call__(self, body: dict[str, Any]) -> Reply:
        words, image = body["messages"][-1]["content"]
        assert words["type"] == "text"
        data = base64.b64decode(
            image["image_url"]["url"].removeprefix("data:image/png;base64,"), validate=True
        )
        with self._lock:
            self.requests.append(body)
            if (reply := self.before(body)) is not None:
                return reply
            pixels = decode(data)
            is_people = "gender" in words["text"]
            if is_people:
                self.pictures.append(hashlib.sha256(data).hexdigest())
            seen = self.people_in(data) if is_people else _squares(pixels)
        if "response_format" in body and not is_people:
            jsonschema.validate({"seen": seen}, body["response_format"]["json_schema"]["schema"])
        return 200, self.people(seen) if is_people else {"seen": seen}

    def people_in(self, data: bytes) -> list[dict[str, str]]:
        (detection,) = self._cards.read([data], self.attributes)
        words = {attribute.name: attribute.words for attribute in self.attributes}
        return [{name: words[name][group] for name, group in face.groups.items()} for face in detection.faces]


def _squares(pixels: Pixels) -> list[dict[str, str]]:
    """The colours of the two halves' centres, by their strongest channel."""
    height, width = pixels.shape[:2]
    centres = [pixels[height // 2, width * part // 4] for part in (1, 3)]
    return [{"colour": ("red", "green", "blue")[int(np.argmax(centre))]} for centre in centres]


@contextmanager
def serving(answer: Callable[[dict[str, Any]], Reply]) -> Iterator[str]:
    """Serve until the end of the block; yields the base URL."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, content = answer(body)
            text = content if isinstance(content, str) else json.dumps(content)
            message = {"role": "assistant", "content": text}
            reply = {
                "model": body["model"],
                "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": 100, "completion_tokens": 10},
            }
            sent = json.dumps(reply if status == 200 else content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class's name
            """Do not log requests."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
