"""A checkpoint asked for probabilities or JSON: its answer is begun, and its next token is a letter."""

from __future__ import annotations

import json
import math
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

from pytest_factorfair.domain import AnswerMode, Option, Query, Request, Response
from pytest_factorfair.errors import FatalModelError, RejectedRequestError
from pytest_factorfair.local.transformers_model import NO_TEMPLATE, OTHERS
from pytest_factorfair.models import build
from pytest_factorfair.reading import read
from tests import tiny_checkpoint
from tests.asking import ask_all
from tests.extras import needs

pytestmark = needs("transformers")

BEGUN = '{"answer": "'
PROMPTS = tuple(f"{'Who? ' * number}{number}" for number in range(1, 8))
OPTIONS = tuple(Option(letter, letter.lower(), (letter.lower(),), {"group": letter}) for letter in "ABC")


def request(prompt: str, *, seed: int = 0, explained: bool = False) -> Request:
    query = Query(
        "q", prompt, OPTIONS, repeat=0, seed=seed, background={}, direction=None, explained=explained
    )
    return Request.of(query)


def asked(
    folder: Path, *requests: Request, answers: AnswerMode = "probabilities", **arguments: str
) -> list[Response]:
    named = {key.replace("__", "."): value for key, value in arguments.items()}
    named |= {} if "device_map" in named else {"device": "cpu"}
    model = build(f"transformers:{folder}", named, checklists=(), custom={}, answers=answers)
    return ask_all(model, list(requests))


def by_hand(folder: Path, text: str, *, special: bool = False, drop: int = 0) -> dict[str, float]:
    """The distribution over the next token after one text, alone and without padding."""
    torch, transformers = import_module("torch"), import_module("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, local_files_only=True)
    ids = tokenizer(text, add_special_tokens=special)["input_ids"]
    with torch.inference_mode():
        row = model(torch.tensor([ids[: len(ids) - drop]])).logits[0, -1].softmax(-1)
    return {tokenizer.decode([token]): float(p) for token, p in enumerate(row)}


def check(response: Response, expected: dict[str, float], letters: tuple[str, ...] = ("A", "B", "C")) -> None:
    """The letters and the likeliest others, likeliest first, as in the expected distribution."""
    probabilities = json.loads(response.text)
    assert {token: expected[token] for token in probabilities} == pytest.approx(probabilities, abs=1e-5)
    assert list(probabilities.values()) == sorted(probabilities.values(), reverse=True)
    assert set(letters) <= set(probabilities)
    unlisted = sorted((p for token, p in expected.items() if token not in letters), reverse=True)
    assert [p for token, p in probabilities.items() if token not in letters] == pytest.approx(
        unlisted[:OTHERS], abs=1e-5
    )


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_checkpoint.write(tmp_path_factory.mktemp("chat"))


@pytest.mark.parametrize("kind", ["Llama", "GPT2"])
def test_a_batch_gives_the_probabilities_of_each_prompt_alone(tmp_path: Path, kind: str) -> None:
    folder = tiny_checkpoint.write(tmp_path, kind=kind)
    responses = asked(folder, *map(request, PROMPTS), batch="4")
    for prompt, response in zip(PROMPTS, responses, strict=True):
        check(response, by_hand(folder, f"[user]{prompt}\n[assistant]{BEGUN}"))
        assert (response.finish, response.tokens_out, response.notes) == ("stop", 0, ())
        assert response.tokens_in == len(f"[user]{prompt}\n[assistant]{BEGUN}")


def test_the_system_prompt_and_arguments_of_the_template(chat: Path) -> None:
    (response,) = asked(chat, request("Who?"), system="Be brief.", template__voice="judge")
    # The template writes the voice of a begun answer from its role.
    check(response, by_hand(chat, f"[system]Be brief.\n[user]Who?\n[assistant]{BEGUN}"))


def test_a_base_model_continues_the_plain_prompt_and_the_report_says_so(tmp_path: Path) -> None:
    folder = tiny_checkpoint.write(tmp_path, template=None)
    (response,) = asked(folder, request("Who?"), system="Be brief.")
    check(response, by_hand(folder, f"Be brief.\n\nWho?\n{BEGUN}", special=True))
    assert response.notes == (NO_TEMPLATE,)


def test_all_variants_of_a_letter_are_listed_and_counted(tmp_path: Path) -> None:
    variants = ('A"', " A", 'B"}', " B")
    folder = tiny_checkpoint.write(tmp_path, tokens=(*tiny_checkpoint.TOKENS, *variants))
    (response,) = asked(folder, request("Who?"))
    probabilities = json.loads(response.text)
    assert {*variants, "A", "B", "C"} <= set(probabilities)
    total = read(response, OPTIONS, answers="probabilities").probabilities
    assert total["A"] == pytest.approx(
        probabilities["A"] + probabilities['A"'] + probabilities[" A"], abs=1e-6
    )
    assert total["B"] == pytest.approx(
        probabilities["B"] + probabilities['B"}'] + probabilities[" B"], abs=1e-6
    )


def test_a_token_that_joins_the_quote_and_the_letter_moves_the_beginning_back(tmp_path: Path) -> None:
    joined = tuple(f'"{letter}' for letter in "ABC")
    folder = tiny_checkpoint.write(tmp_path, tokens=(*tiny_checkpoint.TOKENS, *joined))
    (response,) = asked(folder, request("Who?"))
    expected = by_hand(folder, f"[user]Who?\n[assistant]{BEGUN}", drop=1)
    check(response, expected, ("A", "B", "C", *joined))
    assert response.tokens_in == len(f"[user]Who?\n[assistant]{BEGUN}") - 1


@pytest.mark.parametrize(
    ("tokens", "letter"),
    [
        (tuple(text for text in tiny_checkpoint.TOKENS if text != "B"), "B"),
        ((*tiny_checkpoint.TOKENS, '"B'), "A"),
    ],
    ids=["none", "only one is joined with the quote"],
)
def test_a_tokenizer_without_letters_is_one_line(
    tmp_path: Path, tokens: tuple[str, ...], letter: str
) -> None:
    folder = tiny_checkpoint.write(tmp_path, tokens=tokens)
    with pytest.raises(FatalModelError) as caught:
        asked(folder, request("Who?"))
    assert str(caught.value) == (
        f"transformers:{folder}: its tokenizer has no token for the letter {letter} of an answer alone: "
        "use --factorfair-answers=text"
    )


USER_ONLY = (
    "{% for message in messages %}{% if message.role == 'assistant' %}{{ raise_exception('no assistant') }}"
    "{% endif %}[{{ message.role }}]{{ message.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}"
)
CHANGING = (
    "{% for message in messages %}[{{ message.role }}]{{ message.content | replace('\"', '') }}\n{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}"
)
THINKING = "{% if add_generation_prompt %}<think>\n{% endif %}"
ALWAYS_THINKING = (
    "{% for message in messages %}[{{ message.role }}]{% if message.role == 'assistant' and not quiet %}<think>"
    "{% endif %}{{ message.content }}\n{% endfor %}{% if add_generation_prompt %}[assistant]<think>{% endif %}"
)


@pytest.mark.parametrize(
    "template",
    [USER_ONLY, CHANGING, tiny_checkpoint.TEMPLATE + THINKING],
    ids=["forbids assistants", "changes the content", "thinks unless the answer is begun"],
)
def test_templates_that_need_another_way_to_begin_an_answer(tmp_path: Path, template: str) -> None:
    folder = tiny_checkpoint.write(tmp_path, template=template)
    (response,) = asked(folder, request("Who?"))
    check(response, by_hand(folder, f"[user]Who?\n[assistant]{BEGUN}"))


def test_a_template_that_always_opens_a_block_of_reasoning_is_one_line(tmp_path: Path) -> None:
    folder = tiny_checkpoint.write(tmp_path, template=ALWAYS_THINKING)
    with pytest.raises(FatalModelError) as caught:
        asked(folder, request("Who?"))
    assert str(caught.value).startswith(
        f"transformers:{folder}: its chat template opens a block of reasoning (<think>), so"
    )
    (response,) = asked(folder, request("Who?"), template__quiet="true")
    check(response, by_hand(folder, f"[user]Who?\n[assistant]{BEGUN}"))


def test_probabilities_that_are_no_numbers_fail_their_query(tmp_path: Path) -> None:
    torch = import_module("torch")
    safetensors = import_module("safetensors.torch")
    folder = tiny_checkpoint.write(tmp_path)
    weights = safetensors.load_file(folder / "model.safetensors")
    weights["model.norm.weight"].fill_(torch.nan)
    safetensors.save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    for answers in ("probabilities", "json"):
        with pytest.raises(RejectedRequestError, match="probabilities are not finite numbers: try dtype="):
            asked(folder, request("Who?"), answers=answers)


@pytest.mark.parametrize("placed", [{"device": "cpu"}, {"device_map": "auto"}], ids=["device", "map"])
def test_a_quantised_checkpoint_is_read_as_transformers_reads_it(
    tmp_path: Path, placed: dict[str, str]
) -> None:
    """Its projections are stored in 8 bits, divided by their scale."""
    torch, safetensors = import_module("torch"), import_module("safetensors.torch")
    folder = tiny_checkpoint.write(tmp_path / "plain")
    plain = safetensors.load_file(folder / "model.safetensors")
    quantised = dict(plain)
    for name, weight in plain.items():
        if "proj" in name:
            small = (weight / 0.5).to(torch.float8_e4m3fn)
            quantised |= {name: small, f"{name}_scale_inv": torch.full([n // 16 for n in weight.shape], 0.5)}
            plain[name] = small.to(weight.dtype) * 0.5
    quantised_folder = tiny_checkpoint.write(tmp_path / "quantised")
    safetensors.save_file(quantised, quantised_folder / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((quantised_folder / "config.json").read_text())
    method = {"quant_method": "fp8", "weight_block_size": [16, 16], "activation_scheme": "dynamic"}
    (quantised_folder / "config.json").write_text(json.dumps(config | {"quantization_config": method}))
    safetensors.save_file(plain, folder / "model.safetensors", metadata={"format": "pt"})
    (response,) = asked(quantised_folder, request("Who?"), answers="probabilities", **placed)
    expected = by_hand(folder, f"[user]Who?\n[assistant]{BEGUN}")
    # A machine without 8-bit units computes in bfloat16.
    probabilities = json.loads(response.text)
    assert probabilities == pytest.approx({token: expected[token] for token in probabilities}, abs=0.02)


def test_json_names_the_likeliest_letter(chat: Path) -> None:
    for prompt, response in zip(PROMPTS, asked(chat, *map(request, PROMPTS), answers="json"), strict=True):
        probabilities = by_hand(chat, f"[user]{prompt}\n[assistant]{BEGUN}")
        assert response.text == json.dumps({"answer": max("ABC", key=lambda letter: probabilities[letter])})


def test_json_draws_letters_by_their_probabilities_whatever_else_is_in_the_batch(chat: Path) -> None:
    draws = 400
    requests = [request("Who?", seed=seed) for seed in range(draws)]
    responses = asked(chat, *requests, answers="json", temperature="1", batch="64")
    probabilities = by_hand(chat, f"[user]Who?\n[assistant]{BEGUN}")
    letters = Counter(json.loads(response.text)["answer"] for response in responses)
    total = sum(probabilities[letter] for letter in "ABC")
    for letter in "ABC":
        share = probabilities[letter] / total
        assert abs(letters[letter] / draws - share) <= 4 * math.sqrt(share * (1 - share) / draws)
    alone = asked(chat, *requests[:4], answers="json", temperature="1", batch="1")
    assert alone == responses[:4]


def test_reasons_are_asked_for_in_words(chat: Path) -> None:
    queries = [request("Who?", explained=True), request("Who?")]
    words, letter = asked(chat, *queries, answers="json", max_tokens="3")
    assert (words.tokens_out, letter.tokens_out) == (3, 0)
    assert words == asked(chat, queries[0], answers="text", max_tokens="3")[0]
