from __future__ import annotations

from pytest_factorfair.domain import Exchange, Response, Usage
from tests.unit.engine.fakes import query


def exchange(response: Response | None, *, cached: bool = False, calls: int = 1) -> Exchange:
    return Exchange(query(0), "k", response, "" if response else "refused", cached, 0 if cached else calls)


def test_no_exchanges_cost_nothing() -> None:
    assert Usage.of([]) == Usage()


def test_every_call_counts_and_only_fresh_answers_are_paid_for() -> None:
    usage = Usage.of(
        [
            exchange(Response("A", tokens_in=100, tokens_out=5, cost=0.25)),
            exchange(Response("B", tokens_in=30, tokens_out=None, cost=0.5)),
            exchange(Response("C", tokens_in=999, tokens_out=999, cost=None), cached=True),
            exchange(None, calls=6),
        ],
    )
    assert usage == Usage(calls=8, cached=1, tokens_in=130, tokens_out=5, cost=0.75, retries=5)


def test_probes_are_paid_for() -> None:
    probe = Response("A", tokens_in=10, tokens_out=1, cost=0.5)
    answered = Exchange(
        query(0), "k", Response("B", tokens_in=100, tokens_out=2, cost=1.0), calls=3, probes=(probe, probe)
    )
    failed = Exchange(query(1), "l", None, "refused", calls=2, probes=(probe,))
    usage = Usage.of([answered, failed])
    assert usage == Usage(calls=5, cached=0, tokens_in=130, tokens_out=5, cost=2.5)


def test_one_unknown_cost_makes_the_sum_unknown() -> None:
    usage = Usage.of([exchange(Response("A", cost=0.25)), exchange(Response("B"))])
    assert usage == Usage(calls=2, cached=0, cost=None)
