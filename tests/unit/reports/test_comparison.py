"""A comparison of very many models: readable as text, as Markdown and as a page."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_factorfair.domain import Change
from pytest_factorfair.domain.board import Board, Certainty, Difference, Leaderboard, Standing, Succession
from pytest_factorfair.reports.html.comparison import to_html
from pytest_factorfair.reports.leaderboard import HOW, headline, to_brief, to_markdown, to_text

ROOT = Path(__file__).parents[3]
MODELS = tuple(f"vendor/a-model-with-a-long-name-and-a-<b>version</b>-{number:03}" for number in range(100))


def _found() -> Leaderboard:
    """Each model is a hundredth behind the one before, and all behind the first: by .01, .02 and so on."""
    standings = tuple(
        Standing(model, number + 1, 1 - number / 100, 0.99 - number / 100, min(1.01 - number / 100, 1.0),
                 "a" if number == 0 else "b", 2160, 3, 0, 0)
        for number, model in enumerate(MODELS)
    )  # fmt: skip
    differences = tuple(
        Difference(MODELS[0], model, number / 100, number / 100 - 0.005, number / 100 + 0.005, "real", 1.0)
        for number, model in enumerate(MODELS[1:], 1)
    )
    board = Board("checklist", "subjective", "base", "gender", "s_e", "higher", standings, differences)
    return Leaderboard(
        MODELS, tuple(f"report {number}: {number}.json" for number in range(100)), (board,), ()
    )


def test_text_of_a_hundred_models() -> None:
    text = to_text(_found())
    assert [line for line in text.splitlines() if len(line) > 80] == []
    unwrapped = " ".join(text.split())
    lead = f"{MODELS[0]} is among the best on 1 of 1 score. Its largest lead: it treats the groups more evenly than "
    assert unwrapped.startswith(f"{lead}{MODELS[-1]}, by 0.990 (0.985 to 0.995) [gender: S_E, base].")
    sentence = (
        f"gender: {MODELS[0]} treats the groups more evenly than {MODELS[1]} by 0.010 (0.005 to 0.015), "
    )
    assert sentence in unwrapped
    assert f"{MODELS[3]} by 0.030 (0.025 to 0.035) and 96 others [S_E, base]." in unwrapped
    ranks = re.findall(r"^(\d+) vendor", text, flags=re.MULTILINE)
    assert ranks == [str(rank) for rank in range(1, 101)]
    assert to_markdown(_found()).count("\n| 1") == 12  # 1, 10 to 19 and 100


def _brief(values: Mapping[str, float | None], *, doubts: Mapping[str, str] | None = None) -> list[str]:
    """The brief text on models with these values of S_E, with a reason for each whose value is in doubt."""
    doubts, models = doubts or {}, tuple(values)
    standings = tuple(
        Standing(model, None if value is None else rank, value, value, value, "a", 96, 0, 0, 0,
                 doubt=doubts.get(model, ""))
        for rank, (model, value) in enumerate(values.items(), 1)
    )  # fmt: skip
    certainty: Certainty = "unclaimed" if doubts else "noise"
    differences = (Difference(models[0], models[1], 0.0, -0.1, 0.1, certainty, 1.0),)
    board = Board("c", "subjective", "base", "gender", "s_e", "higher", standings, differences)
    signed = replace(board, metric="s_kld", better="neither")
    return to_brief(Leaderboard(models, (), (board, signed), ())).splitlines()


@pytest.mark.parametrize(
    ("values", "axis", "numbers"),
    [
        ((0.5, 0.499), "." * 14 + "ba" + "." * 14, ["0.500", "0.499"]),
        ((1.0, 0.0), "b" + "." * 28 + "a", ["1.000", "0.000"]),
        ((0.99, -0.25), "b" + "." * 28 + "a", ["0.990", "-0.250"]),  # an estimate without bias may be below 0
        ((0.2, None), "." * 6 + "a" + "." * 23, ["0.200", "-"]),
        ((0.2, 0.21), "." * 6 + "*" + "." * 23, ["0.200", "0.210"]),
    ],
)
def test_two_models_in_the_chart(values: tuple[float, float | None], axis: str, numbers: list[str]) -> None:
    lines = _brief(dict(zip("xy", values, strict=True)))
    row = next(line for line in lines if line.startswith("gender: S_E, base"))
    assert row.split()[3:] == [axis, *numbers]
    assert len(row) <= 80
    assert ("* = several models" in lines) == ("*" in axis)
    assert any(line.startswith("1 of 2 scores, 1 is best") for line in lines)  # the other has no better end
    assert "No difference is clear on 2 scores." in lines


def test_every_model_has_its_own_letter_in_the_chart_or_there_is_none() -> None:
    thirty = _brief({f"model{number}": number / 30 for number in range(30)})
    assert any("C = model28, D = model29" in line for line in thirty)
    row = next(line for line in thirty if line.startswith("gender: S_E, base"))
    assert row.split()[3:] == ["abcdefghijklmnopqrstuvwxyzABCD"]
    many = _brief({f"model{number}": number / 53 for number in range(53)})
    assert "A chart can show at most 52 models." in many
    assert not any(line.startswith("gender: S_E, base") for line in many)


def test_what_is_not_claimed_is_not_called_unclear() -> None:
    lines = _brief({"x": 0.9, "y": 0.1}, doubts=dict.fromkeys("xy", "12 answers are missing"))
    assert "No difference is clear on 0 scores." not in lines
    assert "Nothing is claimed on 2 scores." in lines


def _change(*, doubt: str = "") -> Change:
    return Change(
        "m", "c", "subjective", "base", "gender", "s_e", None, 0.9, 0.9, 0.0, -0.1, 0.1, 0.0, 96, doubt=doubt
    )


def test_a_step_that_cannot_be_judged_is_not_said_to_be_unchanged() -> None:
    changes = ((_change(),), (_change(doubt="12 answers are missing"),), (_change(), _change(doubt="few")))
    steps = tuple(
        Succession(f"report {number}", f"report {number + 1}", step) for number, step in enumerate(changes, 1)
    )
    assert list(headline(Leaderboard(("m",), (), (), steps))) == [
        "Nothing regressed from report 1 to report 2.",
        "From report 2 to report 3: no change of a score can be judged: 12 answers are missing.",
        "From report 3 to report 4: nothing regressed; 1 of 2 scores cannot be judged.",
    ]


def test_the_first_model_is_ahead_of_another_if_any_is() -> None:
    """B is ahead of C on one score and behind it on another; nothing is clear about A."""

    def board(metric: str, better: str, worse: str) -> Board:
        standings = tuple(Standing(model, 1, 0.9, 0.8, 1.0, "a", 96, 0, 0, 0) for model in "ABC")
        lead = Difference(better, worse, 0.1, 0.05, 0.15, "real", 1.0)
        return Board("c", "subjective", "base", "gender", metric, "higher", standings, (lead,))

    boards = (board("s_e", "B", "C"), board("s_kld", "C", "B"))
    first, lead = headline(Leaderboard(("A", "B", "C"), (), boards, ()))
    assert first == "B is among the best on 1 of 2 scores."
    assert (
        lead
        == "Its largest lead: it treats the groups more evenly than C, by 0.100 (0.050 to 0.150) [gender: S_E, base]."
    )


def test_the_rate_of_wrong_differences_is_the_one_that_was_measured() -> None:
    """The largest share of either kind of board in the table of docs/error_rates.md."""
    page = (ROOT / "docs" / "error_rates.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (?:two models differ|some of five models differ) .*$", page, flags=re.MULTILINE)
    assert len(rows) == 2
    largest = max(float(share) for row in rows for share in re.findall(r"([\d.]+) %", row))
    assert f"about 5 % of comparisons, up to about {largest:.0f} % in simulations" in HOW


def test_page_of_a_hundred_models() -> None:
    """Tables list all, charts both ends; the heading names a few."""
    page = to_html(_found())
    assert "<b>version" not in page
    assert "94 others" in re.sub(r"<[^>]+>", "", page[page.index("<h1>") : page.index("</h1>")])
    assert "Charts show the 15 first and the 15 last of 100 models; tables show all." in page
    values = page[page.index('id="values">') + len('id="values">') :]
    (drawn,) = json.loads(values[: values.index("</script>")])
    (figure,) = drawn["figures"]
    names = [row["name"] for row in figure["spec"]["data"]["values"]]
    assert names == [*MODELS[:15], *MODELS[-15:]]
    assert page.count('<tr><th scope="row"') == 300
