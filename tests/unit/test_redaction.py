from __future__ import annotations

from pathlib import Path

import pytest

from pytest_factorfair.redaction import (
    conceal,
    conceal_keys,
    conceal_path,
    conceal_variable,
    concealed,
    fit,
    identified,
    redacted,
    secrets,
    shown_url,
    withheld,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain words", "plain words"),
        ("two\nlines\r\n and\ttabs ", "two lines and tabs"),
        ("\x1b[31mred\x00\x85\u2028end", "[31mred end"),
        ("key sk-proj-abc123DEF456 refused", "key *** refused"),
        ("key sk-ab***yz99 refused", "key *** refused"),
        ("hf_abcdefghijkl and gsk_abcdefghijkl", "*** and ***"),
        ("AIzaSyA1234567890abcdef", "***"),
        ("Authorization: Bearer abc.def", "Authorization: ***"),
        ("http://me:hunter2@proxy:3128 is down", "http://***@proxy:3128 is down"),
        ("a task-force, a risk-averse key", "a task-force, a risk-averse key"),
    ],
)
def test_fit(text: str, shown: str) -> None:
    assert fit(text) == shown


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the keys of other tests in this process."""
    monkeypatch.setattr("pytest_factorfair.redaction._registered", set())


def test_a_known_secret_is_removed_from_any_position() -> None:
    conceal("hunter2-key", "hunter2-key-2", "EMPTY")
    assert fit("xxhunter2-keyyy hunter2-key-2") == "xx***yy ***"
    assert concealed("hunter2-key, EMPTY  sk-proj-abc123DEF456\n") == "***, EMPTY  sk-proj-abc123DEF456\n"


@pytest.mark.parametrize(
    ("variable", "value", "hidden"),
    [
        ("ACME_API_KEY", "hunter2-key", True),
        ("HF_TOKEN", "hunter2/key", True),
        ("AWS_ACCESS_KEY_ID", "HUNTER2KEY", True),
        ("PGPASSWORD", "hunter2-key", True),
        ("ACME_API_KEY", "unspecified", False),  # a word
        ("ACME_API_KEY", "k1", False),
        ("SSH_KEY", "~/.ssh/id_rsa2", False),
        ("SSH_KEY", "/proc/1/environ", False),
        ("ACME_URL", "http://h:8000", False),
    ],
)
def test_keys_in_the_environment(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, *, hidden: bool
) -> None:
    monkeypatch.setenv(variable, value)
    assert concealed(f"told {value}") == ("told ***" if hidden else f"told {value}")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://h/sk-proj-abc123DEF456/v1", "https://h/***/v1"),
        ("https://h/v1/0a1b2c3d4e5f60718293", "https://h/v1/***"),
        ("https://h/123e4567-e89b-12d3-a456-426614174000/v1", "https://h/***/v1"),
        ("https://h/key_9f8e7d6c5b4a39281706/v1", "https://h/***/v1"),
        ("https://h/projects/my-project-123456/locations/us-central1/v1", None),
        ("https://h/openai/deployments/gpt-4o-mini-2024-07-18", None),
        ("https://h/accounts/fireworks/models/llama-v3p1-405b-instruct", None),
        ("https://h/compatible-mode/v1", None),
    ],
)
def test_keys_in_paths(url: str, shown: str | None) -> None:
    conceal_path(url)
    assert shown_url(url) == (shown or url)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Your key is sk-proj-abc123DEF456.", "Your key is ***."),
        ("Log in with ghp_abcdefghijklmnopqrstuvwxyz0123456789, please.", "Log in with ***, please."),
        ("Use github_pat_11ABCDEFG0abcdefghijkl_mnop", "Use ***"),
        ("Access key: AKIAIOSFODNN7EXAMPLE", "Access key: ***"),
        ("xoxb-1234567890-abcdefghij or glpat-abcdefghij1234567890", "*** or ***"),
        ("Token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc123def456", "Token ***"),
        ("password=0a1b2c3d4e5f60718293a4b5", "password=***"),
        ("Answer for people of 35 to 45 years in the 1990s, as gpt-4o-2024-08-06 would.", None),
        ("Name the key-takeaways of basic questions.", None),
    ],
)
def test_keys_in_sentences(text: str, shown: str | None) -> None:
    conceal_keys(text)
    assert concealed(text) == (shown or text)


@pytest.mark.parametrize(
    ("name", "is_key"),
    [
        ("OPENAI_API_KEY", False),
        ("PLANTED", False),
        ("KEY_2", False),
        ("HOME", False),
        ("hunter2planted", True),
        ("sk-abcdefghij", True),
        ("AKIA2345ABCD", True),
        ("0a1b2c3d4e5f60718293", True),
    ],
)
def test_keys_in_place_of_a_name(name: str, *, is_key: bool) -> None:
    conceal_variable(name)
    assert concealed(name) == ("***" if is_key else name)


def test_variables_that_are_set_are_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("my_provider_key", "x")
    conceal_variable("my_provider_key")
    assert concealed("my_provider_key") == "my_provider_key"


def test_identities_without_secrets_stay_as_they_are() -> None:
    """Identities without secrets are unchanged, because answers are stored under their hash."""
    identity = {"provider": "p", "system": None, "parameters": {"stop": ["a"], "temperature": 0}}
    assert identified(identity) is identity


def test_identities_differ_by_their_secrets() -> None:
    conceal("hunter2-key", "hunter3-key")
    earlier, later = (identified({"parameters": {"stop": [key]}}) for key in ("hunter2-key", "hunter3-key"))
    assert earlier["parameters"] == later["parameters"] == {"stop": ["***"]}
    assert earlier["withheld"] != later["withheld"]
    assert withheld(earlier) >= len("hunter2-key")
    assert "hunter" not in str((earlier, later))


def test_long_text_is_cut() -> None:
    assert fit("a" * 10_000_000) == "a" * 200 + "..."


S = "s3cr3t"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (f"http://h:8000/v1?api_key={S}", "http://h:8000/v1?***"),
        (f"http://h/v1#{S}", "http://h/v1#***"),
        (f"localhost:8000/v1?{S}", "localhost:8000/v1?***"),
        (f"http://u:{S}@h/v1", "http://***@h/v1"),
        (f"http:/u:{S}@h/v1", "http:/***@h/v1"),
        (f"u:{S}@h/v1", "u:***@h/v1"),
        (f"http://{S}@h", "http://***@h"),
        (f"postgresql://user:{S}@/db", "postgresql://***@/db"),
        (f"postgresql:/user:{S}@host", "postgresql:/***@host"),
        (f"postgresql:user:{S}@host", "postgresql:***@host"),
        (f"postgresql:///user:{S}@host", "postgresql:///***@host"),
        (f"postgresql://user:p@/:#?{S}@host/db", "postgresql://***@host/db"),
        (f"postgresql://user:my {S} '{S}@host/db", "postgresql://***@host/db"),
        (f"postgresql://host/db?password={S}&user=u", "postgresql://host/db?***"),
        ("https://api.example.com/v1", "https://api.example.com/v1"),
        ("sqlite:////home/me@work/responses.sqlite", "sqlite:////home/me@work/responses.sqlite"),
    ],
)
def test_shown_url(url: str, shown: str) -> None:
    assert shown_url(url) == shown
    if S in url and "://" in url and " " not in url:
        assert S not in redacted(f"the store '{url}': not good; give 'sqlite:///x', or (see '{url}').")


@pytest.mark.parametrize(
    "text",
    [
        "model 'sim:stereotyped?strengh=0.3': did you mean 'strength'?",
        "model 'litellm:vertex_ai/claude@20240620': no key: set the environment variable X",
        "detector 'fairface:x.onnx?faces=y.onnx': there is no file",
        "/home/me@work/test.py:12: expected a list, got 'a': b",
    ],
)
def test_ordinary_messages_stay_as_they_are(text: str) -> None:
    assert redacted(text) == text


def test_variables_may_disappear_while_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pytest deletes PYTEST_CURRENT_TEST after each test, while the loop's thread reads keys."""
    monkeypatch.setenv("FIRST_API_KEY", "abcdefgh1234")
    monkeypatch.setenv("LAST_API_KEY", "ijklmnop5678")

    def exists(_: Path) -> bool:
        monkeypatch.delenv("LAST_API_KEY", raising=False)
        return False

    monkeypatch.setattr(Path, "exists", exists)
    assert "abcdefgh1234" in secrets()
