"""The probabilities of options in logged replies: where the letter is, and what the tools' own logs say."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_factorfair.domain import Option, Reading, Response
from pytest_factorfair.logs.formats import open_log
from pytest_factorfair.logs.log import LoggedReply
from pytest_factorfair.logs.probabilities import distribution_of
from pytest_factorfair.models.logprobs import Token, tokens_in
from pytest_factorfair.reading import read
from tests.extras import needs
from tests.project import DATA

Row = dict[str, Any]

LOGS = DATA / "logs"
TEXTS = ("The man", "The woman", "Not known")
OPTIONS = tuple(
    Option(letter, text, (text, str(number)), {})
    for number, (letter, text) in enumerate(zip("ABC", TEXTS, strict=True), 1)
)
LIKELY = {"B": 0.5, " A": 0.2, "C": 0.1, "A": 0.1, "The": 0.06}
READ = (0.3, 0.5, 0.1)


def token(text: str, likely: Mapping[str, float] | None = None) -> Token:
    listed = {text: 1.0} if likely is None else likely
    top = [{"token": name, "logprob": math.log(share)} for name, share in listed.items()]
    return {"token": text, "logprob": top[0]["logprob"], "top_logprobs": top}


def reading(reply: LoggedReply) -> Reading:
    """What is read from a reply in a run for probabilities."""
    return read(Response(distribution_of(reply, OPTIONS)), OPTIONS, answers="probabilities")


def letters(reply: LoggedReply) -> tuple[float, ...]:
    return tuple(reading(reply).probabilities.values())


@pytest.mark.parametrize(
    "before",
    [
        "", "\n", "(", "**", " **(", '{"answer": "', '{"', '```json\n{\n "choice" : "', "ANSWER:| ", "Answer: (", "**Answer:** ",
        "My final answer: ", "Antwort: „", "答案：", "The correct answer|:\n\n",  # noqa: RUF001 - a colon of Chinese
    ],
)  # fmt: skip
def test_the_letter_is_after_a_label_json_or_markup(before: str) -> None:
    texts = [part for part in before.split("|") if part]
    tokens = [*map(token, texts), token("B", LIKELY), token(")"), token(" A", {" A": 0.9, " B": 0.1})]
    assert letters(LoggedReply("", "", "", tokens=tokens)) == READ


@pytest.mark.parametrize(
    "before", ["I think", "The answer is", "Let us see.\nAnswer: ", '{"reason": "Long ago", "answer": "']
)
def test_a_letter_after_other_words_depends_on_them(before: str) -> None:
    """What counts is what the model could have said in place of these words."""
    first, rest = before[:5], before[5:]
    tokens = [token(first, {first: 0.9, **{name: share / 10 for name, share in LIKELY.items()}})]
    reply = LoggedReply("", "", "", tokens=[*tokens, token(rest), token("B", LIKELY)])
    if before.startswith("{"):
        assert reading(reply).reason == "no letter among the likeliest tokens"
    else:
        assert letters(reply) == pytest.approx([share / 10 for share in READ])


def test_tokens_of_a_completion_without_chat() -> None:
    """The lists of OpenAI's older format; of a prompt that is echoed, the first token has no probability."""
    logs = {name: math.log(share) for name, share in LIKELY.items()}
    legacy = {"tokens": ["\n", "B"], "token_logprobs": [None, -0.7], "top_logprobs": [None, logs]}
    assert letters(LoggedReply("", "\nB", "", tokens=tokens_in(legacy))) == READ


@pytest.mark.parametrize(
    "logprobs",
    [None, [], "B", {}, {"content": None}, {"content": ["B"]}, {"content": [{"token": "B"}]}, {"tokens": ["B"]},
     {"chosenCandidates": [{"token": "B"}], "topCandidates": [{"candidates": None}]}, {"chosenCandidates": [{}], "topCandidates": [None]},
     {"chosenCandidates": [{"token": "B", "logProbability": -0.1}]}, {"chosenCandidates": [None], "topCandidates": [{"candidates": [None]}]},
     {"tokens": ["B"], "top_logprobs": [None]}, {"tokens": ["B"], "top_logprobs": [["B", -1]]}, {"tokens": "B", "top_logprobs": {"B": 0}},
     {"content": [{"token": "B", "top_logprobs": [{"token": "B", "logprob": None}]}]}],
)  # fmt: skip
def test_a_reply_without_log_probabilities(logprobs: object) -> None:
    assert reading(LoggedReply("", "B", "", tokens=tokens_in(logprobs))).reason == "no probabilities"


@pytest.mark.parametrize(
    ("likely", "reason"),
    [
        ({"B": -0.1}, "a letter that is not listed may matter"),
        ({"B": -0.7, " A": -1.2, "The": -3.0}, "a letter that is not listed may matter"),
        ({"The": -0.1, "I": -3.0}, "no letter among the likeliest tokens"),
        ({"B": 2.0, "A": -1.0}, "no probabilities"),
        ({"B": -0.1, "A": -0.1, "C": -0.1}, "no probabilities"),
        ({"B": math.nan, "A": -1.0}, "no probabilities"),
        ({"B": -math.inf, "A": -math.inf, "C": -9999.0}, "no letter among the likeliest tokens"),
        ({"B": -0.7, "A": -0.8, "C": -9999.0}, ""),
    ],
)
def test_what_is_no_distribution_has_the_reasons_of_a_live_one(
    likely: Mapping[str, float], reason: str
) -> None:
    top = [{"token": name, "logprob": logprob} for name, logprob in likely.items()]
    reply = LoggedReply("", "B", "", tokens=[{"token": "B", "top_logprobs": top}])
    assert reading(reply).reason == reason


def test_a_drawn_token_beyond_the_likeliest_bounds_nothing() -> None:
    """vLLM lists it, too: other tokens, such as C, may be likelier."""
    likely = {"B": 0.5, "A": 0.3, "The": 0.1, "zzz": 0.001}
    reply = LoggedReply("", "zzz", "", tokens=[token("zzz", likely)])
    assert reading(reply).reason == "a letter that is not listed may matter"


def chat(message: Row, details: Row | None = None) -> Row:
    """A completion with two choices."""
    choice = {"message": message, "logprobs": {"content": [token("B", LIKELY)]}}
    return {"choices": [choice] * 2, "usage": {"completion_tokens_details": details}}


def output(*parts: Row, reasoning: int = 0) -> Row:
    """A response of OpenAI's Responses, which repeats how much the model is to reason."""
    said = {"type": "output_text", "text": "B", "logprobs": [token("B", LIKELY)]}
    usage = {"output_tokens": 9, "output_tokens_details": {"reasoning_tokens": reasoning}}
    message = {"type": "message", "content": [said]}
    return {"reasoning": {"effort": "none"}, "output": [*parts, message], "usage": usage}


SAID: Row = {"type": "text", "text": "B"}


def candidate(*parts: Row, thoughts: int = 0) -> Row:
    """A response of Gemini by the documentation of its ``LogprobsResult``; none was at hand."""
    top = [{"token": name, "tokenId": 7, "logProbability": math.log(share)} for name, share in LIKELY.items()]
    chosen = {"token": "B", "tokenId": 7, "logProbability": math.log(LIKELY["B"])}
    logprobs = {
        "topCandidates": [{"candidates": top}],
        "chosenCandidates": [chosen],
        "logProbabilitySum": -0.7,
    }
    content = {"role": "model", "parts": [*parts, {"text": "B"}]}
    usage = {"candidatesTokenCount": 1, "thoughtsTokenCount": thoughts}
    candidates = [{"content": content, "avgLogprobs": -0.7, "logprobsResult": logprobs}]
    return {"candidates": candidates, "usageMetadata": usage}


@pytest.mark.parametrize(
    ("response", "has_reasoned"),
    [
        (chat({"content": "B"}), False),
        (chat({"content": [SAID], "reasoning_content": None, "reasoning": ""}, {"reasoning_tokens": 0}), False),
        (chat({"content": "B"}, {"reasoning_tokens": 40}), True),
        (chat({"content": "B", "reasoning_content": "He is old."}), True),
        (chat({"content": "B", "reasoning": "He is old."}), True),
        (chat({"content": "B", "thinking": "He is old."}), True),
        (chat({"content": [{"type": "thinking", "thinking": "He is old."}, SAID]}), True),
        (output(), False),
        (output({"type": "reasoning", "summary": []}), True),
        (output(reasoning=40), True),
        (candidate(), False),
        (candidate({"text": "He is old.", "thought": True}), True),
        (candidate(thoughts=40), True),
    ],
)  # fmt: skip
def test_reasoning_decides_the_letter(tmp_path: Path, response: Row, *, has_reasoned: bool) -> None:
    """Of every choice, whether the reasoning is shown or counted."""
    file = tmp_path / "log.jsonl"
    file.write_text(json.dumps({"messages": [{"role": "user", "content": "Who?"}], "response": response}))
    for reply in open_log(file).replies():
        assert reply.text == "B"
        assert letters(reply) == (() if has_reasoned else READ)


@needs("inspect")
@pytest.mark.parametrize(
    "part", [{"type": "text", "text": ""}, {"type": "reasoning", "reasoning": "He is old."}]
)
def test_reasoning_in_a_log_of_inspect(tmp_path: Path, part: Row) -> None:
    log = json.loads((LOGS / "inspect.json").read_text())
    for sample in log["samples"]:
        (choice,) = sample["output"]["choices"]
        choice["message"]["content"] = [part, {"type": "text", "text": "A"}]
    file = tmp_path / "log.json"
    file.write_text(json.dumps(log))
    assert [bool(reply.tokens) for reply in open_log(file).replies()] == [part["type"] == "text"] * 2


def test_the_beginning_that_the_request_gave() -> None:
    """The letter is what follows it, and the text is one reply."""
    tokens = (token('"', LIKELY), token("}"))
    reply = LoggedReply("", '"}', "", tokens=tokens)
    assert letters(reply.begun('{"answer": "')) == READ
    assert reply.begun('{"answer": "').text == '{"answer": ""}'
    assert reply.begun("") is reply
    whole = LoggedReply("", "ANSWER: B", "")
    assert whole.begun("ANSWER:") is whole  # the server repeats it
    failed = LoggedReply("", "", "", error="overloaded")
    assert failed.begun("ANSWER:") is failed


def test_options_by_their_numbers() -> None:
    likely = {"2": 0.5, " 1": 0.2, "3": 0.1, "1": 0.1, "7": 0.05}
    assert letters(LoggedReply("", "2", "", tokens=[token("2", likely)])) == READ


LETTERS = {"A": math.log(0.3), "B": math.log(0.5), "C": math.log(0.1)}


@pytest.mark.parametrize(
    "names", ["ABC", "abc", "123", ["(A)", "(B)", "(C)"], ["A.", "B.", "C."]], ids=str
)  # fmt: skip
def test_scored_letters_leave_the_rest_to_other_words(names: Sequence[str]) -> None:
    scores = dict(zip(names, LETTERS.values(), strict=True))
    assert letters(LoggedReply("", "B", "", scores=scores)) == READ


def test_scored_texts_share_all_probability() -> None:
    """Of long texts, all likelihoods are small: what counts is how they compare, here as 2 : 1 : 1."""
    scores = {"The man": -1000.0, "the  woman": -1000.0 - math.log(2), "Not known": -1000.0 - math.log(2)}
    assert letters(LoggedReply("", "The man", "", scores=scores)) == (0.5, 0.25, 0.25)


@pytest.mark.parametrize("score", [math.nan, math.inf, 2.0])
@pytest.mark.parametrize("names", ["ABC", TEXTS])
def test_scores_that_are_no_log_likelihoods(score: float, names: Sequence[str]) -> None:
    scores = dict(zip(names, (-1.0, score, -2.0), strict=True))
    assert reading(LoggedReply("", "", "", scores=scores)).reason == "no probabilities"


def test_scores_that_are_all_impossible() -> None:
    texts = LoggedReply("", "", "", scores=dict.fromkeys(TEXTS, -math.inf))
    assert reading(texts).reason == "no probabilities"


def samples(pattern: str) -> tuple[Path, list[dict[str, Any]]]:
    (file,) = LOGS.glob(pattern)
    return file, [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_log_likelihoods_of_lm_evaluation_harness() -> None:
    """Letters have their own probability; the ten wordings of unknown add up to that option's share."""
    file, rows = samples("samples_own_bbq_letters_*")
    for reply, row in zip(open_log(file).replies(), rows, strict=True):
        scores = [float(score) for ((score, _),) in row["resps"]]
        distribution = json.loads(distribution_of(reply, OPTIONS))
        assert [distribution[letter] for letter in "ABC"] == pytest.approx(np.exp(scores).tolist())
        assert reply.item is not None
        assert [text for _, text in reply.item.options] == [row["doc"][f"ans{at}"] for at in range(3)]
        assert [letter for letter in "ABC" if letter in reply.item.targets] == ["ABC"[int(row["target"])]]
    file, rows = samples("samples_own_bbq_2026*")
    for reply, row in zip(open_log(file).replies(), rows, strict=True):
        likely = np.exp([float(score) for ((score, _),) in row["resps"]])
        assert reply.item is not None
        texts = [text for _, text in reply.item.options]
        unknown = tuple(text for text in texts if not text.startswith("The "))
        options = tuple(
            Option(letter, words[0], words, {})
            for letter, words in zip("ABC", (*((text,) for text in texts if text not in unknown), unknown), strict=True)
        )  # fmt: skip
        shares = dict(zip(texts, (likely / likely.sum()).tolist(), strict=True))
        assert json.loads(distribution_of(reply, options)) == pytest.approx(
            {option.letter: sum(shares[word] for word in option.words) for option in options}
        )
        assert len(unknown) == 10


@pytest.mark.parametrize("file", ["helm_original.json", "helm_calibrated.json"])
def test_log_likelihoods_of_helm(file: str) -> None:
    """Of all tokens of an option, and not their mean; not calibrated by the option alone either."""
    likely = []
    for reply in open_log(LOGS / file).replies():
        assert reply.item is not None
        options = tuple(Option(letter, text, (text,), {}) for letter, text in reply.item.options)
        total = np.logaddexp.reduce([*reply.scores.values()])
        likely.append(json.loads(distribution_of(reply, options)))
        assert likely[-1] == pytest.approx(
            {letter: math.exp(reply.scores[text] - total) for letter, text in reply.item.options}
        )
    assert len(likely) == 2


@needs("inspect")
def test_the_first_token_in_a_log_of_inspect() -> None:
    """Its replies begin with ``The answer is C``: the letter could have come at once."""
    file = LOGS / "inspect.json"
    outputs = [sample["output"] for sample in json.loads(file.read_text())["samples"]]
    for reply, output in zip(open_log(file).replies(), outputs, strict=True):
        assert reply.text.startswith("The answer is ")
        first, *_ = output["choices"][0]["logprobs"]["content"]
        assert json.loads(distribution_of(reply, OPTIONS)) == pytest.approx(
            {top["token"]: math.exp(top["logprob"]) for top in first["top_logprobs"]}
        )
        assert 0.3 < sum(letters(reply)) < 0.5
