"""``factorfair doctor`` and ``factorfair list``, as a user types them; the server is real."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_factorfair import benchmarks
from pytest_factorfair.commands.cli import main
from pytest_factorfair.commands.common import loaded
from pytest_factorfair.commands.listing import LISTS
from pytest_factorfair.config.settings import PRESETS
from pytest_factorfair.models.openai_answers import QUESTIONS
from pytest_factorfair.runs.examination import Examination
from pytest_factorfair.store import Store
from tests import letter_servers, tiny_checkpoint
from tests.extras import needs
from tests.servers import StubServer, stub, stub_process

__all__ = ["stub", "stub_process"]  # fixtures


def examined(capsys: pytest.CaptureFixture[str], spec: str, *arguments: str, code: int = 0) -> dict[str, str]:
    """What ``doctor`` prints, by the first word of its lines."""
    options = (word for pair in arguments for word in ("--model-arg", pair))
    assert main(["doctor", spec, *options]) == code
    out, err = capsys.readouterr()
    assert not err
    return {name: text.strip() for name, _, text in (line.partition(" ") for line in out.splitlines())}


def test_a_server_that_does_all(stub: StubServer, capsys: pytest.CaptureFixture[str]) -> None:
    stub.script(server="vllm")
    prices = ("price_in=2", "price_out=10")
    observations = examined(capsys, "hosted_vllm/m", f"base_url={stub.base_url}", *prices)
    assert observations["model"] == f"hosted_vllm/m at {stub.base_url}"
    assert observations["reached"].startswith("yes, a reply took ")
    assert observations["readable"].startswith('yes: "{"answer": "')
    assert observations["format"] == "kept"
    assert observations["json"].startswith("yes: ")
    held = f"{letter_servers.MASS:.1%}"
    assert observations["probabilities"] == f"yes: the letters hold {held} of the probability"
    assert observations["price"] == "$2.00 in and $10.00 out per million tokens"
    assert observations["spent"].startswith(f"{stub.stats()['requests']} calls, ")


@pytest.mark.parametrize(("server", "shift"), [("caching", 0.02), ("batching", 0.03), ("vllm", 0)])
def test_a_server_whose_probabilities_depend_on_other_calls(
    stub: StubServer, capsys: pytest.CaptureFixture[str], server: str, shift: float
) -> None:
    before_others = 3 + 2 + 2 * QUESTIONS  # words, JSON and its probe; two probes; each question twice
    stub.script(server=server, held=before_others, crowd=QUESTIONS)
    observations = examined(capsys, "hosted_vllm/m", f"base_url={stub.base_url}")
    held = re.escape(f"yes: the letters hold {letter_servers.MASS:.1%} of the probability")
    shown = re.fullmatch(
        f"{held}(?:; one of 0.5 changes by about (.*) with other calls)?", observations["probabilities"]
    )
    assert shown is not None
    # A probability p changes by the shift, one of 0.5 by 1 / (4 p (1 - p)) times as much.
    assert shift <= float(shown[1] or 0) <= 4 * shift
    assert observations["spent"].startswith(f"{stub.stats()['requests']} calls, ")


def test_a_server_that_knows_words_alone(stub: StubServer, capsys: pytest.CaptureFixture[str]) -> None:
    stub.script(answer="The answer is B.")
    observations = examined(capsys, "hosted_vllm/m", f"base_url={stub.base_url}")
    assert observations["readable"] == 'yes: "The answer is B." is the answer B'
    assert observations["format"] == 'not kept, it asks for {"answer": "B"} and nothing else'
    assert observations["json"].startswith("no: ")
    assert observations["probabilities"].startswith("no: ")
    assert observations["price"].startswith("unknown; give --factorfair-model-arg price_in=USD")


def test_a_reply_that_nobody_can_read(stub: StubServer, capsys: pytest.CaptureFixture[str]) -> None:
    stub.script(answer="It depends.")
    observations = examined(capsys, "hosted_vllm/m", f"base_url={stub.base_url}", code=1)
    assert observations["readable"].startswith(
        'NO: "It depends." (names no option); try: ask for the letter alone'
    )


@pytest.mark.parametrize(
    ("status", "message"), [(401, "401"), (404, "404"), (503, "503")], ids=["key", "name", "overload"]
)
def test_a_server_that_refuses(
    stub: StubServer, capsys: pytest.CaptureFixture[str], status: int, message: str
) -> None:
    stub.script(fail=-1, status=status)
    observations = examined(capsys, "hosted_vllm/m", f"base_url={stub.base_url}", code=1)
    assert set(observations) == {"model", "reached", "spent"}
    assert observations["reached"].startswith("NO: ")
    assert message in observations["reached"]
    requests = stub.stats()["requests"]
    assert 1 <= requests <= 4
    assert observations["spent"].startswith(f"{requests} call")


@needs("transformers")
def test_a_base_model_writes_few_tokens(tmp_path: Path) -> None:
    """It need not end by itself: with this seed it writes on and on."""
    folder = tiny_checkpoint.write(tmp_path / "base", template=None, seed=1)
    checklist, cases = loaded("fact_or_fair", "audited")
    query = benchmarks.queries(checklist, next(iter(cases.values())), PRESETS["ci"].sampling)[0]
    progress: list[str] = []
    with Store.open(f"sqlite:///{tmp_path}/doctor.sqlite") as store:
        examination = Examination(f"transformers:{folder}", {}, checklist, query, store, {}, progress.append)
        written = {
            observation.name: examination.spent.tokens_out for observation in examination.observations()
        }
    assert written["reached"] == 64
    assert progress == ["asking in words", "asking for json", "asking for probabilities"]


def test_a_terminal_shows_what_is_asked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert main(["doctor", "sim:ideal"]) == 0
    assert [line for line in capsys.readouterr().err.split("\r\x1b[K") if line] == [
        "asking in words ...", "asking for json ...", "asking for probabilities ...",
    ]  # fmt: skip


@needs("transformers")
def test_arguments_of_text_are_no_obstacle_to_probabilities(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tiny_checkpoint.write(tmp_path)
    observations = examined(capsys, f"transformers:{folder}", "max_tokens=16", "temperature=0", code=1)
    assert re.fullmatch(
        r"yes: the letters hold [0-9.]+% of the probability; leave out max_tokens and temperature",
        observations["probabilities"],
    )


def test_a_provider_that_filters(stub: StubServer, capsys: pytest.CaptureFixture[str]) -> None:
    stub.script(choice={"finish_reason": "content_filter"}, message={"content": None})
    observations = examined(capsys, "hosted_vllm/m", f"base_url={stub.base_url}")
    filtered = "filtered by the provider, which counts as refused"
    assert (observations["readable"], observations["json"]) == (f'yes: "" is {filtered}', f"no: {filtered}")


def test_seeds(stub: StubServer, capsys: pytest.CaptureFixture[str]) -> None:
    stub.script(answer='{"answer": "A"}')
    url = f"base_url={stub.base_url}"
    observations = examined(capsys, "hosted_vllm/m", url, "temperature=0")
    assert observations["seed"] == "not needed: the temperature is 0"
    observations = examined(capsys, "hosted_vllm/m", url, "temperature=1")
    assert observations["seed"] == "two replies to one seed are the same"


def test_pictures(stub: StubServer, capsys: pytest.CaptureFixture[str]) -> None:
    observations = examined(capsys, "openai/gpt-image-1", f"base_url={stub.base_url}", "price=0.04")
    assert observations["readable"].startswith("yes: a picture of ")
    assert observations["price"] == "$0.04 per picture"
    assert not {"json", "probabilities", "format"} & observations.keys()
    stub.script(picture={"b64_json": "bm90IGEgcGljdHVyZQ=="})
    observations = examined(capsys, "openai/gpt-image-1", f"base_url={stub.base_url}", code=1)
    assert observations["reached"].startswith("NO: ")
    assert "picture" in observations["reached"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sim:idael"], "sim:idael"),
        (["sim:ideal", "--model-arg", "base_url"], "--model-arg base_url: expected KEY=VALUE"),
        (["openai/gpt-4o"], "no key: set the environment variable OPENAI_API_KEY"),
    ],
)
def test_wrong_input(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert main(["doctor", *arguments]) == 4
    out, err = capsys.readouterr()
    assert not out
    assert message in err
    assert err.count("\n") == 1


def test_a_respondent(capsys: pytest.CaptureFixture[str]) -> None:
    observations = examined(capsys, "sim:ideal")
    assert observations["price"] == "none"
    assert observations["probabilities"] == "yes: the letters hold 100.0% of the probability"
    assert observations["spent"] == "4 calls, $0.0000"


def test_a_model_of_the_conftest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "conftest.py").write_text(
        "from pytest_factorfair.models.callable import coerce\n\n"
        "def pytest_factorfair_models(config):\n"
        "    return {'acme': lambda spec: coerce(lambda prompt: '{\"answer\": \"B\"}', spec.text)}\n"
    )
    monkeypatch.chdir(tmp_path)
    assert examined(capsys, "acme:large")["readable"] == 'yes: "{"answer": "B"}" is the answer B'


def test_everything_that_can_be_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    parts = [line.removesuffix(":") for line in lines if line and not line.startswith(" ")]
    assert parts == list(LISTS)
    words = {line.split()[0] for line in lines if line.startswith("  ")}
    assert {"transformers:./my-checkpoint", "faintbench", "paper", "in_group", "s_kld", "part"} <= words
    assert {"sim:self_serving", "sim:KIND?when=valence:bad", "scenario", "first"} <= words


def test_one_list_of_one_checklist(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "metrics", "--checklist", "faintbench"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line[2] != " "]
    assert {"implicit", "explicit", "eta"} <= set(names)
    assert "s_e" not in names
    assert main(["list", "statistics", "--checklist", "fact_or_fair_eu"]) == 0
    assert "\n  unemployment_rate  " in capsys.readouterr().out
    assert main(["list", "contexts", "--checklist", "none.yaml"]) == 4
    assert capsys.readouterr().err == "there is no file none.yaml\n"


@pytest.mark.parametrize("word", ["lits", "LIST", "lst"])
def test_a_misspelt_command(capsys: pytest.CaptureFixture[str], word: str) -> None:
    assert main([word]) == 4
    message = f"factorfair: there is no command '{word}'; did you mean 'list'?\n"
    assert capsys.readouterr() == ("", message)


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == "0.1.0\n"
