"""Pictures are stored before they count, and exchanges do not hold their bytes."""

from __future__ import annotations

from pathlib import Path

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.engine import Retry
from pytest_factorfair.store import Store
from tests import keeping
from tests.unit.engine.conftest import MakeEngine
from tests.unit.engine.fakes import FakeModel, queries

WAIT = 30
PNG = b"\x89PNG\r\n\x1a\n"


async def paint(request: Request) -> Response:
    return Response("", cost=0.0, image=PNG + request.prompt.encode())


async def scrawl(_: Request) -> Response:
    return Response("", image=b"<html>")


def test_exchange_names_the_picture_and_holds_no_bytes(make_engine: MakeEngine, store: Store) -> None:
    model = FakeModel(paint)
    exchanges = make_engine().submit(model, queries(3)).result(WAIT)
    for exchange in exchanges:
        assert exchange.response is not None
        assert exchange.response.image is None
        assert store.pictures.read(exchange.response.image_file) == PNG + exchange.query.prompt.encode()
    lines = {line["key"]: line for line in keeping.manifest(Path(store.pictures.location))}
    assert {key: line["seed"] for key, line in lines.items()} == {
        exchange.key: exchange.query.seed for exchange in exchanges
    }
    assert all(line["identity"] == model.identity for line in lines.values())


def test_only_the_picture_that_was_lost_is_asked_again(make_engine: MakeEngine, store: Store) -> None:
    model = FakeModel(paint)
    earlier = make_engine().submit(model, queries(3)).result(WAIT)
    response = earlier[1].response
    assert response is not None
    Path(store.pictures.location, response.image_file).unlink()
    later = make_engine().submit(model, queries(3)).result(WAIT)
    assert [exchange.cached for exchange in later] == [True, False, True]
    assert [exchange.response for exchange in earlier] == [exchange.response for exchange in later]
    third = make_engine(reuse="only").submit(model, queries(3)).result(WAIT)
    assert all(exchange.cached for exchange in third)
    assert len(model.asked) == 4


def test_bytes_that_are_no_picture_fail_only_their_query(
    make_engine: MakeEngine, store: Store, tmp_path: Path
) -> None:
    [bad] = make_engine(retry=Retry(attempts=1)).submit(FakeModel(scrawl), queries(1)).result(WAIT)
    assert (bad.response, bad.error) == (None, "the picture is not a PNG, JPEG or WebP (6 bytes)")
    [good] = make_engine().submit(FakeModel(paint), queries(1)).result(WAIT)
    assert good.response is not None
    assert not list(tmp_path.glob("images/*.partial-*"))
    assert store.count([good.key]) == 1
