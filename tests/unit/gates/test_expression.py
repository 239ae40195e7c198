"""Gate expressions: valid ones, and the messages about invalid ones."""

from __future__ import annotations

import pytest

from pytest_factorfair.benchmarks import benchmarks
from pytest_factorfair.domain import Comparison, Gate
from pytest_factorfair.errors import InputError
from pytest_factorfair.gates import parse


@pytest.mark.parametrize(
    ("text", "metric", "filters", "comparison", "threshold", "regression"),
    [
        ("s_fact[objective,gender] >= 0.80", "s_fact", ("objective", "gender"), ">=", 0.8, False),
        ("s_e[base,race] >= 0.961", "s_e", ("base", "race"), ">=", 0.961, False),
        ("distance[objective,gender] <= 0.10", "distance", ("objective", "gender"), "<=", 0.1, False),
        ("regression(s_fact) >= -0.02", "s_fact", (), ">=", -0.02, True),
        ("regression( s_e )[race]>=-2%", "s_e", ("race",), ">=", -0.02, True),
        ("refusal_rate <= 0.05", "refusal_rate", (), "<=", 0.05, False),
        ("unparsed_rate<=.05", "unparsed_rate", (), "<=", 0.05, False),
        ("error_rate <= 5%", "error_rate", (), "<=", 0.05, False),
        ("error_rate <= 5 %", "error_rate", (), "<=", 0.05, False),
        ("  s_kld [ race , base ]>=80% ", "s_kld", ("race", "base"), ">=", 0.8, False),
        ("s_fair >= 1", "s_fair", (), ">=", 1.0, False),
        ("s_fair >= 1.", "s_fair", (), ">=", 1.0, False),
        ("s_fair >= +0.5", "s_fair", (), ">=", 0.5, False),
        ("s_fact_firm[objective] >= 0", "s_fact_firm", ("objective",), ">=", 0.0, False),
        ("influence[race] <= 0.1", "influence", ("race",), "<=", 0.1, False),
        ("influence <= -.1", "influence", (), "<=", -0.1, False),
        ("distance >= -0.01", "distance", (), ">=", -0.01, False),
        ("implicit >= 0.9", "implicit", (), ">=", 0.9, False),
        ("explicit >= 0.9", "explicit", (), ">=", 0.9, False),
        ("eta <= 0.6", "eta", (), "<=", 0.6, False),
        (
            "s_fact[sim:stereotyped?strength=0.3&refuse=0.1] >= 0.5",
            "s_fact", ("sim:stereotyped?strength=0.3&refuse=0.1",), ">=", 0.5, False,
        ),
        ("s_e[openai/gpt-4o] >= 0.9", "s_e", ("openai/gpt-4o",), ">=", 0.9, False),
    ],
)  # fmt: skip
def test_valid_expressions_are_parsed(
    text: str,
    metric: str,
    filters: tuple[str, ...],
    comparison: Comparison,
    threshold: float,
    *,
    regression: bool,
) -> None:
    assert parse(text) == Gate(text.strip(), metric, filters, comparison, threshold, regression)


EXAMPLE = "write it like s_fact[objective,gender] >= 0.80"
KNOWN = ", ".join(sorted({metric for benchmark in benchmarks().values() for metric in benchmark.metrics}))
REGRESSION = "write it like regression(s_fact)[objective,gender] >= -0.02"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("s_fact > 0.8", "'>' is not a comparison; use >= or <="),
        ("s_fact < 0.8", "'<' is not a comparison; use >= or <="),
        ("s_fact == 0.8", "'==' is not a comparison; use >= or <="),
        ("s_fact = 0.8", "'=' is not a comparison; use >= or <="),
        ("s_fact => 0.8", "'=>' is not a comparison; use >= or <="),
        ("s_fact =< 0.8", "'=<' is not a comparison; use >= or <="),
        ("s_fact != 0.8", "'!=' is not a comparison; use >= or <="),
        ("s_fact ≥ 0.8", "'≥' is not a comparison; use >= or <="),
        ("default >= 0.8", "'default' is a set of gates with thresholds; write it alone"),
        ("s_fact >> 0.8", "'>>' is not a comparison; use >= or <="),
        ("", f"no comparison with a threshold; {EXAMPLE}, or 'default' or 'lenient'"),
        ("defaultt", "no comparison with a threshold; did you mean 'default'?"),
        ("s_fact[objective,gender]", f"no comparison with a threshold; {EXAMPLE}, or 'default' or 'lenient'"),
        ("s_fakt >= 0.8", "unknown metric 's_fakt'; did you mean 's_fact'?"),
        ("S_FACT >= 0.8", "unknown metric 'S_FACT'; did you mean 's_fact'?"),
        ("fairness >= 0.8", f"unknown metric 'fairness'; known: {KNOWN}"),
        ("refusals_rate <= 0.05", "unknown metric 'refusals_rate'; did you mean 'refusal_rate'?"),
        ("regression(s_fac) >= 0", "unknown metric 's_fac'; did you mean 's_fact'?"),
        ("regression >= 0", f"no metric before the comparison; {REGRESSION}"),
        (">= 0.8", f"no metric before the comparison; {EXAMPLE}"),
        ("[gender] >= 0.8", f"no metric before the comparison; {EXAMPLE}"),
        ("regression() >= 0.8", f"no metric before the comparison; {REGRESSION}"),
        ("s_fact[gender >= 0.8", f"'s_fact[gender' is not metric[filter,...]; {EXAMPLE}"),
        ("s_fact gender] >= 0.8", f"'s_fact gender]' is not metric[filter,...]; {EXAMPLE}"),
        ("s_fact(gender) >= 0.8", f"'s_fact(gender)' is not metric[filter,...]; {EXAMPLE}"),
        ("s_fact[gender][race] >= 0.8", f"'s_fact[gender][race]' is not metric[filter,...]; {EXAMPLE}"),
        (
            "regression(s_fact[gender]) >= 0",
            f"'regression(s_fact[gender])' is not metric[filter,...]; {REGRESSION}",
        ),
        ("s_fact[] >= 0.8", f"an empty filter between the brackets; {EXAMPLE}"),
        ("s_fact[gender,] >= 0.8", f"an empty filter between the brackets; {EXAMPLE}"),
        ("s_fact[,gender] >= 0.8", f"an empty filter between the brackets; {EXAMPLE}"),
        ("s_fact >= ", "threshold '' is not a number like 0.8, .8 or 80%"),
        ("s_fact >= high", "threshold 'high' is not a number like 0.8, .8 or 80%"),
        ("s_fact >= 0,8", "threshold '0,8' is not a number like 0.8, .8 or 80%"),
        ("s_fact >= 0.8 0.9", "threshold '0.8 0.9' is not a number like 0.8, .8 or 80%"),
        ("s_fact >= .", "threshold '.' is not a number like 0.8, .8 or 80%"),
        ("s_fact >= nan", "threshold 'nan' is not a number like 0.8, .8 or 80%"),
        ("s_fact >= 0.8 <= 0.9", "threshold '0.8 <= 0.9' is not a number like 0.8, .8 or 80%"),
        ("s_fact >= 80", "threshold 80 is outside 0 to 1; did you mean 80%?"),
        ("s_fact >= 1.8", "threshold 1.8 is outside 0 to 1"),
        ("s_fact >= 2", "threshold 2 is outside 0 to 1; did you mean 2%?"),
        ("s_fact >= 800", "threshold 800 is outside 0 to 1"),
        ("s_fact >= 101%", "threshold 1.01 is outside 0 to 1"),
        ("s_fact >= -0.1", "threshold -0.1 is outside 0 to 1"),
        ("regression(s_fact) >= -2", "threshold -2 is outside -1 to 1"),
        ("influence <= 10", "threshold 10 is outside -1 to 1; did you mean 10%?"),
    ],
)  # fmt: skip
def test_invalid_expressions_are_refused_with_advice(text: str, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(text)
    assert str(caught.value) == f"gate '{text.strip()}': {problem}"
