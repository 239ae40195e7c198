from __future__ import annotations

import functools
import hashlib
import re
import sys
import threading
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.errors import FatalModelError, InputError, ModelError, RejectedRequestError
from pytest_factorfair.models.callable import build, coerce
from pytest_factorfair.pictures.decode import decode
from tests.asking import ask, spec
from tests.pictures import drawn


class Upper:
    """A model that answers with the prompt in upper case."""

    endpoint: str = "upper"
    parallel: int | None = 3
    identity: Mapping[str, object] = {"provider": "upper"}

    async def ask(self, request: Request) -> Response:
        return Response(request.prompt.upper())

    async def close(self) -> None:
        pass


def shout(prompt: str) -> str:
    return prompt.upper()


async def shout_later(prompt: str) -> Response:
    return Response(prompt.upper(), "length")


def give_model() -> Upper:
    return Upper()


class Callable:
    def __call__(self, prompt: str) -> str:
        return prompt.upper()


class AsyncCallable:
    async def __call__(self, prompt: str) -> str:
        return prompt.upper()

    def method(self, prompt: str) -> str:
        return prompt.upper()


@pytest.mark.parametrize(
    "target",
    [
        shout, Upper, Upper(), Callable, Callable(), AsyncCallable(), AsyncCallable().method, str.upper,
        functools.partial(shout), lambda: shout, give_model, lambda prompt: shout_later(prompt + ""),
    ],
)  # fmt: skip
def test_models_functions_and_factories_are_accepted(target: object) -> None:
    assert [response.text for response in ask(coerce(target, "mine"), "who?", "why?")] == ["WHO?", "WHY?"]


def test_response_is_taken_as_it_is() -> None:
    assert ask(coerce(shout_later, "mine"), "a") == [Response("A", "length")]


def test_model_keeps_its_own_identity() -> None:
    model = Upper()
    assert coerce(model, "mine") is model


def test_plain_functions_run_in_threads() -> None:
    both = threading.Barrier(2, timeout=30)  # only passed if two calls run at once

    def meet(prompt: str) -> str:
        both.wait()
        return f"{prompt} {threading.current_thread() is threading.main_thread()}"

    assert [response.text for response in ask(coerce(meet, "mine"), "a", "b")] == ["a False", "b False"]


def test_parallel_and_version_of_a_function() -> None:
    def one(prompt: str) -> str:
        return prompt

    plain = coerce(one, "mine")
    assert plain.parallel is None
    version = plain.identity["version"]
    assert plain.identity == {
        "provider": "python",
        "name": "mine",
        "function": f"{__name__}:test_parallel_and_version_of_a_function.<locals>.one",
        "version": version,
    }
    assert re.fullmatch(r"[0-9a-f]{64}", str(version))
    one.factorfair_parallel = 2  # type: ignore[attr-defined]  # as the documentation tells users to
    one.factorfair_version = 7  # type: ignore[attr-defined]  # likewise
    annotated = coerce(one, "mine")
    assert (annotated.parallel, annotated.identity["version"]) == (2, "7")
    one.factorfair_parallel = 0  # type: ignore[attr-defined]  # wrong
    with pytest.raises(InputError, match="factorfair_parallel must be a whole number of at least 1, not 0"):
        coerce(one, "mine")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("bad\nvalue"), "mine: ValueError: bad value"),
        (KeyError("x"), "mine: KeyError: 'x'"),
        (StopIteration(), "mine: StopIteration:"),
        (SystemExit(3), "mine: SystemExit: 3"),
        (KeyboardInterrupt("stop"), "mine: KeyboardInterrupt: stop"),
        (GeneratorExit(), "mine: GeneratorExit:"),
        (TimeoutError(), "mine: TimeoutError:"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("is_async", [True, False])
def test_an_exception_rejects_the_request(error: BaseException, message: str, *, is_async: bool) -> None:
    def fails(_: str) -> str:
        raise error

    async def fails_later(_: str) -> str:
        raise error

    with pytest.raises(RejectedRequestError) as caught:
        ask(coerce(fails_later if is_async else fails, "mine"))
    if not (is_async and isinstance(error, StopIteration)):  # Python itself makes that a RuntimeError
        assert str(caught.value) == message


def test_model_error_passes() -> None:
    def fails(_: str) -> str:
        raise FatalModelError("no more")

    with pytest.raises(ModelError) as caught:
        ask(coerce(fails, "mine"))
    assert (type(caught.value), str(caught.value)) == (FatalModelError, "no more")


def test_results_of_another_type_are_rejected() -> None:
    with pytest.raises(RejectedRequestError, match=r"^mine: returned int, not str or Response$") as caught:
        ask(coerce(len, "mine"))
    assert caught.value.cause.kind == "raised"  # a run that ends advises to fix the function


def test_lone_surrogate() -> None:
    assert ask(coerce(lambda _: "a\ud800", "mine"))[0].text == "a?"


class Deaf:
    """An object with ``ask``, but without the other attributes of a model."""

    def ask(self, request: Request) -> Response:
        raise NotImplementedError


class NotAsync(Upper):
    def ask(self, request: Request) -> Response:  # type: ignore[override]  # the mistake under test
        raise NotImplementedError


class Opaque(Upper):
    identity: Mapping[str, object] = {"self": object()}


class Needy:
    def __init__(self, key: str) -> None:
        self.key = key


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (42, "model 'mine': 42 is neither a model nor a function of the prompt"),
        (lambda: 42, "model 'mine': 42 is neither a model nor a function of the prompt"),
        (Deaf(), "model 'mine': its Deaf lacks close, endpoint, identity, parallel"),
        (NotAsync, "model 'mine': ask of its NotAsync must be an async function"),
        (
            Opaque,
            "model 'mine': its identity must be JSON values: Object of type object is not JSON serializable",
        ),
    ],
)
def test_other_objects_are_refused(target: object, message: str) -> None:
    with pytest.raises(InputError) as caught:
        coerce(target, "mine")
    assert str(caught.value) == message


def test_class_that_needs_arguments() -> None:
    with pytest.raises(
        InputError, match=r"^model 'mine': calling it without arguments failed: TypeError: .*'key'$"
    ):
        coerce(Needy, "mine")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty current folder; modules imported from it are removed afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    imported = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - imported:
        del sys.modules[name]


def complaint(text: str, **arguments: str) -> str:
    with pytest.raises(InputError) as caught:
        build(spec(text, arguments))
    assert "\n" not in str(caught.value)
    return str(caught.value)


SOURCE = (
    "import helper_of_mine\ndef ask(prompt): return helper_of_mine.MARK + prompt\nclass Has: inner = ask\n"
)


@pytest.mark.parametrize(
    "text",
    [
        "python:my_model:ask",
        "python:sub/my_model.py:ask",
        "python:my_model:Has.inner",
        "python:sub.my_model:ask",
    ],
)
def test_import(folder: Path, text: str) -> None:
    sub = folder / "sub"
    sub.mkdir()
    for directory in (folder, sub):
        (directory / "my_model.py").write_text(SOURCE)
        (directory / "helper_of_mine.py").write_text("MARK = 'asked: '")
    model = build(spec(text))
    assert [response.text for response in ask(model, "Who?")] == ["asked: Who?"]
    assert model.identity["name"] == text
    digests = sorted(hashlib.sha256(text.encode()).digest() for text in (SOURCE, "MARK = 'asked: '"))
    assert model.identity["version"] == hashlib.sha256(b"".join(digests)).hexdigest()


@pytest.mark.parametrize(
    ("changed", "noticed"),
    [
        ("my_model.py", True),
        ("beside.py", True),
        ("package/__init__.py", True),
        ("package/inner/deep.py", True),
        ("package/inner/relative.py", True),
        ("within_a_function.py", True),
        ("by_name.py", True),
        ("unrelated.py", False),
        ("venv/lib/site-packages/installed.py", False),
    ],
)
@pytest.mark.parametrize("attribute", ["ask", "make"])
def test_a_change_in_an_imported_module_changes_the_version(
    folder: Path, changed: str, attribute: str, *, noticed: bool
) -> None:
    """The version covers all modules of the project that are imported, directly or not, but no libraries."""
    installed = folder / "venv/lib/site-packages"
    installed.mkdir(parents=True)
    sys.path.append(str(installed))
    (folder / "package/inner").mkdir(parents=True)
    files = {
        "my_model.py": "import json, beside\nfrom installed import thing\n"
        "def ask(prompt):\n    import within_a_function\n    return prompt\n"
        "def later():\n    import importlib\n    return importlib.import_module('by_name')\n"
        "def make():\n    return beside.made\n",
        "beside.py": "from package.inner.deep import deep\nmade = lambda prompt: prompt\n",
        "package/__init__.py": "",
        "package/inner/__init__.py": "",
        "package/inner/deep.py": "from . import relative\nimport my_model\ndeep = 1\n",
        "package/inner/relative.py": "",
        "within_a_function.py": "",
        "by_name.py": "",
        "unrelated.py": "",
        "venv/lib/site-packages/installed.py": "import unrelated\nthing = 1\n",
    }
    versions = []
    for end in ("", "# changed\n"):
        for name, text in files.items():
            (folder / name).write_text(text + end * (name == changed))
        versions.append(build(spec(f"python:my_model:{attribute}")).identity["version"])
    assert (versions[0] != versions[1]) == noticed


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("target", ["my_model", "my_model:", ":ask"])
def test_target_without_an_attribute(target: str) -> None:
    message = complaint(f"python:{target}")
    assert (
        message
        == f"model 'python:{target}': write python:module:attribute or python:path/to/file.py:attribute"
    )


def test_missing_modules_and_files_are_refused(folder: Path) -> None:
    (folder / "my_model.py").write_text("def ask_it(prompt): return prompt\n")
    assert complaint("python:my_modle:ask") == (
        f"model 'python:my_modle:ask': there is no module 'my_modle' in {folder} or on Python's path"
    )
    assert complaint("python:no.such.module:ask").startswith(
        "model 'python:no.such.module:ask': there is no module"
    )
    assert (
        complaint("python:no/file.py:ask")
        == f"model 'python:no/file.py:ask': there is no file 'no/file.py' in {folder}"
    )
    assert complaint("python:my_model:ask_ti") == (
        "model 'python:my_model:ask_ti': 'my_model' has no 'ask_ti'; did you mean 'ask_it'?"
    )
    assert "has no 'ask_it.more'" in complaint("python:my_model:ask_it.more")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import no_such_thing", "ModuleNotFoundError: No module named 'no_such_thing'"),
        ("def (", "SyntaxError: invalid syntax (my_model.py, line 1)"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("raise SystemExit('stop')", "SystemExit: stop"),
    ],
)
@pytest.mark.parametrize("module", ["my_model", "my_model.py"])
def test_import_that_fails(folder: Path, source: str, message: str, module: str) -> None:
    (folder / "my_model.py").write_text(source)
    assert (
        complaint(f"python:{module}:ask")
        == f"model 'python:{module}:ask': importing '{module}' failed: {message}"
    )


def test_takes_no_arguments() -> None:
    assert "argument 'temperature' is unknown" in complaint("python:json:dumps", temperature="0")


PNG = drawn("a person")


class Canvas:
    """A fake of Pillow's image."""

    def save(self, fp: BytesIO, kind: str, /) -> None:
        assert kind == "PNG"
        fp.write(PNG)


@pytest.mark.parametrize("picture", [PNG, Canvas(), Response("", image=PNG), Image.open(BytesIO(PNG))])
def test_pictures(picture: object) -> None:
    (response,) = ask(coerce(lambda _: picture, "mine", modality="image"))
    assert response.image is not None
    assert np.array_equal(decode(response.image), decode(PNG))
    assert response.text == ""


@pytest.mark.parametrize(("returned", "kind"), [("a word", "str"), (None, "NoneType"), ([PNG], "list")])
def test_results_that_are_no_picture_are_rejected(returned: object, kind: str) -> None:
    with pytest.raises(RejectedRequestError) as caught:
        ask(coerce(lambda _: returned, "mine", modality="image"))
    assert str(caught.value) == f"mine: returned {kind}, not bytes, a Pillow image or Response"


def test_picture_where_text_is_asked_for() -> None:
    with pytest.raises(RejectedRequestError, match="returned bytes, not str or Response"):
        ask(coerce(lambda _: PNG, "mine"))
