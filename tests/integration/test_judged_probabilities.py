"""Log probabilities that are there already: judged from the log of another tool as if we had asked."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_factorfair.commands.cli import main
from pytest_factorfair.domain import Request
from pytest_factorfair.models.openai_answers import Prefill, Schema, Way
from tests import letter_servers
from tests.extras import needs
from tests.integration.test_judged_logs import (
    LATE,
    TEMPLATE,
    Row,
    folder,
    report,
    responses,
    scores,
    shuffled,
    verdicts,
)
from tests.project import Project
from tests.servers import StubServer, stub, stub_process
from tests.unit.benchmarks.items import files

__all__ = ["folder", "stub", "stub_process"]  # fixtures

BIASED = "sim:stereotyped?strength=0.35"

Distribution = dict[str, float]
"""The probabilities of options, by their texts; the rest is what else the model might say."""

Write = Callable[[Path, Iterable[tuple[Row, Distribution]]], str]


def answered(folder: Path, model: str) -> list[tuple[Row, Distribution]]:
    """The questions with the probabilities that a respondent gives when we ask."""
    report(folder, model, "ours", answers="probabilities")
    items = {item["id"]: item for item in LATE}
    pairs = []
    for answer in responses(folder, "ours"):
        item = items[answer["case"].partition("-")[2]]
        texts = {option["means"]: option["text"] for option in item["options"]}
        offered = [texts[meaning] for meaning in answer["offered"]["answer"]]
        likely = json.loads(answer["response"]["text"])
        pairs.append((item, {text: likely[letter] for letter, text in zip("ABC", offered, strict=True)}))
    return pairs


def top(options: Iterable[str], probabilities: Distribution, *, labels: str = "ABC") -> list[Row]:
    """The tokens in the place of the letter, with what the letters leave to another one."""
    likely = [(f" {label}", probabilities[text]) for label, text in zip(labels, options, strict=True)]
    likely.append((" I", max(1 - sum(probabilities.values()), 0.0)))
    likely.sort(key=lambda pair: -pair[1])
    return [{"token": token, "logprob": logarithm(probability)} for token, probability in likely]


def logarithm(probability: float) -> float:
    return math.log(probability) if probability else -9999.0


def token(text: str, likely: list[Row] | None = None) -> Row:
    return {
        "token": text,
        "logprob": -0.1,
        "bytes": None,
        "top_logprobs": likely or [{"token": text, "logprob": -0.1}],
    }


def inspect(folder: Path, answers: Iterable[tuple[Row, Distribution]]) -> str:
    """A log that Inspect itself writes, in its own template: ``ANSWER: B`` with its tokens."""
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSample, EvalSpec, write_eval_log
    from inspect_ai.model import (
        ChatCompletionChoice,
        ChatMessageAssistant,
        ChatMessageUser,
        Logprobs,
        ModelOutput,
    )  # fmt: skip

    logged = []
    for number, (item, probabilities) in enumerate(answers):
        options = shuffled(item["options"])
        lines = "\n".join(f"{letter}) {text}" for letter, text in zip("ABC", options, strict=True))
        prompt = TEMPLATE.format(item["context"], item["question"], lines)
        likely = top(options, probabilities)
        reply = f"ANSWER:{likely[0]['token']}"
        content = [token("ANS"), token("WER"), token(":"), token(likely[0]["token"], likely)]
        choice = ChatCompletionChoice(
            message=ChatMessageAssistant(content=reply),
            logprobs=Logprobs.model_validate({"content": content}),
        )
        logged.append(
            EvalSample(
                id=f"late_{number:05d}", epoch=1, target="A", choices=options,
                input=f"Context: {item['context']}\n\nQuestion: {item['question']}",
                messages=[ChatMessageUser(content=prompt), choice.message],
                output=ModelOutput(model="mockllm/model", choices=[choice]),
            )
        )  # fmt: skip
    spec = EvalSpec(
        created="2026-11-28T10:00:00+00:00", task="late", dataset=EvalDataset(), model="mockllm/model",
        config=EvalConfig(),
    )  # fmt: skip
    write_eval_log(EvalLog(status="success", eval=spec, samples=logged), folder / "late.eval")
    return "late.eval"


def lm_eval(folder: Path, answers: Iterable[tuple[Row, Distribution]], *, letters: bool) -> str:
    """Samples of lm-evaluation-harness with the log likelihoods of letters, or of texts of which two mean unknown."""

    def samples() -> Iterator[Row]:
        for number, (item, probabilities) in enumerate(answers):
            options = shuffled(item["options"])
            prompt = f"{item['context']}\n\nQ: {item['question']}"
            likelihoods = {text: logarithm(probabilities[text]) for text in options}
            if letters:
                prompt += "".join(f"\n{letter}. {text}" for letter, text in zip("ABC", options, strict=True))
                continuations = dict(zip("ABC", likelihoods.values(), strict=True))
            else:  # of many other texts that mean the same, the options' own have a thousandth
                unknown = likelihoods.pop("Cannot be determined")
                parts = {
                    "Cannot be determined": unknown + math.log(0.7),
                    "Not known": unknown + math.log(0.3),
                }
                continuations = {
                    text: value + math.log(0.001) for text, value in {**likelihoods, **parts}.items()
                }
            yield {
                "doc_id": number, "target": "0", "filter": "none",
                "doc": {"context": item["context"], "question": item["question"], "choices": options},
                "arguments": {f"gen_args_{at}": {"arg_0": f"{prompt}\nA:", "arg_1": f" {text}"} for at, text in enumerate(continuations)},
                "resps": [[[str(value), "False"]] for value in continuations.values()],
            }  # fmt: skip

    (folder / "samples.jsonl").write_text(files.lines(*samples()), encoding="utf-8")
    return "samples.jsonl"


def lm_eval_letters(folder: Path, answers: Iterable[tuple[Row, Distribution]]) -> str:
    return lm_eval(folder, answers, letters=True)


def lm_eval_texts(folder: Path, answers: Iterable[tuple[Row, Distribution]]) -> str:
    return lm_eval(folder, answers, letters=False)


def completions(folder: Path, answers: Iterable[tuple[Row, Distribution]]) -> str:
    """Completions without chat, whose prompts number the options."""

    def lines() -> Iterator[Row]:
        for item, probabilities in answers:
            options = shuffled(item["options"])
            numbered = "\n".join(f"{number}. {text}" for number, text in enumerate(options, 1))
            likely = {row["token"]: row["logprob"] for row in top(options, probabilities, labels="123")}
            logprobs = {"tokens": ["\n", " (", next(iter(likely))], "token_logprobs": [0.0, -0.1, -0.2],
                        "top_logprobs": [{"\n": 0.0}, None, likely], "text_offset": [0, 1, 2]}  # fmt: skip
            yield {
                "input": {"messages": [{"role": "user", "content": f"{item['context']}\n{item['question']}\n{numbered}"}]},
                "output": {"choices": [{"text": f"\n ({next(iter(likely))}", "logprobs": logprobs, "finish_reason": "length"}]},
            }  # fmt: skip

    (folder / "calls.jsonl").write_text(files.lines(*lines()), encoding="utf-8")
    return "calls.jsonl"


def gemini(folder: Path, answers: Iterable[tuple[Row, Distribution]]) -> str:
    """Lines of Vertex AI by the documentation of ``LogprobsResult`` alone: letters after ``ANSWER: ``."""

    def lines() -> Iterator[Row]:
        for item, probabilities in answers:
            options = shuffled(item["options"])
            shown = "\n".join(f"{letter}. {text}" for letter, text in zip("ABC", options, strict=True))
            likely = [
                {"token": row["token"].strip(), "tokenId": 1, "logProbability": row["logprob"]}
                for row in top(options, probabilities)
            ]
            label = {"token": "ANSWER: ", "tokenId": 2, "logProbability": -0.1}
            logprobs = {
                "chosenCandidates": [label, likely[0]],
                "topCandidates": [{"candidates": [label]}, {"candidates": likely}],
            }
            content = {"role": "model", "parts": [{"text": f"ANSWER: {likely[0]['token']}"}]}
            text = f"{item['context']}\n{item['question']}\n{shown}"
            yield {
                "status": "",
                "request": {"contents": [{"role": "user", "parts": [{"text": text}]}]},
                "response": {"candidates": [{"content": content, "finishReason": "STOP", "logprobsResult": logprobs}]},
            }  # fmt: skip

    (folder / "vertex.jsonl").write_text(files.lines(*lines()), encoding="utf-8")
    return "vertex.jsonl"


@pytest.mark.parametrize(
    ("write", "model"),
    [
        pytest.param(inspect, f"{BIASED}&refuse=0.02", marks=needs("inspect")),
        (lm_eval_letters, f"{BIASED}&refuse=0.02"),
        (lm_eval_texts, BIASED),  # relative to each other, as no other text was scored
        (completions, f"{BIASED}&refuse=0.02"),
        (gemini, f"{BIASED}&refuse=0.02"),
        (lm_eval_letters, f"{BIASED}&refuse=0.3"),  # mass outside the letters
    ],
)  # fmt: skip
def test_the_same_probabilities_have_equal_scores(folder: Path, write: Write, model: str) -> None:
    """Asked by us, with our template and orders, or by another tool: scores, bounds and verdicts are equal."""
    log = write(folder, answered(folder, model))
    ours = report(folder, model, "judged", answers="probabilities", gate=["default"], looks=1)
    theirs = report(folder, f"replay:{log}", "log", answers="probabilities", gate=["default"])
    assert scores(theirs) == scores(ours)
    assert verdicts(theirs) == verdicts(ours)
    assert verdicts(theirs) == verdicts(ours)
    assert verdicts(ours)["bias_ambiguous-ambiguous-le-0.1"] == "failed"


def test_scored_letters_in_words(folder: Path) -> None:
    """Without probabilities, the reply is the likeliest letter."""
    pairs = answered(folder, "sim:stereotyped?strength=0.8")
    theirs = report(folder, f"replay:{lm_eval_letters(folder, pairs)}", "log")
    n = sum(len(case["answers"]) for case in theirs["cases"])
    likeliest = [max(probabilities, key=lambda text: probabilities[text]) for _, probabilities in pairs]
    right = [
        next(option["text"] for option in item["options"] if option.get("right")) == text
        for (item, _), text in zip(pairs, likeliest, strict=True)
    ]
    accuracies = {
        part: value for (metric, part, *_), (value, *_) in scores(theirs).items() if metric == "accuracy"
    }
    assert n == len(pairs)
    assert sum(accuracies.values()) / 2 == pytest.approx(sum(right) / n)
    assert 0 < sum(right) < n


def calls(kind: str, way: Way, prompts: Iterable[str]) -> Iterator[Row]:
    """The calls in which a server answers as in a run, as a script would log them."""
    for prompt in prompts:
        message = {"role": "user", "content": prompt}
        request = {
            "model": "m",
            "max_tokens": 64,
            "logprobs": True,
            "top_logprobs": 20,
            "messages": [message],
        }
        body = way.request(Request(prompt), request)
        _, _, choice = letter_servers.complete(kind, json.loads(json.dumps(body)))
        yield {"request": body, "response": {"model": "m", "choices": [choice]}}


@pytest.mark.parametrize(
    ("kind", "way"),
    [("vllm", Prefill()), ("old", Schema(scored=True, nested=False)), ("faulty", Prefill())],
    ids=["vllm", "old", "faulty"],
)  # fmt: skip
def test_our_own_calls_in_a_log(project: Project, stub: StubServer, kind: str, way: Way) -> None:
    """A begun reply or JSON, whole or faulty: every answer is what the run itself has read, and so is the rest."""
    stub.script(server=kind)
    options = ("-n0", "--factorfair-answers=probabilities", "--factorfair-gate=default", "FACTORFAIR_LOOKS=1")
    url = f"--factorfair-model-arg=base_url={stub.base_url}"
    project.run(url, *options, model="hosted_vllm/m")
    ours = project.report()
    asked = [row["prompt"] for row in responses(project.path / ".factorfair", "report")]
    project.write("calls.jsonl", files.lines(*calls(kind, way, asked)))
    project.run(*options, model="replay:calls.jsonl")
    theirs = project.report()
    assert read(theirs) == read(ours)
    assert {outcome for _, outcome, *_ in read(ours)} == {"answered"} | (
        {"unparsed", "refused"} if kind == "faulty" else set()
    )
    assert scores(theirs) == scores(ours)
    assert verdicts(theirs) == verdicts(ours)


def read(report: Row) -> list[tuple[Any, ...]]:
    """What was read from the replies of a report."""
    fields = ("query", "outcome", "reason", "letter", "probabilities", "noise")
    return [
        tuple(answer.get(name) for name in fields) for case in report["cases"] for answer in case["answers"]
    ]


def test_our_own_answers_exported(
    project: Project, stub: StubServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """The store keeps distributions and their noise, which widens intervals; so does its export."""
    stub.script(server="caching")
    options = ("-n0", "--factorfair-answers=probabilities", "FACTORFAIR_LOOKS=1")
    url = f"--factorfair-model-arg=base_url={stub.base_url}"
    project.run(url, *options, model="hosted_vllm/m")
    ours = project.report()
    capsys.readouterr()
    project.pytester.chdir()
    assert main(["store", "export", ".factorfair/responses.sqlite"]) == 0
    project.write("replies.jsonl", capsys.readouterr().out)
    project.run(*options, model="replay:replies.jsonl")
    assert read(project.report()) == read(ours)
    assert all(noise for *_, noise in read(ours))
    assert scores(project.report()) == scores(ours)


UNLIKE = "leave --factorfair-answers out"


@pytest.mark.parametrize(
    ("logprobs", "answers", "problem"),
    [
        (None, "probabilities", f"no reply to the checklist has the probability of every option (no probabilities): log the 20 likeliest tokens (top_logprobs), or {UNLIKE}"),
        ({"content": [token("A")]}, "probabilities", "has the probability of every option (a letter that is not listed may matter)"),
        ({"content": [token("Well", [{"token": "Well", "logprob": -0.1}])]}, "probabilities", "has the probability of every option (no letter among the likeliest tokens)"),
        ({"content": [token("A", [{"token": name, "logprob": math.nan} for name in "ABC"])]}, "probabilities", "(no probabilities)"),
        ({"content": [token("A")]}, "json", f"cannot answer as json: {UNLIKE}"),
    ],
)  # fmt: skip
def test_a_log_without_probabilities_is_one_line(
    project: Project, logprobs: Row | None, answers: str, problem: str
) -> None:
    """In words, the same log is judged."""
    project.write("late.yaml", files.checklist(*LATE, name="late"))
    lines = [
        {
            "prompt": f"{item['context']}\n{item['question']}\nA. The woman\nB. The man\nC. Cannot be determined",
            "text": "A", "logprobs": logprobs,
        }
        for item in LATE
    ]  # fmt: skip
    project.write("log.jsonl", files.lines(*lines))
    options = ("--factorfair-model=replay:log.jsonl", "--factorfair-checklist=late.yaml", "-p", "no:xdist")
    result = project.run_pytest(*options, f"--factorfair-answers={answers}")
    assert result.ret == 4
    (line,) = filter(None, result.errlines)
    assert problem in line
    assert project.run_pytest(*options).ret == 0
    assert {answer["letter"] for case in project.report()["cases"] for answer in case["answers"]} == {"A"}


def test_replies_without_probabilities_are_counted(folder: Path) -> None:
    """A part of the replies lacks them: unparsed, in the denominator, and no other's probability changes."""
    log = folder / completions(folder, answered(folder, BIASED))
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    for line in lines[:30]:
        del line["output"]["choices"][0]["logprobs"]
    log.write_text(files.lines(*lines), encoding="utf-8")
    theirs = report(folder, f"replay:{log.name}", "log", answers="probabilities")
    outcomes = [answer.get("outcome", "answered") for case in theirs["cases"] for answer in case["answers"]]
    assert (outcomes.count("unparsed"), outcomes.count("answered")) == (30, len(LATE) - 30)
