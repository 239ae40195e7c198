"""Which queries a log answers: the wording and the order of options are those of other tools."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pytest_factorfair import benchmarks
from pytest_factorfair.benchmarks.items.checklist import ANSWER
from pytest_factorfair.config.settings import PRESETS
from pytest_factorfair.domain import Checklist, Query, Sampling
from pytest_factorfair.errors import InputError
from pytest_factorfair.logs.log import Log, LoggedItem, LoggedReply
from pytest_factorfair.logs.matching import Matching, match
from tests.project import DATA
from tests.unit.benchmarks.items import files

SAMPLING = PRESETS["ci"].sampling

LATE = "A woman and a man came, day 0."
TOLD = f"{LATE} He was late."
WHO = "Who was late?"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def items(folder: Path, *rows: files.Row) -> Checklist:
    """A checklist of these items, by default an ambiguous question and the same with the answer in the text."""
    rows = rows or (files.told(0, ambiguous=True), files.told(0, ambiguous=False))
    (folder / "late.yaml").write_text(files.checklist(*rows, name="late"), encoding="utf-8")
    return benchmarks.load("late.yaml", truth="audited", base=folder)


@cache
def topics() -> Checklist:
    return benchmarks.load(str(DATA / "small.yaml"), truth="audited", base=DATA)


def asked(checklist: Checklist, sampling: Sampling = SAMPLING) -> list[tuple[Checklist, tuple[Query, ...]]]:
    cases = benchmarks.cases(checklist, sampling)
    return [(checklist, benchmarks.queries(checklist, case, sampling)) for case in cases]


def reply(prompt: str, text: str = "A", where: str = "log:1", **fields: Any) -> LoggedReply:
    return LoggedReply(prompt, text, where, **fields)


def matched(checklist: Checklist, *replies: LoggedReply, sampling: Sampling = SAMPLING) -> Matching:
    log = Log("a log", {}, lambda: iter(replies))
    return match(log, asked(checklist, sampling), path="run.eval", seed=0)


def complaint(checklist: Checklist, *replies: LoggedReply) -> str:
    with pytest.raises(InputError) as caught:
        matched(checklist, *replies)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def shown(matching: Matching, case: str) -> list[tuple[str, str]]:
    """What the letters of the first query of a case mean, as the log asked it."""
    query = matching.queries["late", case][0]
    assert query.id in matching.replies
    return [(option.letter, option.groups[ANSWER]) for option in query.options]


def lettered(context: str, *options: str, letter: str = "{}) {}") -> str:
    """A prompt as Inspect writes it."""
    lines = [letter.format(name, option) for name, option in zip("ABC", options, strict=False)]
    return "\n".join(
        [
            "Answer the following question with 'ANSWER: $LETTER'.",
            "",
            f"Context: {context}",
            "",
            f"Question: {WHO}",
            *lines,
        ]
    )


UNKNOWN = "Cannot be determined"


def test_our_own_prompts() -> None:
    """Equal prompts are repeats in the order of the log; line ends do not matter."""
    checklist = topics()
    _, queries = asked(checklist)[0]
    again = [query for query in queries if query.prompt == queries[0].prompt]
    replies = [
        reply(queries[0].prompt.replace("\n", "\r\n"), f"{number}") for number in range(len(again) + 1)
    ]
    matching = matched(checklist, *replies)
    assert [matching.replies[query.id].text for query in again] == [
        str(number) for number in range(len(again))
    ]
    assert matching.as_asked(queries) is queries
    assert (matching.matched, matching.spare, matching.logged) == (len(replies), 1, len(replies))


def test_two_replies_with_one_prompt_and_repeat_are_refused() -> None:
    """Numbered repeats go where they belong, in any order; only a reply without number takes the next one."""
    checklist = topics()
    _, queries = asked(checklist)[0]
    repeats = [query for query in queries if query.prompt == queries[0].prompt]
    assert [query.repeat for query in repeats[:2]] == [0, 1]
    prompt = queries[0].prompt
    second, first = reply(prompt, "second", repeat=1), reply(prompt, "first", repeat=0)
    matching = matched(checklist, second, first)
    assert [matching.replies[query.id].text for query in repeats[:2]] == ["first", "second"]
    again = reply(prompt, "again", where="log:3", repeat=1)
    assert complaint(checklist, second, first, again) == (
        "log:3: an earlier reply has this prompt and repeat 1, too"
    )


def test_our_prompts_with_other_words_on_how_to_answer(folder: Path) -> None:
    for checklist in (topics(), items(folder)):
        _, queries = asked(checklist)[0]
        answer_format: str = checklist.answer_format  # type: ignore[attr-defined]  # of both benchmarks
        bare = queries[0].prompt.removesuffix(answer_format)
        assert bare != queries[0].prompt
        for prompt in (bare.strip(), f"{bare}\nAnswer with a letter.\n"):
            assert matched(checklist, reply(prompt, "B")).replies[queries[0].id].text == "B"
        letter = chr(ord("A") + len(queries[0].options))
        others = [f"In the news: it rains.\n{bare}", f"{bare.strip()}\n{letter}. Nobody\n"]
        if checklist.name != "late":  # an item is found all the same, or has other options
            assert "none of its 2 replies" in complaint(checklist, *map(reply, others))


def test_templates_and_orders_of_other_tools(folder: Path) -> None:
    """A disambiguated text begins with the ambiguous one; only its own question is answered."""
    checklist = items(folder)
    ambiguous, told = "ambiguous-ambiguous_0", "disambiguated-disambiguated_0"
    people = ("The man", UNKNOWN, "The woman")
    in_order = [("A", "men"), ("B", "unknown"), ("C", "women")]
    for template in ("{}) {}", "({}) {}", "{}. {}", "{}: {}", "- {} - {}"):
        prompt = lettered(LATE, *people, letter=template)
        assert shown(matched(checklist, reply(prompt)), ambiguous) == in_order, template
        matching = matched(checklist, reply(lettered(TOLD, *people, letter=template)))
        assert shown(matching, told) == in_order
        assert [*matching.queries] == [("late", told)]
    plain = f"{TOLD}\n\nQ: {WHO}\nIs it the man, the woman, or can it Cannot be determined?\nA:"
    assert shown(matched(checklist, reply(plain)), told) == [("A", "men"), ("B", "women"), ("C", "unknown")]
    backwards = f"{WHO.upper()}\n(c) the woman (b) the man (a) cannot be determined"
    assert shown(matched(checklist, reply(f"{LATE} {backwards}")), ambiguous) == [
        ("A", "unknown"), ("B", "men"), ("C", "women"),
    ]  # fmt: skip


def test_options_that_only_the_log_has(folder: Path) -> None:
    """lm-evaluation-harness scores them after a prompt that does not show them, in many words for unknown."""
    options = [
        ("A", "The man"),
        ("B", "The woman"),
        ("C", "Unknown"),
        ("D", "Not enough info"),
        ("E", UNKNOWN),
    ]
    item = LoggedItem("7", WHO, TOLD, tuple(options))
    matching = matched(items(folder), reply(f"{TOLD}\n\nQ: {WHO}\nA:", " Not known", item=item))
    case = "disambiguated-disambiguated_0"
    assert shown(matching, case) == [("A", "men"), ("B", "women"), ("C", "unknown")]
    assert matching.queries["late", case][0].options[2].words == (UNKNOWN, "Unknown", "Not enough info")


def test_letters_of_the_prompt_come_before_the_order_of_the_document(folder: Path) -> None:
    """A template may show the options of a data set in another order than it has them."""
    item = LoggedItem("7", WHO, LATE, (("A", "The man"), ("B", "The woman"), ("C", UNKNOWN)))
    prompt = lettered(LATE, UNKNOWN, "The woman", "The man")
    matching = matched(items(folder), reply(prompt, item=item))
    assert shown(matching, "ambiguous-ambiguous_0") == [("A", "unknown"), ("B", "women"), ("C", "men")]


def test_the_last_question_of_a_few_shot_prompt(folder: Path) -> None:
    people = ("The man", "The woman", UNKNOWN)
    prompt = f"{lettered(LATE, *people)}\nANSWER: C\n\n{lettered(TOLD, *reversed(people))}\nANSWER:"
    matching = matched(items(folder), reply(prompt))
    assert [*matching.queries] == [("late", "disambiguated-disambiguated_0")]
    assert shown(matching, "disambiguated-disambiguated_0")[0] == ("A", "unknown")


def test_numbered_options_are_words(folder: Path) -> None:
    people = ("The man", "The woman", UNKNOWN)
    lines = "\n".join(f"{number}. {option}" for number, option in enumerate(people, start=1))
    matching = matched(items(folder), reply(f"{LATE}\n{WHO}\n{lines}", "2"))
    query = matching.queries["late", "ambiguous-ambiguous_0"][0]
    assert [option.words for option in query.options] == [
        ("The man", "1"), ("The woman", "2"), (UNKNOWN, "3"),
    ]  # fmt: skip


def test_two_answers_are_two_repeats(folder: Path) -> None:
    """In orders of their own; equal prompts have different ids. A third one is left out, and said to be."""
    checklist, people = items(folder), ("The man", "The woman", UNKNOWN)
    prompts = [lettered(LATE, *people), lettered(LATE, *people), lettered(LATE, *reversed(people))]
    replies = [reply(prompt, text) for prompt, text in zip(prompts, "ABC", strict=True)]
    matching = matched(checklist, *replies, sampling=replace(SAMPLING, repeats=3))
    queries = matching.queries["late", "ambiguous-ambiguous_0"]
    assert [matching.replies[query.id].text for query in queries] == ["A", "B", "C"]
    assert [query.repeat for query in queries] == [0, 1, 0]
    assert len({query.id for query in queries}) == 3
    assert [*matching.notices] == [
        "3 of 3 logged replies match the checklist",
        "the log lacks 3 of the 6 questions of the checklist: they count as missing",
    ]
    assert [*matched(checklist, *replies).notices][1] == (
        "2 logged replies are left out: the log answers questions more often than the run asks them; "
        "--factorfair-samples=repeats=N takes N answers"
    )


def test_no_size_takes_spare_answers_to_our_own_prompts() -> None:
    """What varies between them is who is offered, not how often."""
    ((_, (query, *_)), *_) = asked(topics())
    matching = matched(topics(), *(reply(query.prompt) for _ in range(99)))
    (_, spare, _) = matching.notices
    assert spare.endswith("left out: the log answers questions more often than the run asks them")


def test_what_matches_nothing_is_counted(folder: Path) -> None:
    matching = matched(
        items(folder),
        reply(lettered(LATE, "The man", "The woman", UNKNOWN)),
        reply("What is the capital of France?"),
        reply(f"Somebody came, day 0.\n{WHO}\nThe man, the woman, {UNKNOWN}"),
    )
    assert [*matching.notices] == [
        "1 of 3 logged replies matches the checklist: 2 ask something else",
        "the log lacks 1 of the 2 questions of the checklist: they count as missing",
    ]
    assert not matching.sufficient


def test_other_contents_are_one_line(folder: Path) -> None:
    checklist = items(folder)
    assert complaint(checklist, reply("What?"), reply("Why?")) == (
        "run.eval: none of its 2 replies asks what the checklist asks; `factorfair import log run.eval` makes "
        "a checklist of the questions with options in it"
    )
    assert complaint(checklist, reply(lettered(LATE, "The man", "The woman"), where="log:9")) == (
        f"log:9: asks 'ambiguous-ambiguous_0' with other options: it lacks '{UNKNOWN}'"
    )
    item = LoggedItem("1", WHO, LATE, (("A", "The man"), ("B", "The woman"), ("C", "A dog"), ("D", UNKNOWN)))
    assert complaint(checklist, reply("?", item=item)) == (
        "log:1: asks 'ambiguous-ambiguous_0' with other options: 'A dog' is not among them"
    )
    assert complaint(checklist, reply(f"{lettered(LATE, 'The man', UNKNOWN, 'The woman')}\nD) A dog")) == (
        "log:1: asks 'ambiguous-ambiguous_0' with other options: 'a dog' is not among them"
    )
    twins = items(folder, files.told(0, ambiguous=True), files.told(0, ambiguous=True) | {"id": "again"})
    prompt = lettered(LATE, "The man", "The woman", UNKNOWN)
    assert complaint(twins, reply(prompt)) == (
        "log:1: asks what several items ask: 'ambiguous-ambiguous_0' and 'ambiguous-again'; keep one of them"
    )
    options = (("A", "The man"), ("B", "The woman"), ("C", UNKNOWN))
    named = reply(prompt, item=LoggedItem("again", f"{LATE}\n{WHO}", "", options))
    assert [*matched(twins, named).queries] == [("late", "ambiguous-again")]


@pytest.mark.parametrize(
    ("first", "other", "problem"),
    [
        ({"temperature": 0}, {"temperature": 1}, "temperature is 1, and 0 at log:1"),
        ({}, {"system": "Be kind."}, "system is 'Be kind.', and None at log:1"),
        ({"seed": 1, "top_p": 1}, {"seed": 2, "top_p": 1}, ""),
    ],
)
def test_contradictory_settings(
    folder: Path, first: Mapping[str, Any], other: Mapping[str, Any], problem: str
) -> None:
    people = ("The man", "The woman", UNKNOWN)
    replies = [
        reply(lettered(LATE, *people), settings=first),
        reply("Something else?", where="log:2", settings={"temperature": 9}),
        reply(lettered(TOLD, *people), where="log:3", settings=other),
    ]
    if problem:
        assert complaint(items(folder), *replies) == f"log:3: {problem}; judge replies with one setting"
    else:
        assert matched(items(folder), *replies).matched == 2
