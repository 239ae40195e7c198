"""Plainly biased models, most of them even over all questions together: none passes ``default``.

Each is fair and right but for its bias. One look at two statistics is enough to stop them, and a model
without a bias passes it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

import pytest_factorfair
from pytest_factorfair.domain import Explanation, Verdict
from tests.project import FEW

SCAN = "scan[subjective]"
CONTEXTS = ("base", "representativeness", "attribution", "in_group")


def _follows(attribute: str, when: str) -> str:
    return f"sim:context_following?strength=1&attribute={attribute}&when={when}"


def _group(group: str, strength: float, when: str) -> str:
    return f"constant?group={group}&strength={strength}&when={when}"


IN_TURN = "+".join(
    _group(group, 0.75, f"scenario:{number}")
    for number, group in enumerate(("Asian", "Black", "Hispanic"), 1)
)
GENDERS = f"{_group('Male', 1, 'scenario:1')}+{_group('Female', 1, 'scenario:2')}"


class Biased(NamedTuple):
    """A model, the gates that stop it, and the looks that its probabilities need; None if only its letters are read.

    Its biases are in separate conditions. Probabilities of a bias about gender take the same code as those about race, with two groups for four.
    """

    spec: str
    gates: list[str]
    looks: int | None = 1


BIASES = {
    "the race that the news names, its own race for good, and never Black if that is the fact": Biased(
        f"{_follows('race', 'context:attribution')}+self_serving?strength=1&attribute=race"
        "+avoiding?group=Black&when=part:objective",
        [
            "worst_fact[objective,race]",
            "s_e_within[attribution,race,named]",
            "s_e_within[in_group,race,named]",
            SCAN,
        ],
        looks=2,
    ),
    "the gender that the news names, and its own gender for good": Biased(
        f"{_follows('gender', 'context:attribution')}+self_serving?strength=1&attribute=gender",
        ["s_e_within[attribution,gender,named]", "s_e_within[in_group,gender,named]", SCAN],
        looks=None,
    ),
    "White when told that it is White": Biased(
        _follows("race", "own:White"), ["s_e_within[in_group,race,named]", SCAN]
    ),
    "only Black and Hispanic men, and White and Asian women": Biased(
        "sim:constant?group=Black/Male,Hispanic/Male,White/Female,Asian/Female",
        [SCAN, "crossed[subjective,gender]"],
    ),
    "another race in each scenario": Biased(
        f"sim:{IN_TURN}+{_group('White', 1, 'part:subjective')}",  # White has what is left: a quarter
        [*(f"s_e_within[{context},race,scenario]" for context in CONTEXTS), SCAN],
    ),
    "men in one scenario, women in the next": Biased(
        f"sim:{GENDERS}",
        [*(f"s_e_within[{context},gender,scenario]" for context in CONTEXTS), SCAN],
        looks=None,
    ),
    "a favourite name, which hides a stereotype": Biased(
        "sim:name_biased?strength=0.8+stereotyped?strength=0.9&attribute=race",
        [SCAN, *(f"name_preference[{context},gender]" for context in CONTEXTS)],
        looks=2,
    ),
    "a stereotype of old people": Biased("sim:stereotyped?strength=1&attribute=race&when=age:65-75", [SCAN]),
    "a stereotype if a woman is named first": Biased(
        "sim:stereotyped?strength=1&attribute=race&when=first:Female",
        ["s_e[base,race]", "s_kld[base,race]", "s_e_within[base,race,scenario]", SCAN],
        looks=2,
    ),
    "never Asian": Biased(
        "sim:avoiding?group=Asian&when=part:subjective",
        ["s_e[base,race]", "s_e_within[base,race,scenario]", SCAN],
    ),
    "half of its answers withheld if they are Black": Biased(
        "sim:refusing?rate=0.5&group=Black",
        [
            # Of facts about gender none is Black, and judgements that it declines count as even choices: two
            # statistics are too few for the scan to see that the others avoid Black people.
            "refusal_rate[objective,race]",
        ],
        looks=None,
    ),
}

UNSEEN = {
    "White when told that it is White": {SCAN},
    "only Black and Hispanic men, and White and Asian women": {"crossed[subjective,gender]"},
}
"""Gates that do not stop it by its probabilities: fewer questions differ than there are drawn answers."""


def _judged(folder: Path, spec: str, answers: str, looks: int = 1) -> tuple[str, dict[str, Verdict]]:
    """The word on the release, and the verdicts by subject."""
    summary = pytest_factorfair.run(
        spec,
        root=folder,
        checklist=[str(FEW)],
        gate=["default"],
        answers=answers,
        looks=looks,
        looks_after_fail=True,
        progress=False,
    ).summary
    assert summary.release is not None
    return summary.release.word, {verdict.subject: verdict for verdict in summary.gates}


@pytest.mark.parametrize("bias", BIASES)
def test_a_bias_within_a_condition_fails(tmp_path: Path, bias: str) -> None:
    spec, gates, _ = BIASES[bias]
    word, verdicts = _judged(tmp_path, spec, "json")
    assert word == "FAIL"
    assert [subject for subject, verdict in verdicts.items() if verdict.judgement == "failed"] == gates
    for subject in gates:
        if subject.endswith(",named]"):
            explanation = verdicts[subject].explanation
            assert explanation is not None
            assert explanation.example is not None
            assert _shows(explanation, explanation.example.question)


def _shows(explanation: Explanation, question: str) -> bool:
    """Whether a question names the group that the explanation's sentence says it was told of."""
    named = re.search(r"when told (?:that it is|of a person who is) (\w+),", explanation.sentence)
    return bool(named and re.search(rf"\b{named[1]}\b", question.splitlines()[0], re.IGNORECASE))


@pytest.mark.parametrize("bias", [bias for bias, biased in BIASES.items() if biased.looks])
def test_a_bias_within_a_condition_fails_by_its_probabilities(tmp_path: Path, bias: str) -> None:
    """Nearly all in the two looks of ``ci``, though an answer of a sure model is worth no more than a drawn one."""
    spec, gates, looks = BIASES[bias]
    assert looks is not None
    word, verdicts = _judged(tmp_path, spec, "probabilities", looks=looks)
    assert word == "FAIL"
    failed = {subject for subject, verdict in verdicts.items() if verdict.judgement == "failed"}
    assert failed == {*gates} - UNSEEN.get(bias, set())


@pytest.mark.parametrize("answers", ["json", "probabilities"])
def test_a_fair_model_passes_the_same_gates(tmp_path: Path, answers: str) -> None:
    word, verdicts = _judged(tmp_path, "sim:ideal", answers)
    assert word == "PASS"
    gates = {gate for biased in BIASES.values() for gate in biased.gates}
    assert {verdicts[gate].judgement for gate in gates} == {"passed"}
