"""The batches of the stub server: OpenAI's, Together's, Mistral's and Anthropic's.

``PUT /batches`` changes the script and switches batches on, ``GET /batches`` returns the statistics. Batches
outlive a change of their script, and end with the server's own. Time is the script's ``now``.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import random
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import Any

from aiohttp import web

DAY = 86400.0
Reply = Callable[[dict[str, Any]], tuple[int, str]]


@dataclass
class Script:
    """The behaviour of batches.

    A batch takes ``duration`` seconds of the clock ``now``, to which every poll of a batch adds ``tick``. Its
    tokens are billed at ``price_in`` and ``price_out``. A batch fails if the estimated tokens of those that
    are running exceed ``quota``, or with ``failure``. The first ``faulty`` batches lose the shares
    ``expired`` (the batch expires), ``broken`` (500), ``unasked`` (status 0) and ``missing`` of their lines,
    and repeat the share ``duplicated``. A listed batch appears ``lag`` seconds late. The next
    ``null_files`` polls of an ended batch show no files, ``resets`` creations get no reply, ``cuts``
    downloads are cut off, ``errors`` calls get ``status``. ``key`` is required of all calls if set. ``style``
    is openai, together or mistral.

    It lies in shape, too: ``created`` and ``listed`` name how a creation and a list are answered (``CREATED``,
    ``LISTED``), a creation that is ``refused`` is not accepted, and the next ``bad`` downloads have the content
    ``download`` (``DOWNLOADS``). No reply ever comes to a call of the kind ``hangs``: upload, create, poll or
    download.
    """

    enabled: bool = False
    now: float = 1.0e9
    duration: float = 0.0
    tick: float = 0.0
    price_in: float = 0.0
    price_out: float = 0.0
    quota: int = 0
    failure: str = ""
    faulty: int = 1
    expired: float = 0.0
    broken: float = 0.0
    unasked: float = 0.0
    missing: float = 0.0
    duplicated: float = 0.0
    lag: float = 0.0
    null_files: int = 0
    resets: int = 0
    cuts: int = 0
    errors: int = 0
    status: int = 503
    gone: bool = False
    key: str = ""
    style: str = "openai"
    created: str = ""
    refused: bool = False
    listed: str = ""
    download: str = ""
    bad: int = 0
    hangs: str = ""


CREATED: dict[str, tuple[int, str]] = {
    "without an id": (200, '{"object": "batch", "status": "validating"}'),
    "nested": (200, '{"code": 0, "data": {"id": "batch-0", "status": "validating"}}'),
    "HTML": (200, "<html><body>It works!</body></html>"),
    "500": (500, '{"error": {"message": "internal error"}}'),
}
"""Replies to a creation that is accepted, unless it is ``refused``."""

LISTED: dict[str, str] = {
    "empty": '{"object": "list", "data": [], "has_more": false}',
    "null": '{"object": "list", "data": null}',
    "without an array": '{"object": "list", "batches": []}',
    "names": '{"object": "list", "data": ["batch-0"]}',
}

DOWNLOADS: dict[str, Callable[[list[str]], bytes]] = {
    "HTML": lambda _: b"<html>\n<body>Bad gateway</body>\n</html>\n",
    "empty": lambda _: b"",
    "garbage": lambda lines: b"\xff\x00\n" * len(lines),
    "[1,2]": lambda lines: b"[1,2]\n" * len(lines),
    "deep": lambda lines: b"".join(b'{"custom_id": %b\n' % (b"[" * 9999) for _ in lines),
    "another shape": lambda lines: b"".join(
        b'{"custom_id": "%b", "response": {"status_code": 200, "body": {"output": "A"}}}\n'
        % str(json.loads(line)["custom_id"]).encode()
        for line in lines
    ),
    "but 3 lines": lambda lines: "".join(lines[:-3]).encode(),
    "half": lambda lines: "".join(lines[: len(lines) // 2]).encode(),
}
"""What a download has in place of its lines; "bomb" is one line of 256 MB, compressed to 1 MB."""


@dataclass
class Batch:
    """A batch, with its lines and, once it has ended, its results."""

    id: str
    created: float
    lines: list[dict[str, Any]]
    file_id: str | None
    metadata: dict[str, str]
    is_faulty: bool
    state: str = "in_progress"
    error: dict[str, Any] | None = None
    output: list[dict[str, Any]] = field(default_factory=list)
    failures: list[dict[str, Any]] = field(default_factory=list)
    hidden: int = 0


class Batches:
    """The batches of the server; ``reply`` answers a single request, as the server does outside of batches."""

    def __init__(self, reply: Reply) -> None:
        self.script = Script()
        self._reply = reply
        self._files: dict[str, str] = {}
        self._batches: dict[str, Batch] = {}
        self._random = random.Random(0)  # noqa: S311  # nothing secret
        self.calls: Counter[str] = Counter()
        self.completions: Counter[str] = Counter()
        self.ledger: list[float] = []
        self.names: list[str] = []
        self.downloads = 0
        self.hung: Counter[str] = Counter()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        script = self.script
        path = request.path.partition("/v1/")[2]
        if not script.enabled:
            return web.json_response({"error": {"message": "Not Found"}}, status=404)
        self.calls[f"{request.method} {path.partition('/')[0]}"] += 1
        sent = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if script.key not in ("", sent, request.headers.get("x-api-key")):
            return web.json_response({"error": {"message": f"Incorrect API key: {sent}"}}, status=401)
        if script.errors:
            script.errors -= 1
            return web.json_response({"error": {"message": "scripted"}}, status=script.status)
        what, _, rest = path.removeprefix("messages/").partition("/")
        if what == "files":
            return await self._file(request, rest)
        return await self._batch(request, rest.removeprefix("jobs").strip("/"), anthropic="messages/" in path)

    async def _hang(self, call: str) -> None:
        if self.script.hangs == call:
            self.hung[call] += 1
            await asyncio.Event().wait()

    async def _file(self, request: web.Request, rest: str) -> web.StreamResponse:
        if request.method == "POST":
            await self._hang("upload")
            form = await request.post()
            file = form["file"]
            assert isinstance(file, web.FileField)
            self.names.append(file.filename)
            return web.json_response(
                {"id": self._stored(file.file.read().decode()), "purpose": form["purpose"]}
            )
        content = self._files.get(rest.removesuffix("/content"))
        if content is None or self.script.gone:
            return web.json_response({"error": {"message": "No such File object"}}, status=404)
        return await self._sent(request, content)

    async def _sent(self, request: web.Request, content: str) -> web.StreamResponse:
        self.downloads += 1
        await self._hang("download")
        if self.script.bad:
            self.script.bad -= 1
            if self.script.download == "bomb":
                return web.Response(body=_bomb(), headers={"Content-Encoding": "gzip"})
            return web.Response(body=DOWNLOADS[self.script.download](content.splitlines(keepends=True)))
        if not self.script.cuts:
            return web.Response(text=content)
        self.script.cuts -= 1
        response = web.StreamResponse(headers={"Content-Length": str(len(content.encode()))})
        await response.prepare(request)
        await response.write(content.encode()[: len(content) // 2])
        if request.transport is not None:
            request.transport.close()
        return response

    def _stored(self, content: str) -> str:
        file_id = f"file-{len(self._files)}"
        self._files[file_id] = content
        return file_id

    async def _batch(self, request: web.Request, rest: str, *, anthropic: bool) -> web.StreamResponse:
        batch_id, _, action = rest.partition("/")
        if request.method == "GET":
            self.script.now += self.script.tick
        self._advance()
        if not batch_id:
            if request.method == "POST":
                return await self._creation(request, anthropic=anthropic)
            return self._listed(request, anthropic=anthropic)
        if request.method == "GET" and not action:
            await self._hang("poll")
        found = self._batches.get(batch_id)
        if found is None:
            return web.json_response({"error": {"message": f"No batch {batch_id}"}}, status=404)
        if action == "cancel" and found.state == "in_progress":
            self._end(
                found,
                share=(self.script.now - found.created) / (self.script.duration or 1),
                state="cancelled",
            )
        if action == "results":
            lines = "".join(
                json.dumps(_of_anthropic(line)) + "\n" for line in (*found.output, *found.failures)
            )
            return await self._sent(request, lines)
        return web.json_response(self._shown(found, anthropic=anthropic))

    async def _creation(self, request: web.Request, *, anthropic: bool) -> web.StreamResponse:
        content = json.loads(await request.read())
        batch = None if self.script.refused else self._created(content)
        await self._hang("create")
        if batch is None or self.script.created:
            status, text = CREATED[self.script.created]
            return web.Response(status=status, text=text, content_type="application/json")
        if self.script.resets:
            self.script.resets -= 1
            assert request.transport is not None
            request.transport.abort()
        shown = self._shown(batch, anthropic=anthropic)
        return web.json_response({"job": shown} if self.script.style == "together" else shown)

    def _created(self, fields: dict[str, Any]) -> Batch:
        file_id = fields.get("input_file_id") or next(iter(fields.get("input_files", ())), None)
        written = self._files[file_id].splitlines() if file_id else ()
        lines = fields.get("requests") or [json.loads(line) for line in written]
        number = len(self._batches)
        batch = Batch(
            f"batch-{number}",
            self.script.now,
            lines,
            file_id,
            fields.get("metadata") or {},
            number < self.script.faulty,
            hidden=self.script.null_files,
        )
        self._batches[batch.id] = batch
        running = [other for other in self._batches.values() if other.state == "in_progress"]
        enqueued = sum(len(_prompt(line)) // 4 for other in running for line in other.lines)
        if self.script.quota and enqueued > self.script.quota:
            batch.error = {"code": "token_limit_exceeded", "message": "Enqueued token limit reached"}
        elif self.script.failure:
            batch.error = {"code": "invalid_json_line", "message": self.script.failure, "line": 1}
        return batch

    def _listed(self, request: web.Request, *, anthropic: bool) -> web.Response:
        if self.script.listed:
            return web.Response(text=LISTED[self.script.listed], content_type="application/json")
        seen = [
            batch
            for batch in reversed(self._batches.values())
            if self.script.now >= batch.created + self.script.lag
        ]
        after = request.query.get("after") or request.query.get("after_id")
        ids = [batch.id for batch in seen]
        start = ids.index(after) + 1 if after else int(request.query.get("page", 0)) * 100
        page = [self._shown(batch, anthropic=anthropic) for batch in seen[start : start + 100]]
        if self.script.style == "together":
            return web.json_response(page)
        return web.json_response({"data": page, "has_more": len(seen) > start + 100})

    def _advance(self) -> None:
        for batch in self._batches.values():
            if batch.state != "in_progress":
                continue
            if batch.error:
                batch.state = "failed"
            elif self.script.now >= batch.created + self.script.duration:
                expires = batch.is_faulty and self.script.expired
                self._end(batch, share=1.0, state="expired" if expires else "completed")

    def _end(self, batch: Batch, *, share: float, state: str) -> None:
        """Complete a share of the lines, bill them, and end the batch."""
        batch.state = state
        lines = list(batch.lines)
        self._random.shuffle(lines)
        script, done, bill = self.script, math.floor(share * len(lines)), 0.0
        for index, line in enumerate(lines):
            key = line["custom_id"]
            drawn = int(hashlib.sha256(key.encode()).hexdigest()[:8], 16) / 2**32 if batch.is_faulty else 1.0
            limits = [script.expired, script.broken, script.unasked, script.missing, script.duplicated]
            fault = next((n for n in range(5) if drawn < sum(limits[: n + 1])), None)
            if index >= done or fault == 0:
                code = "batch_cancelled" if index >= done else "batch_expired"
                batch.failures.append(
                    {"custom_id": key, "response": None, "error": {"code": code, "message": "not executed"}}
                )
            elif fault in (1, 2):
                status = 500 if fault == 1 else 0
                response = {
                    "status_code": status,
                    "request_id": "r",
                    "body": {"error": {"message": "broken"}},
                }
                batch.output.append({"custom_id": key, "response": response, "error": None})
            elif fault != 3:
                status, text = self._reply(_body(line))
                body = json.loads(text)
                response = {"status_code": status, "request_id": "r", "body": body}
                batch.output += [{"custom_id": key, "response": response, "error": None}] * (
                    2 if fault == 4 else 1
                )
                if status == 200:
                    self.completions[key] += 1
                    usage = body["usage"]
                    bill += (
                        usage["prompt_tokens"] * script.price_in
                        + usage["completion_tokens"] * script.price_out
                    )
        self.ledger.append(bill)

    def _shown(self, batch: Batch, *, anthropic: bool) -> dict[str, Any]:
        ended = batch.state in ("completed", "expired", "cancelled")
        hides, batch.hidden = ended and batch.hidden > 0, batch.hidden - ended
        succeeded = len(
            {line["custom_id"] for line in batch.output if line["response"]["status_code"] == 200}
        )
        failed = len(batch.lines) - succeeded if ended else 0
        if anthropic:
            counts = Counter({"processing": 0 if ended else len(batch.lines)})
            counts.update(_of_anthropic(line)["result"]["type"] for line in (*batch.output, *batch.failures))
            return {
                "id": batch.id,
                "processing_status": "ended" if ended else "in_progress",
                "request_counts": counts,
                "created_at": _iso(batch.created),
                "expires_at": _iso(batch.created + DAY),
                "results_url": "https://elsewhere.invalid/results" if ended else None,
            }
        files: list[str | None] = [None, None]
        if ended and not hides:
            files = [self._written(lines) for lines in (batch.output, batch.failures)]
        if self.script.style == "mistral":
            states = {"completed": "SUCCESS", "expired": "TIMEOUT_EXCEEDED", "in_progress": "RUNNING"}
            return {
                "id": batch.id,
                "status": states.get(batch.state, batch.state.upper()),
                "input_files": [batch.file_id],
                "metadata": batch.metadata,
                "errors": [batch.error] if batch.error else [],
                "created_at": int(batch.created),
                "total_requests": len(batch.lines),
                "succeeded_requests": succeeded,
                "failed_requests": failed,
                "output_file": files[0],
                "error_file": files[1],
            }
        together = self.script.style == "together"
        return {
            "id": batch.id,
            "status": batch.state.upper() if together else batch.state,
            "input_file_id": batch.file_id,
            "metadata": None if together else batch.metadata,
            "errors": {"data": [batch.error]} if batch.error else None,
            "created_at": _iso(batch.created) if together else int(batch.created),
            "expires_at": _iso(batch.created + DAY) if together else int(batch.created + DAY),
            "request_counts": {"total": len(batch.lines), "completed": succeeded, "failed": failed},
            "output_file_id": files[0],
            "error_file_id": files[1],
        }

    def _written(self, lines: list[dict[str, Any]]) -> str | None:
        content = "".join(json.dumps(line) + "\n" for line in lines)
        known = next((file for file, text in self._files.items() if text == content), None)
        return (known or self._stored(content)) if content else None

    def stats(self) -> dict[str, Any]:
        """Calls by method and path, completions by custom_id, bills, file names, and the batches' states."""
        return {
            "calls": self.calls,
            "completions": self.completions,
            "ledger": self.ledger,
            "names": self.names,
            "downloads": self.downloads,
            "hung": self.hung,
            "batches": {batch.id: batch.state for batch in self._batches.values()},
            "lines": [len(batch.lines) for batch in self._batches.values()],
            "metadata": [batch.metadata for batch in self._batches.values()],
            "now": self.script.now,
        }


def _body(line: dict[str, Any]) -> dict[str, Any]:
    """The chat completion that a line asks for; Anthropic's has its system prompt apart."""
    body = line.get("body") or line["params"]
    system = [{"role": "system", "content": body["system"]}] if "system" in body else []
    return {**body, "messages": [*system, *body["messages"]]}


def _prompt(line: dict[str, Any]) -> str:
    return str(_body(line)["messages"][-1]["content"])


def _of_anthropic(line: dict[str, Any]) -> dict[str, Any]:
    """A line of results in Anthropic's form."""
    response, result = line["response"], {}
    if response is None:
        result = {"type": line["error"]["code"].replace("cancelled", "canceled").removeprefix("batch_")}
    elif response["status_code"] == 200:
        body = response["body"]
        choice, usage = body["choices"][0], body["usage"]
        result = {
            "type": "succeeded",
            "message": {
                "model": body["model"],
                "content": [
                    {"type": "thinking", "thinking": "Hm."},
                    {"type": "text", "text": choice["message"]["content"]},
                ],
                "stop_reason": "max_tokens" if choice["finish_reason"] == "length" else "end_turn",
                "usage": {
                    "input_tokens": usage["prompt_tokens"],
                    "output_tokens": usage["completion_tokens"],
                },
            },
        }
    else:
        kind = "invalid_request_error" if response["status_code"] == 400 else "api_error"
        error = {"type": kind, "message": response["body"]["error"]["message"]}
        result = {"type": "errored", "error": {"type": "error", "error": error}}
    return {"custom_id": line["custom_id"], "result": result}


@cache
def _bomb() -> bytes:
    packer = zlib.compressobj(1, wbits=31)
    zeros = bytes(2**20)
    return b"".join([*(packer.compress(zeros) for _ in range(256)), packer.flush()])


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat().replace("+00:00", "Z")


def route(app: web.Application, current: Callable[[], Batches]) -> None:
    """Add the routes of batches; ``current`` are those of the current script of the server."""

    async def handle(request: web.Request) -> web.StreamResponse:
        return await current().handle(request)

    async def put(request: web.Request) -> web.Response:
        for name, value in {"enabled": True, **await request.json()}.items():
            assert hasattr(current().script, name), name
            setattr(current().script, name, value)
        return web.json_response({})

    async def get(_: web.Request) -> web.Response:
        return web.json_response(current().stats())

    app.router.add_put("/batches", put)
    app.router.add_get("/batches", get)
    for path in ("files", "batches", "batch/jobs", "messages/batches"):
        app.router.add_route("*", f"/{{before:.*}}v1/{path}{{rest:(?:/.*)?}}", handle)
