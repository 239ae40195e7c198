from __future__ import annotations

import pytest

from pytest_factorfair.pictures import cards


@pytest.fixture
def codes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a simulated picture the codes of its cards; that cards are painted and read as such is tested elsewhere."""
    monkeypatch.setattr(cards, "paint", lambda *people, seed: repr((people, seed)).encode())
    monkeypatch.setattr(cards, "blank", lambda seed: repr(((), seed)).encode())
