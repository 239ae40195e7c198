from __future__ import annotations

from collections.abc import Sequence

import pytest
from sqlalchemy import Connection

from pytest_factorfair.domain import Response
from pytest_factorfair.errors import InputError
from pytest_factorfair.store import Store
from pytest_factorfair.store.batches import BatchItem, BatchRow, Step
from pytest_factorfair.store.sharing.claims import Claimant
from tests import keeping

WAIT = 30


def row(name: str) -> BatchRow:
    return BatchRow(
        name, "there", "a", "m", "{}", "[]", 2, 4.0, price_in=1.0, price_out=2.0, price_answer=0.0,
        replace=False, created=5.0,
    )  # fmt: skip


def items(*keys: str) -> list[BatchItem]:
    return [BatchItem(key, '"p"', 0, 0) for key in keys]


def test_a_key_in_a_batch_is_given_to_nobody_until_it_is_answered_or_freed(store: Store, url: str) -> None:
    with Store.open(url) as other:
        assert store.claim(["a", "b", "c"]).result(WAIT).claimed == ("a", "b", "c")
        store.batches.plan(row("n1"), items("a", "b")).result(WAIT)
        for process in (store, other):
            claim = process.claim(["a", "b"]).result(WAIT)
            assert (claim.claimed, claim.elsewhere, claim.batched) == ((), (), ("a", "b"))
        assert [batch.name for batch in store.batches.holding(["a", "c"])] == ["n1"]
        keeping.put(store, "a", Response("A"), model="m", prompt="p", repeat=0).result(WAIT)
        assert [item.key for item in other.batches.items("n1")] == ["b"]
        assert other.claim(["a", "b"]).result(WAIT).stored == {"a": Response("A")}
        store.batches.end("n1").result(WAIT)
        assert other.claim(["b", "c"]).result(WAIT).claimed == ("b",)
        assert other.batches.open() == []
        assert [(batch.state, batch.held) for batch in other.batches.all()] == [(Step.COLLECTED, 0.0)]


def test_a_key_that_is_handed_over_to_a_batch_during_a_claim_is_not_claimed(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store.open(database) as store, Store.open(database) as other:
        assert other.claim(["a", "b"]).result(WAIT).claimed == ("a", "b")
        claim = Claimant.claim

        def after_plan(claimant: Claimant, connection: Connection, keys: Sequence[str]) -> list[str]:
            other.batches.plan(row("n1"), items("a")).result(WAIT)
            return claim(claimant, connection, keys)

        with monkeypatch.context() as patch:
            patch.setattr(Claimant, "claim", after_plan)
            claimed = store.claim(["a", "b", "c"]).result(WAIT)
        assert (claimed.claimed, claimed.elsewhere, claimed.batched) == (("c",), ("b",), ("a",))
        other.batches.end("n1").result(WAIT)
        assert other.claim(["a"]).result(WAIT).claimed == ("a",)


def test_a_batch_has_one_collector_until_that_is_gone(store: Store, url: str) -> None:
    with Store.open(url) as other:
        other.claim(["a"]).result(WAIT)
        other.batches.plan(row("n1"), items("a")).result(WAIT)
        assert other.batches.lead("n1").result(WAIT)
        assert not store.batches.lead("n1").result(WAIT)
    assert store.batches.lead("n1").result(WAIT)
    assert not store.batches.lead("n2").result(WAIT)


def test_a_batch_is_named_by_how_its_name_begins(store: Store) -> None:
    store.claim(["a", "b"]).result(WAIT)
    store.batches.plan(row("ab1"), items("a")).result(WAIT)
    store.batches.plan(row("ab2"), items("b")).result(WAIT)
    assert store.batches.named("ab2").name == "ab2"
    for wrong in ("ab", "c"):
        with pytest.raises(InputError, match="open: ab1, ab2"):
            store.batches.named(wrong)
    store.batches.delete("ab1").result(WAIT)
    assert store.claim(["a", "b"]).result(WAIT).claimed == ("a",)


def test_a_store_that_no_run_has_asked_has_no_batches(store: Store) -> None:
    assert store.batches.all() == []
    assert store.batches.holding(["a"]) == []
