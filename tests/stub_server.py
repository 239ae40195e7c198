"""An OpenAI-compatible server on loopback, in its own process: ``python -m tests.stub_server --port 0``.

It prints its port first. ``POST .../chat/completions`` and ``.../images/generations`` answer according to the
current script, ``GET /pictures/NAME.png`` returns a picture, ``PUT /script`` sets another script and resets
the statistics, ``PUT /release`` answers held requests, ``GET /stats`` returns the statistics. ``batch_server`` answers
batches. Everything is in memory, nothing is logged.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import math
import random
import re
import sys
import time
from collections import Counter
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from typing import Any

from aiohttp import web

from tests import batch_server, letter_servers, pictures

_CROWDED = ContextVar("crowded", default=False)
"""Whether other requests were in flight when a request arrived."""
_LETTERED = re.compile(r"(?<!\w)([A-Z])\. ")


@dataclass
class Script:
    """The behaviour of the server.

    ``answer`` is the text of every reply; "uniform" picks one of the prompt's letters by its hash,
    "hashed" is that hash. The first
    ``fail`` requests (-1: all) get ``status``, ``headers`` and ``body``, or an error of that status, except the
    first ``healthy`` of them and those whose prompt lacks ``match``. Failures take ``latency_of_failures``
    seconds if it is set. ``filters`` is the share of requests that a content filter stops, alternately with
    a 400 and with a reply of that finish reason. ``reply`` is merged into the chat completion, ``choice`` and
    ``message`` into its parts. ``replies`` are merged into one completion after another, in turn. ``raw`` replaces
    the body; ``cut`` stops in the middle of it; ``size`` is the size of a body in bytes. ``refuse``
    lists parameters that are rejected with a 400. ``resets``, ``cuts`` and ``stalls`` are the shares of requests
    whose connection is dropped, whose reply is cut off, and whose reply takes ``stall`` seconds longer. After
    every ``rate`` requests the server is closed: the first to come closes it for ``window`` seconds, and all that come
    meanwhile get a 429 that says when it opens. Requests after the first ``held``, except failures, wait until ``crowd``
    of them wait, for ``PUT /release``, or for the next script. ``server`` names a kind of ``letter_servers``, which answers instead of ``answer``. An images reply has ``pictures`` pictures, whatever the requested number; ``picture`` is merged into
    each.
    """

    answer: str = '{"answer": "A"}'
    server: str = ""
    latency: float = 0.0
    latency_of_failures: float | None = None
    healthy: int = 0
    match: str = ""
    fail: int = 0
    status: int = 500
    headers: dict[str, str] = field(default_factory=dict)
    body: str | None = None
    reply: dict[str, Any] = field(default_factory=dict)
    replies: list[dict[str, Any]] = field(default_factory=list)
    choice: dict[str, Any] = field(default_factory=dict)
    message: dict[str, Any] = field(default_factory=dict)
    raw: str | None = None
    cut: bool = False
    size: int = 0
    refuse: list[str] = field(default_factory=list)
    filters: float = 0.0
    resets: float = 0.0
    cuts: float = 0.0
    stalls: float = 0.0
    stall: float = 20.0
    rate: int = 0
    window: float = 1.0
    held: int = 0
    crowd: int = 0
    pictures: int = 1
    picture: dict[str, Any] = field(default_factory=dict)


@dataclass
class Stats:
    """Statistics of requests; ``prompts`` counts them by the prompt's SHA-256, ``arrived`` are times in s.

    ``most_throttled`` is the largest number of 429s while the server was closed once. ``fetched`` are the headers of
    the last request for a picture.
    """

    requests: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    last: dict[str, Any] = field(default_factory=dict)
    path: str = ""
    query: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    prompts: Counter[str] = field(default_factory=Counter)
    arrived: list[float] = field(default_factory=list)
    throttled: int = 0
    most_throttled: int = 0
    fetched: dict[str, str] = field(default_factory=dict)


@dataclass
class Window:
    """A window of the rate limit: requests admitted, and those rejected before it ``opens`` again."""

    admitted: int = 0
    rejected: int = 0
    opens: float = float("inf")


class Stub:
    """The server's state: the current script and its statistics."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.stats = Stats()
        self.random = random.Random(0)  # noqa: S311  # nothing secret
        self.window = Window()
        self.waiting = 0
        self.released = asyncio.Event()
        self.batches = batch_server.Batches(self.reply)

    async def complete(self, request: web.Request) -> web.StreamResponse:
        body = json.loads(await request.read())
        stats = self.stats
        self._note(request, body)
        _CROWDED.set(stats.in_flight > 1)
        try:
            wait = self._throttled()
            if wait is not None:
                return _sent("{}", status=429, headers={"Retry-After": str(math.ceil(wait * 1000) / 1000)})
            number, latency = stats.requests, self.script.latency
            if self._fails(number, body):
                if self.script.latency_of_failures is not None:
                    latency = self.script.latency_of_failures
            elif 0 < self.script.held < number:
                await self._held()
            if latency:
                await asyncio.sleep(latency)
            return await self._faulty(request, body, number)
        finally:
            stats.in_flight -= 1

    async def fetch(self, request: web.Request) -> web.Response:
        self.stats.fetched = dict(request.headers)
        name = request.match_info["name"]
        status = {"gone": 404, "moved": 302}.get(name, 200)
        return web.Response(body=pictures.drawn(name), status=status)

    async def put_script(self, request: web.Request) -> web.Response:
        self._release()
        self.script = Script(**await request.json())
        former = vars(self.stats)
        self.stats = Stats()
        self.random = random.Random(0)  # noqa: S311  # nothing secret
        self.window = Window()
        self.batches = batch_server.Batches(self.reply)
        return web.json_response(former)

    async def put_release(self, _: web.Request) -> web.Response:
        self._release()
        return web.json_response({})

    async def _held(self) -> None:
        released = self.released
        self.waiting += 1
        if self.waiting == self.script.crowd:
            self._release()
        await released.wait()

    def _release(self) -> None:
        """Answer the requests that wait, and let none wait until the next script."""
        self.script.held = self.waiting = 0
        self.released.set()
        self.released = asyncio.Event()

    async def get_stats(self, _: web.Request) -> web.Response:
        return web.json_response(vars(self.stats))

    def _note(self, request: web.Request, body: dict[str, Any]) -> None:
        stats = self.stats
        stats.requests += 1
        stats.in_flight += 1
        stats.most_in_flight = max(stats.most_in_flight, stats.in_flight)
        stats.last = body
        stats.arrived.append(time.monotonic())
        stats.path = request.path
        stats.query = dict(request.query)
        stats.headers = dict(request.headers)
        stats.prompts[hashlib.sha256(prompt_of(body).encode()).hexdigest()] += 1

    def _throttled(self) -> float | None:
        """Seconds until the rate limit admits requests again; None if it admits this one."""
        if not self.script.rate:
            return None
        moment = time.monotonic()
        if moment >= self.window.opens:
            self.window = Window()
        window = self.window
        if window.admitted < self.script.rate:
            window.admitted += 1
            return None
        window.rejected += 1
        if window.rejected == 1:
            window.opens = moment + self.script.window
        self.stats.throttled += 1
        self.stats.most_throttled = max(self.stats.most_throttled, window.rejected)
        return window.opens - moment

    async def _faulty(self, request: web.Request, body: dict[str, Any], number: int) -> web.StreamResponse:
        script, drawn = self.script, self.random.random()
        if script.filters and self.random.random() < script.filters:
            return self._filtered(body)
        if drawn < script.resets and request.transport is not None:
            request.transport.abort()
        elif drawn < script.resets + script.cuts:
            return await cut(request, self._completion(body))
        elif drawn < script.resets + script.cuts + script.stalls:
            await asyncio.sleep(script.stall)
        return await self._answer(request, body, number)

    def _fails(self, number: int, body: dict[str, Any]) -> bool:
        script = self.script
        return (script.fail < 0 or script.healthy < number <= script.fail) and script.match in prompt_of(body)

    async def _answer(self, request: web.Request, body: dict[str, Any], number: int) -> web.StreamResponse:
        script = self.script
        if self._fails(number, body):
            failure = json.dumps({"error": {"message": f"scripted {script.status}"}})
            return _sent(script.body or failure, status=script.status, headers=script.headers)
        status, text = self.reply(body)
        if status == 200 and script.cut:
            return await cut(request, text)
        return _sent(text + " " * (script.size - len(text)), status=status)

    def reply(self, body: dict[str, Any]) -> tuple[int, str]:
        """The status and body of the reply to a request, whether it comes as a call or in a batch."""
        script = self.script
        refused = next((name for name in script.refuse if name in body), None)
        if refused:
            return 400, _refusal(refused)
        if script.server:
            status, message, _ = letter_servers.complete(script.server, body)
            if status != 200:
                return status, json.dumps({"error": {"message": message}})
        return 200, script.raw if script.raw is not None else self._completion(body)

    def _filtered(self, body: dict[str, Any]) -> web.Response:
        if self.stats.requests % 2:
            error = {"message": "The prompt triggered the policy", "code": "content_filter"}
            return _sent(json.dumps({"error": error}), status=400)
        whole = json.loads(self._completion(body))
        whole["choices"][0]["finish_reason"] = "content_filter"
        return _sent(json.dumps(whole))

    def _completion(self, body: dict[str, Any]) -> str:
        prompt = prompt_of(body)
        if "prompt" in body:
            new = [f"{prompt} {self.stats.requests} {number}" for number in range(self.script.pictures)]
            return json.dumps(pictures.reply(new, self.script.picture) | self.script.reply)
        answer = self.script.answer
        if answer == "uniform":
            answer = _uniform(prompt)
        elif answer == "hashed":
            answer = hashlib.sha256(prompt.encode()).hexdigest()
        message = {"role": "assistant", "content": answer} | self.script.message
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        if self.script.server:
            asked = self.stats.prompts[hashlib.sha256(prompt_of(body).encode()).hexdigest()]
            others = _CROWDED.get() or self.stats.in_flight > 1
            _, answer, scored = letter_servers.complete(
                self.script.server, body, seen=asked > 1, others=others
            )
            choice |= scored | {"message": scored["message"] | self.script.message}
        choice |= self.script.choice
        usage = {"prompt_tokens": len(prompt) // 4, "completion_tokens": len(answer) // 2}
        whole = {"object": "chat.completion", "model": body["model"], "choices": [choice], "usage": usage}
        replies = self.script.replies
        reply = replies[self.stats.requests % len(replies)] if replies else self.script.reply
        further = letter_servers.further(self.script.server) if self.script.server else {}
        return json.dumps({"id": "stub", "created": 0} | whole | further | reply)


def prompt_of(body: dict[str, Any]) -> str:
    if "prompt" in body:
        return str(body["prompt"])
    return str([message["content"] for message in body["messages"] if message["role"] == "user"][-1])


def _uniform(prompt: str) -> str:
    letters = sorted(set(_LETTERED.findall(prompt))) or ["A"]
    index = int(hashlib.sha256(prompt.encode()).hexdigest(), 16) % len(letters)
    return json.dumps({"answer": letters[index]})


def _refusal(name: str) -> str:
    """The body of OpenAI's error for a parameter that a model does not support."""
    message = f"Unsupported parameter: '{name}' is not supported with this model."
    error = {
        "message": message,
        "type": "invalid_request_error",
        "param": name,
        "code": "unsupported_parameter",
    }
    return json.dumps({"error": error})


def _sent(text: str, *, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(text=text, status=status, headers=headers, content_type="application/json")


async def cut(request: web.Request, text: str) -> web.StreamResponse:
    """Announce the whole text, send half of it, and close the connection."""
    response = web.StreamResponse(headers={"Content-Length": str(len(text))})
    await response.prepare(request)
    await response.write(text[: len(text) // 2].encode())
    if request.transport is not None:
        request.transport.close()
    return response


async def serve(script: Script, *, port: int, attached: bool) -> None:
    """Serve until killed, or until standard input ends when attached to a parent."""
    stub = Stub(script)
    app = web.Application(client_max_size=2**26)
    app.router.add_post("/{path:.*}chat/completions", stub.complete)
    app.router.add_post("/{path:.*}images/generations", stub.complete)
    app.router.add_get("/pictures/{name}.png", stub.fetch)
    batch_server.route(app, lambda: stub.batches)
    app.router.add_put("/script", stub.put_script)
    app.router.add_put("/release", stub.put_release)
    app.router.add_get("/stats", stub.get_stats)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    print(runner.addresses[0][1], flush=True)  # noqa: T201  (the port is the program's output)
    await (asyncio.to_thread(sys.stdin.read) if attached else asyncio.Event().wait())


def main() -> None:
    """Start with the script in the options (JSON, except texts): ``--fail 3 --status 429 --cut true``."""
    parser = argparse.ArgumentParser(description=Script.__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--attached", action="store_true", help="end with standard input")
    for name, default in asdict(Script()).items():
        is_text = name in ("answer", "server", "body", "raw", "match")
        parser.add_argument(f"--{name}", type=str if is_text else json.loads, default=default)
    options = vars(parser.parse_args())
    port, attached = options.pop("port"), options.pop("attached")
    asyncio.run(serve(Script(**options), port=port, attached=attached))


if __name__ == "__main__":
    main()
