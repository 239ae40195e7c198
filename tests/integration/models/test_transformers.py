from __future__ import annotations

import asyncio
import functools
import shutil
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.errors import FatalModelError, ModelError, RejectedRequestError
from pytest_factorfair.local.model import LocalModel
from pytest_factorfair.local.transformers_model import TextGenerator, TokenizedPrompt, build
from pytest_factorfair.reading import read
from tests import tiny_checkpoint
from tests.asking import ask, ask_all, spec
from tests.extras import needs
from tests.unit.reading.option_sets import RACE

pytestmark = needs("transformers")

PROMPTS = tuple(f"{'Who? ' * number}{number}" for number in range(1, 8))


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_checkpoint.write(tmp_path_factory.mktemp("chat"))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_checkpoint.write(tmp_path_factory.mktemp("plain"), template=None)


def made(folder: Path, **arguments: str) -> LocalModel:
    named = {key.replace("__", "."): value for key, value in arguments.items()}
    model = build(spec(f"transformers:{folder}", {"max_tokens": "12", "device": "cpu"} | named))
    assert isinstance(model, LocalModel)
    return model


def by_hand(folder: Path, text: str, *, special: bool, tokens: int = 12) -> str:
    """Greedy decoding of one text, token by token, without generate, cache, batch or padding."""
    torch, (tokenizer, model) = import_module("torch"), loaded(folder)
    ids: list[int] = tokenizer(text, add_special_tokens=special)["input_ids"]
    start = len(ids)
    with torch.inference_mode():
        while len(ids) < start + tokens and (len(ids) == start or ids[-1] != 2):
            ids = [*ids, int(model(torch.tensor([ids])).logits[0, -1].argmax())]
    return str(tokenizer.decode(ids[start:]).removesuffix("</s>"))


@functools.cache
def loaded(folder: Path) -> tuple[Any, Any]:
    transformers = import_module("transformers")
    kinds = (transformers.AutoTokenizer, transformers.AutoModelForCausalLM)
    tokenizer, model = (kind.from_pretrained(folder, local_files_only=True) for kind in kinds)
    return tokenizer, model


def test_batch_answers_as_each_prompt_alone(chat: Path) -> None:
    texts = [response.text for response in ask(made(chat, batch="4"), *PROMPTS)]
    assert texts == [by_hand(chat, f"[user]{prompt}\n[assistant]", special=False) for prompt in PROMPTS]
    assert len(set(texts)) > 1


def test_plain_prompt_without_a_template(plain: Path) -> None:
    (response,) = ask(made(plain, system="Be brief."), "Who?")
    assert response.text == by_hand(plain, "Be brief.\n\nWho?", special=True)


def test_system_and_template_arguments(chat: Path) -> None:
    (response,) = ask(made(chat, system="Be brief.", template__voice="judge"), "Who?")
    assert response.text == by_hand(chat, "[system]Be brief.\n[user]Who?\n[judge]", special=False)


def test_counts_and_finish(chat: Path) -> None:
    (response,) = ask(made(chat, max_tokens="3"), "Who?")
    assert (response.finish, response.tokens_in, response.tokens_out) == (
        "length",
        len("[user]Who?\n[assistant]"),
        3,
    )
    assert (response.cost, response.model) == (0.0, str(chat))


def test_reasoning_between_special_tokens_is_cut_off(tmp_path: Path) -> None:
    """A checkpoint that reasons for A and answers C; its tokens decoded without the special ones say both."""
    special = ("<|channel|>", "<|message|>", "<|end|>", "<|start|>")
    reply = (
        "<|channel|>analysis<|message|>The answer is A.<|end|>"
        '<|start|>assistant<|channel|>final<|message|>{"answer": "C"}'
    )
    prompt = "Who?"
    tiny_checkpoint.write_speaking(tmp_path, reply, special=special, after=f"[user]{prompt}\n[assistant]")
    (response,) = ask(made(tmp_path, max_tokens="100"), prompt)
    assert (response.text, response.finish) == (reply, "stop")
    assert read(response, RACE).letter == "C"


def test_end_of_text_is_a_stop(chat: Path) -> None:
    responses = ask(made(chat, max_tokens="150"), *PROMPTS)
    stopped = [response for response in responses if response.finish == "stop"]
    assert stopped
    for response in stopped:
        assert response.tokens_out is not None
        assert response.tokens_out <= 150
        assert "</s>" not in response.text


def test_same_seed_same_text_in_any_company(chat: Path) -> None:
    requests = [Request("Who?", repeat=number, seed=5) for number in range(6)]
    alone = ask_all(made(chat, temperature="1", batch="1"), requests)
    together = ask_all(made(chat, temperature="1", batch="6"), requests[::-1])[::-1]
    assert alone == together
    assert len({response.text for response in alone}) > 1
    assert ask_all(made(chat, temperature="1"), [Request("Who?", seed=6)])[0].text != alone[0].text


def test_very_small_top_p_is_greedy(chat: Path) -> None:
    assert ask(made(chat, temperature="2", top_p="0.000001"), *PROMPTS) == ask(made(chat), *PROMPTS)


def test_generate_arguments(chat: Path) -> None:
    (response,) = ask(made(chat, generate__suppress_tokens=str([0, 1, 3, *range(5, 104)])), "Who?")
    assert set(response.text) <= {"0"}


def test_prompt_that_does_not_fit_is_its_own_problem(chat: Path) -> None:
    model = made(chat)

    async def run() -> list[Any]:
        try:
            asked = [model.ask(Request("x" * 2400)), model.ask(Request("Who?"))]
            return await asyncio.gather(*asked, return_exceptions=True)
        finally:
            await model.close()

    error, response = asyncio.run(run())
    assert isinstance(error, RejectedRequestError)
    tokens = len("[user]\n[assistant]") + 2400
    assert (
        str(error)
        == f"transformers:{chat}: {tokens:,} tokens are more than its {tiny_checkpoint.POSITIONS} hold"
    )
    assert isinstance(response, Response)


def test_text_stops_where_positions_end(chat: Path) -> None:
    room = 5
    prompt = "x" * (tiny_checkpoint.POSITIONS - len("[user]\n[assistant]") - room)
    (response,) = ask(made(chat), prompt)
    assert response.finish == "stop" or response.tokens_out == room


@pytest.mark.parametrize("on_gpu", [True, False], ids=["gpu", "cpu"])
def test_batch_halves_when_memory_ends(chat: Path, monkeypatch: pytest.MonkeyPatch, *, on_gpu: bool) -> None:
    kind = import_module("torch").OutOfMemoryError if on_gpu else RuntimeError
    expected = ask(made(chat), *PROMPTS)
    sizes: list[int] = []
    whole = TextGenerator.generate

    def scarce(self: TextGenerator, prompts: list[TokenizedPrompt]) -> Sequence[Response | ModelError]:
        sizes.append(len(prompts))
        if len(prompts) > 2:
            raise kind("out of memory: you tried to allocate 1 GiB")
        return whole(self, prompts)

    monkeypatch.setattr(TextGenerator, "generate", scarce)
    model = made(chat, batch="5")
    assert ask(model, *PROMPTS) == expected
    assert sizes == [5, 2, 3, 1, 2, 1, 1]


def test_one_prompt_that_needs_too_much_memory(chat: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> list[Response]:
        raise import_module("torch").OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(TextGenerator, "generate", none)
    with pytest.raises(RejectedRequestError, match="out of memory"):
        ask(made(chat), "Who?")


def test_broken_gpu_ends_the_run(chat: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> list[Response]:
        raise import_module("torch").AcceleratorError("CUDA error: device-side assert triggered")

    monkeypatch.setattr(TextGenerator, "generate", broken)
    with pytest.raises(FatalModelError, match="device-side assert"):
        ask(made(chat), *PROMPTS)


def test_an_error_that_mentions_cuda_fails_its_prompt_only(
    chat: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = TextGenerator.generate

    def one_fails(self: TextGenerator, prompts: list[TokenizedPrompt]) -> Sequence[Response | ModelError]:
        if len(prompts) > 1:
            return whole(self, prompts)
        raise RuntimeError("no CUDA error, but its words")

    monkeypatch.setattr(TextGenerator, "generate", one_fails)
    with pytest.raises(RejectedRequestError, match="but its words"):
        ask(made(chat), "Who?")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: (folder / "model.safetensors").write_bytes(b"\x08" + b"\0" * 40),
        lambda folder: (folder / "config.json").write_text('{"model_type": "no_such_thing"}'),
        lambda folder: (folder / "tokenizer.json").write_text("{}"),
    ],
    ids=["weights", "config", "tokenizer"],
)
def test_checkpoint_that_cannot_be_loaded(
    chat: Path, tmp_path: Path, spoil: Callable[[Path], object]
) -> None:
    spoil(shutil.copytree(chat, tmp_path, dirs_exist_ok=True))
    with pytest.raises(FatalModelError) as caught:
        ask(made(tmp_path), *PROMPTS)
    assert str(caught.value).startswith(f"transformers:{tmp_path}: cannot be loaded: ")
    assert "\n" not in str(caught.value)


def test_checkpoint_that_lacks_weights(tmp_path: Path) -> None:
    safetensors = import_module("safetensors.torch")
    weights = safetensors.load_file(tiny_checkpoint.write(tmp_path) / "model.safetensors")
    del weights["lm_head.weight"]
    safetensors.save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(FatalModelError) as caught:
        ask(made(tmp_path))
    assert str(caught.value) == (
        f"transformers:{tmp_path}: the checkpoint lacks 1 weight, such as lm_head.weight"
    )


def test_template_that_fails(tmp_path: Path) -> None:
    tiny_checkpoint.write(tmp_path, template="{{ raise_exception('no system\nrole') }}")
    with pytest.raises(RejectedRequestError, match=r"the prompt cannot be encoded: .*no system role"):
        ask(made(tmp_path), "Who?")


def test_run_that_is_stopped_leaves_nobody_waiting(chat: Path) -> None:
    async def run() -> list[object]:
        model = made(chat, batch="1", max_tokens="200")
        tasks = [asyncio.ensure_future(model.ask(Request(prompt))) for prompt in PROMPTS]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        await model.close()
        return await asyncio.gather(*tasks, return_exceptions=True)

    outcomes = asyncio.run(run())
    assert isinstance(outcomes[0], Response)
    assert isinstance(outcomes[-1], asyncio.CancelledError)


def test_another_checkpoint_another_identity(chat: Path, plain: Path, tmp_path: Path) -> None:
    another_folder = tiny_checkpoint.write(tmp_path, seed=1)
    identities = [made(folder).identity["weights"] for folder in (chat, chat, plain, another_folder)]
    assert identities[0] == identities[1]
    assert len(set(identities)) == 3
