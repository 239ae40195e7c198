"""Replies in named columns, and everything that is wrong with a file."""

from __future__ import annotations

import codecs
import gzip
import hashlib
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_factorfair.errors import InputError
from pytest_factorfair.logs.formats import LogArguments, open_log
from pytest_factorfair.logs.inspect_logs import KEYS
from pytest_factorfair.logs.log import LoggedReply
from pytest_factorfair.logs.reading import LONGEST
from pytest_factorfair.logs.replay import build
from tests.asking import spec
from tests.extras import needs
from tests.project import DATA

LOGS = DATA / "logs"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "answers.jsonl"


def written(file: Path, *entries: object) -> Path:
    file.write_text("\n".join(json.dumps(entry) for entry in entries), encoding="utf-8")
    return file


def replies(file: Path, **arguments: str) -> list[LoggedReply]:
    return [*open_log(file, LogArguments(**arguments)).replies()]


def complaint(file: Path, **arguments: str) -> str:
    with pytest.raises(InputError) as caught:
        replies(file, **arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_lines(file: Path) -> None:
    written(
        file,
        {"prompt": "Who?\u2028", "text": "A", "custom": 7},
        {"prompt": "Who?", "text": "B", "repeat": 1, "finish": "length", "tokens_in": 3, "tokens_out": 0},
        {"prompt": "Why?", "text": "", "model": "m", "temperature": 0.5},
        {"prompt": "Why?", "error": "429", "model": "m"},
    )
    assert replies(file) == [
        LoggedReply("Who?\u2028", "A", f"{file}:1"),
        LoggedReply("Who?", "B", f"{file}:2", repeat=1, finish="length", tokens_in=3, tokens_out=0),
        LoggedReply("Why?", "", f"{file}:3", model="m", settings={"temperature": 0.5}),
        LoggedReply("Why?", "", f"{file}:4", model="m", error="429"),
    ]


def test_a_column_named_as_the_key_of_a_batch(file: Path) -> None:
    line = {"key": 1, "prompt": "Who?", "text": "B", "error": ""}
    assert [(reply.prompt, reply.text) for reply in replies(written(file, line))] == [("Who?", "B")]


def test_line_ends_bom_and_lone_surrogates(file: Path) -> None:
    file.write_bytes(
        b'\xef\xbb\xbf{"prompt": "a", "text": "x\\ud83d"}\r\n\r\n  \n{"prompt": "b", "text": "y"}\r\n'
    )
    assert [(reply.prompt, reply.text) for reply in replies(file)] == [("a", "x?"), ("b", "y")]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_csv(file: Path, delimiter: str) -> None:
    """As spreadsheets write it: quotes, line ends in values, a byte order mark; all values are texts."""
    rows = ["question,reply,n,model,tokens_in", '"Who,\r\nA ""or"" B?",A,1,m,7', "Why?,,0,m,"]
    file.write_bytes("\r\n".join(row.replace(",", delimiter) for row in rows).encode("utf-8-sig"))
    asked = f'Who{delimiter}\r\nA "or" B?'
    assert replies(file, prompt="question", text="reply", repeat="n") == [
        LoggedReply(asked, "A", f"{file}:3", repeat=1, model="m", tokens_in=7),
        LoggedReply("Why?", "", f"{file}:4", repeat=0, model="m"),
    ]


def test_columns_of_an_array_and_dotted_paths(file: Path) -> None:
    """Such as exports of LangSmith, Langfuse or Weave: values lie deep, in lists, too."""
    weave = {
        "inputs": {"messages": [{"role": "user", "content": "Who?"}]},
        "output": {"choices": [{"message": {"content": "A"}}]},
    }
    written(file, weave)
    (reply,) = replies(file, prompt="inputs.messages", text="output.choices.0.message.content")
    assert (reply.prompt, reply.text) == ("Who?", "A")
    assert "no column or key 'output.choices.1.text' for the replies" in complaint(
        file, prompt="inputs.messages", text="output.choices.1.text"
    )
    rows = [{"input": {"q": "Who?"}, "out": "A"}, {"input": {"q": "Why?"}, "out": "B"}]
    file.write_text(json.dumps(rows, indent=2))
    logged = replies(file, prompt="input.q", text="out")
    assert [(reply.prompt, reply.text, reply.where) for reply in logged] == [
        ("Who?", "A", f"{file}: entry 1"),
        ("Why?", "B", f"{file}: entry 2"),
    ]
    messages = [{"role": "user", "content": "Who?"}]
    written(file, {"chat": messages, "out": "A"}, {"chat": json.dumps(messages), "out": "A"})
    assert {reply.prompt for reply in replies(file, prompt="chat", text="out")} == {"Who?"}


def test_columns_that_are_not_there(file: Path) -> None:
    file.write_text("question,reply\nWho?,A\n")
    assert complaint(file) == (
        f"{file}: it has no column or key 'prompt' for the prompts, but question, reply; name them with "
        "--factorfair-model-arg, or --model-arg of import: prompt=NAME and text=NAME"
    )
    assert complaint(file, prompt="question", text="answer") == (
        f"{file}: it has no column or key 'answer' for the replies, but question, reply"
    )
    written(file, {"question": "Who?", "reply": "A"})
    assert "no column or key 'text'" in complaint(file, prompt="question")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[1]", '2: not a JSON object; write {"prompt": ..., "text": ...}'),
        ("x" * 20, '2: not a JSON object; write {"prompt": ..., "text": ...}'),
        ("[" * 100_000, '2: not a JSON object; write {"prompt": ..., "text": ...}'),
        ('{"prompt": "b"', "2: it ends in the middle of a line: a part of the file is missing"),
        ('{"prompt": "b"}', "2: 'text' is missing"),
        ('{"text": "b"}', "2: 'prompt' is missing"),
        ('{"prompt": "b", "text": null}', "2: 'text' must be a text, not None"),
        ('{"prompt": 7, "text": ""}', "2: 'prompt' must be a text or messages, not 7"),
        ('{"prompt": ["b"], "text": ""}', "2: expected a message with role and content, not 'b'"),
        ('{"prompt": "b", "text": "", "repeat": -1}', "2: 'repeat' must be a whole number of at least 0, not -1"),
        ('{"prompt": "b", "text": "", "repeat": true}', "2: 'repeat' must be a whole number of at least 0, not True"),
        ('{"prompt": "b", "text": "", "finish": ["stop"]}', "2: 'finish' must be one of stop, length, filtered, refusal, not ['stop']"),
        ('{"prompt": "b", "text": "data:image/png;base64,iVBO"}', "2: it is a picture; only text is judged"),
        ('{"prompt": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://127.0.0.1:9/a.png"}}]}], "text": ""}', "2: a message contains image_url; only text is judged"),
        ('{"prompt": "\udcff", "text": ""}', "2: byte 12 is not UTF-8"),
    ],
)  # fmt: skip
def test_wrong_line(file: Path, line: str, message: str) -> None:
    content = '{"prompt": "a", "text": "A"}\n' + line
    file.write_bytes(content.encode("utf-8", "surrogateescape"))
    assert complaint(file) == f"{file}:{message}"


def test_wrong_file(file: Path) -> None:
    assert complaint(file) == f"'{file}' cannot be read: No such file or directory"
    with pytest.raises(InputError, match="argument 'temperature' is unknown"):
        build(spec(f"replay:{written(file, {'prompt': 'a', 'text': ''})}", {"temperature": "0"}))


NESTED = b'{"prompt": "[[\\\\\\"[", "text": "b", "further": ' + b"[" * 250 + b"]" * 250 + b"}"
NO_TOOL = "no known tool writes a JSON document that begins with"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"\n\n", " it contains no answers; write one JSON object with prompt and text per line"),
        (b"[]", " it contains no answers: its array has no objects"),
        (b'[{"prompt": "a", "text": "b"}, 1]', " entry 2: not a JSON object"),
        (b'[{"prompt": "a", "text": "b"}, {"pro', " it ends in the middle after entry 1: a part of the file is missing"),
        (b'[{"prompt": "a", "text": NaN}]', " it is not JSON: lexical error: invalid char in json text."),
        (b"{\xff", "1: byte 1 is not UTF-8"),
        (b'{"a": 1,\n"b": 2}', f" {NO_TOOL} a, b"),
        (b'{"evalId": "e",\n"results": {"version": 2, "results": []}}', " results of promptfoo in version 2, and only 3 can be read: write them with another version of it"),
        (b'{"evalId": "e",\n"results": {"version": 3, "results": [{"prompt"', " it ends in the middle: a part of the file is missing"),
        (b'{"results": {"bbq": {"acc": NaN}},\n"configs": {}}', " results of lm-evaluation-harness have no replies; name the file samples_*.jsonl beside it, which --log_samples writes"),
        (b'{"custom_id": "a", "body": {"messages": []}}', " it has the requests of a batch; name the file of its results"),
        (b'{"messages": [{"role": "user", "content": "Who?"}]}', "1: it has no response, and its last message is not the assistant's"),
        (b'{"messages": [{"role": "user", "content": "Who?"}], "response": {"data": [{"b64_json": "iVBO"}]}}', "1: its response is a picture or an embedding; only text is judged"),
        (b'{"messages": [{"role": "user", "content": "Who?"}], "response": {"$ref": "http://127.0.0.1:9/a"}}', '1: its response is not a chat completion: {"$ref": "http://127.0.0.1:9/a"}'),
        (b'{"prompt": "\\x", "text": "b"}\n', '1: not a JSON object; write {"prompt": ..., "text": ...}'),
        (b"hello", " it contains no answers: it is neither JSON nor a table with rows"),
        (b"prompt,text\n", " it contains no answers: it is neither JSON nor a table with rows"),
        (b"prompt, text,text\na,b,c\n", " it has 2 columns 'text': keep one"),
        (b'{"prompt": "a", "text": ' + b"7" * 5000 + b"}\n", '1: not a JSON object; write {"prompt": ..., "text": ...}'),
        (b'{"prompt": "a", "text": "' + b"b" * LONGEST + b'"}\n', "1: the line is longer than 16 MB"),
        (NESTED, "1: its values are nested more than 200 levels deep"),
        (b"[" + NESTED + b"]", " its values are nested more than 200 levels deep"),
        (b'{"evalId": "e",\n"x": ' + NESTED + b', "results": {}}', " its values are nested more than 200 levels deep"),
        (b'{"prompt": "a", "text": ' + b"[" * 50_000, "1: it ends in the middle of a line: a part of the file is missing"),
        (b'{"messages": [{"role": "user", "content": 5}], "response": "A"}', "1: a message contains 5; only text is judged"),
        (b'{"messages": [{"role": "user", "content": [{"type": []}]}], "response": "A"}', "1: a message contains []; only text is judged"),
        (b'"prompt","text"\n"a"\n', "2: it has more or fewer values than the header has columns"),
        (b'"prompt","text"\n"a","b\n', "2: unexpected end of data"),
        (b"\x1f\x8b\x08\x00", " the compressed file is damaged, or a part of it is missing"),
        (b"BZh9", " is compressed (bzip2): unpack it first"),
        (b"-----BEGIN PGP MESSAGE-----", " is encrypted: decrypt it first"),
        (b"\x80\x04\x95\x10", " is a pickle, which could run any code: export the replies as JSON lines or CSV"),
        (b"SQLite format 3\0", " is a database: export the replies as JSON lines or CSV"),
        (b"\x89PNG\r\n", " is a picture"),
        (b"\xff\xfe\0\xd8{\0", " begins as text in UTF-16, but is not"),
        (b"abc\0", " is not text"),
        (b"PK\x05\x06" + b"\0" * 18, " this archive is not a log of Inspect: unpack it first"),
        (b"PK\x03\x04abc", " the archive is damaged, or a part of it is missing"),
    ],
)  # fmt: skip
def test_wrong_content(tmp_path: Path, content: bytes, problem: str) -> None:
    """The content decides, not the name; nothing is fetched."""
    file = tmp_path / "log.eval"
    file.write_bytes(content)
    assert complaint(file) == f"{file}:{problem}"


@pytest.mark.parametrize(
    "content",
    [
        'prompt,text\nWho?,Æ\n"Why,\n\nnot?",B\n',
        '{"prompt": "Who?", "text": "Æ"}\n{"prompt": "Why,\\n\\nnot?", "text": "B"}\n',
        '[{"prompt": "Who?", "text": "Æ"},\n{"prompt": "Why,\\n\\nnot?", "text": "B"}]',
    ],
    ids=["table", "lines", "array"],
)
@pytest.mark.parametrize("encode", [
    lambda text: gzip.compress(text.encode()),
    lambda text: text.encode("utf-16"),  # as PowerShell redirects, and Excel saves "Unicode text"
    lambda text: codecs.BOM_UTF16_BE + text.encode("utf-16-be"),
    lambda text: gzip.compress(gzip.compress(text.encode())),
], ids=["gzip", "little", "big", "twice"])  # fmt: skip
def test_compressed_files_and_utf_16(
    tmp_path: Path, request: pytest.FixtureRequest, content: str, encode: Callable[[str], bytes]
) -> None:
    file = tmp_path / "log"
    file.write_bytes(encode(content))
    if "twice" in request.node.name:
        assert complaint(file) == f"{file}: is compressed (gzip) twice: unpack it first"
        return
    log = open_log(file)
    assert [(reply.prompt, reply.text) for reply in log.replies()] == [("Who?", "Æ"), ("Why,\n\nnot?", "B")]
    assert log.files == {"log": hashlib.sha256(file.read_bytes()).hexdigest()}


def test_brackets_in_texts_nest_nothing(file: Path) -> None:
    """Wherever a text is divided as it is read, also after a backslash."""
    text = '[[{{\\" ' * 20_000
    for number in range(4):
        file.write_text(f"{' ' * number}[{json.dumps({'prompt': text, 'text': 'A'})}]")
        assert [reply.prompt for reply in replies(file)] == [text]
    file.write_text(json.dumps({"prompt": text, "text": "A"}))
    assert [reply.prompt for reply in replies(file)] == [text]


@pytest.mark.parametrize("before", ["", "\n\n"])
def test_spaces_in_a_header_and_lines_before_it(file: Path, before: str) -> None:
    file.write_text(f"{before}prompt, text\nWho?, A\n")
    assert [(reply.prompt, reply.text) for reply in replies(file)] == [("Who?", " A")]


def test_a_pipe_can_be_read_only_once() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading), os.fdopen(writing, "w") as pipe:
        pipe.write('{"prompt": "a", "text": "A"}\n')
        pipe.flush()
        assert complaint(Path(f"/dev/fd/{reading}")).endswith("cannot be read: it is not a regular file")


@pytest.mark.parametrize(
    ("name", "problem"), [("", "it is not a regular file"), ("no", "No such file or directory")]
)
def test_requests_of_a_batch_that_cannot_be_read(tmp_path: Path, name: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        open_log(LOGS / "batch_results.jsonl", LogArguments(requests=str(tmp_path / name)))
    assert str(caught.value) == f"'{tmp_path / name}' cannot be read: {problem}"


def test_a_file_in_utf_16_that_is_cut_short(file: Path) -> None:
    file.write_bytes("prompt,text\nWho?,Æ".encode("utf-16")[:-1])
    assert complaint(file) == f"{file}: begins as text in UTF-16, but is not"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_requests_of_a_batch_that_are_compressed_or_encoded(tmp_path: Path, encoding: str) -> None:
    """They are looked up by their places in the file."""
    requests, results = ((LOGS / f"batch_{name}.jsonl").read_text() for name in ("requests", "results"))
    for folder, zipped in (("plain", False), ("zipped", True)):
        path = tmp_path / folder
        path.mkdir()
        for name, text in (("sent", requests), ("got", results)):
            content = text.encode(encoding)
            (path / f"{name}.jsonl").write_bytes(gzip.compress(content) if zipped else content)
        assert [reply.text for reply in replies(path / "got.jsonl")] == [
            reply.text for reply in replies(LOGS / "batch_results.jsonl")
        ]


def test_a_compressed_file_that_is_cut_short(tmp_path: Path) -> None:
    lines = "".join(f'{{"prompt": "{number}", "text": "{number**9}"}}\n' for number in range(9000))
    file = tmp_path / "log.jsonl.gz"
    file.write_bytes(gzip.compress(lines.encode())[:-50_000])
    assert complaint(file) == f"{file}: the compressed file is damaged, or a part of it is missing"


@needs("inspect")
@pytest.mark.parametrize("name", ["inspect.eval", "inspect.json"])
def test_compressed_logs_of_inspect(tmp_path: Path, name: str) -> None:
    file = tmp_path / f"{name}.gz"
    file.write_bytes(gzip.compress((LOGS / name).read_bytes()))
    assert complaint(file) == f"{file}: a log of Inspect that is compressed (gzip) again: unpack it first"


@pytest.mark.parametrize("responses", [7, [7], ["A"], [{}], [[]]])
def test_samples_without_lists_of_responses(file: Path, responses: object) -> None:
    written(file, {"doc_id": 0, "doc": {}, "arguments": [["Who?", {}]], "resps": responses})
    assert complaint(file) == f"{file}:1: it has more or fewer responses than requests"


def test_archives_that_are_no_logs(tmp_path: Path) -> None:
    file = tmp_path / "log.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("word/document.xml", "x")
    assert complaint(file) == f"{file}: this archive is not a log of Inspect: unpack it first"
    content = bytearray(file.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1  # the flag of encryption
    file.write_bytes(content)
    assert complaint(file) == f"{file}: the archive is encrypted: decrypt it first"
    file.write_bytes((LOGS / "inspect.eval").read_bytes()[:5000])
    assert complaint(file) == f"{file}: the archive is damaged, or a part of it is missing"


@needs("inspect")
def test_logs_that_inspect_cannot_read(tmp_path: Path) -> None:
    content = json.loads((LOGS / "inspect.json").read_text())
    file = tmp_path / "log.json"
    file.write_text(json.dumps(content | {"version": 99}, indent=1))
    assert complaint(file).startswith(f"{file}: Inspect cannot read this log: ")
    file.write_text(json.dumps(content, indent=1)[:-40_000])
    assert complaint(file).startswith(f"{file}: ")
    content["samples"][1]["messages"] = 7
    file.write_text(json.dumps(content))
    assert complaint(file).startswith(f"{file}: entry 2: Inspect cannot read this log: messages: ")
    content["samples"][1]["messages"] = [
        {"role": "user", "content": [{"type": "image", "image": "http://127.0.0.1:9/a.png"}]}
    ]
    file.write_text(json.dumps(content))
    assert (
        complaint(file) == f"{file}: sample Age_00001, epoch 1: a message contains image; only text is judged"
    )


def test_a_log_of_inspect_without_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_factorfair.logs.inspect_logs.find_spec", lambda _: None)
    file = tmp_path / "log.json"
    file.write_text(json.dumps(dict.fromkeys(sorted(KEYS), 1)))
    assert (
        complaint(file)
        == f"'{file}' is a log of Inspect; reading it needs an extra: pip install 'pytest-factorfair[inspect]'"
    )


def test_results_of_batches_that_do_not_fit_their_requests(tmp_path: Path) -> None:
    asked = {"custom_id": "a", "body": {"messages": [{"role": "user", "content": "Who?"}]}}
    answered = {"custom_id": "a", "response": {"body": {"choices": [{"message": {"content": "A"}}]}}}
    requests, results = written(tmp_path / "sent.jsonl", asked), written(tmp_path / "got.jsonl", answered)
    assert [reply.text for reply in replies(results)] == ["A"]
    written(results, answered, answered)
    assert complaint(results) == f"{results}:2: custom_id 'a' is at {results}:1, too: keep one reply"
    written(results, answered, answered | {"custom_id": "b"})
    assert complaint(results) == f"{results}:2: custom_id 'b' is not in {requests}"
    written(requests, asked, asked)
    assert complaint(results) == f"{requests}:2: custom_id 'a' is at {requests}:1, too"


def test_arguments_that_a_format_does_not_have(file: Path) -> None:
    assert complaint(LOGS / "helm.json", prompt="x") == (
        f"{LOGS / 'helm.json'}: argument 'prompt' names a column, and this is a scenario state of HELM"
    )
    written(file, {"prompt": "a", "text": "b"})
    assert complaint(file, requests="sent.jsonl") == (
        f"{file}: argument 'requests' is only for the results of a batch"
    )
