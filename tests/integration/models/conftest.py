from __future__ import annotations

import pytest

from tests.integration.models.services import KEY


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


@pytest.fixture
def litellm_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the plugin sets it: its own table of prices, and no file of the folder."""
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    monkeypatch.setenv("LITELLM_MODE", "PRODUCTION")
