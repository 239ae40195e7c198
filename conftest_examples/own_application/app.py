"""Stands in for your application: a function, which ``python app.py`` also serves by HTTP on a free port."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def answer(question: str) -> str:
    """Always the last option; yours would ask a model, with your own prompts, tools and filters."""
    letters = [letter for letter in "ABCD" if f"{letter}. " in question]
    return json.dumps({"answer": letters[-1]})


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        reply = json.dumps({"message": {"text": answer(request["question"])}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"http://127.0.0.1:{server.server_port}/chat", flush=True)  # noqa: T201  # a shell reads it
    server.serve_forever()
