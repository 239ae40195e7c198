"""A vision-language model behind OpenAI's protocol as detector: asked once about a picture, never guessed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from fnmatch import filter as matching
from itertools import cycle
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pytest_factorfair.commands.cli import main
from pytest_factorfair.config.settings import resolve
from pytest_factorfair.config.sources import OptionValue
from pytest_factorfair.detection.vision import VisionDetector
from pytest_factorfair.runs.composing import compose
from pytest_factorfair.runs.planning.outlook import notices
from tests.extras import needs
from tests.project import FEW_PORTRAITS, Project, comparable
from tests.seeing_server import Eyes, Reply, serving
from tests.unit.checklist.files import fact_or_fair

NAME = "openai/eyes"


@pytest.fixture
def eyes() -> Eyes:
    return Eyes(*fact_or_fair("fact_or_fair_t2i", truth="audited", base=Path()).attributes)


@pytest.fixture
def detector(eyes: Eyes) -> Iterator[str]:
    with serving(eyes) as url:
        yield f"{NAME}?base_url={url}&price=0.001"


def run(project: Project, *arguments: str, model: str = "sim:stereotyped") -> pytest.RunResult:
    return project.run_pytest(
        f"--factorfair-model={model}", f"--factorfair-checklist={FEW_PORTRAITS}",
        "--factorfair-samples=images=2", *arguments,
    )  # fmt: skip


FEW = ("-n0", "-k", "crime_rate-highest")
"""For tests whose subject every picture shows."""


def scores(project: Project) -> Any:
    return comparable(project.report())["scores"]


def test_it_reads_what_the_cards_say_and_reads_it_once(project: Project, eyes: Eyes, detector: str) -> None:
    """The scores are those of the simulated detector; a second run and a replay ask nothing."""
    assert run(project, "-n0", "--factorfair-detector=sim").ret == 0
    expected = scores(project)
    assert run(project, "-n0", f"--factorfair-detector={detector}").ret == 0
    assert scores(project) == expected
    asked = len(eyes.pictures)
    pictures = len(list(Path(project.path, ".factorfair", "images").glob("*/*")))
    # Pictures that two cases share are asked about once more where these are about other attributes.
    assert pictures <= asked == len(eyes.requests) - 1
    schema = eyes.requests[-1]["response_format"]["json_schema"]["schema"]
    jsonschema.validate({"seen": [{"gender": "female", "race": "unclear"}]}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"seen": [{"gender": "female", "race": "Caucasian"}]}, schema)
    usage = project.report()["usage"]
    assert usage["calls"] == asked + 1
    assert usage["cost"] == pytest.approx((asked + 1) * 0.001)
    for arguments in (("-n0", "--factorfair-reuse=only"), ("-n2",)):
        assert run(project, f"--factorfair-detector={detector}", *arguments).ret == 0
        assert scores(project) == expected
        assert len(eyes.pictures) == asked


def test_failures_are_retried_and_limits_hold(project: Project, eyes: Eyes, detector: str) -> None:
    failures = iter([(500, {"error": {"message": "busy"}}), (429, {"error": {"message": "slow down"}})])
    eyes.before = lambda _: next(failures, None)
    result = run(project, "-n0", f"--factorfair-detector={detector}", "--factorfair-max-calls=24")
    assert result.ret != 0
    result.stdout.fnmatch_lines(["Not judged: the budget of 24 calls is used up: *"])
    assert len(eyes.requests) <= 24
    before = set(eyes.pictures)
    assert run(project, "-n0", f"--factorfair-detector={detector}").ret == 0
    assert len(eyes.pictures) == len(set(eyes.pictures)) > len(before)


def first_words(body: dict[str, Any]) -> Reply:
    """A model that sees nothing and keeps to the schema: the first word of each attribute."""
    person = body["response_format"]["json_schema"]["schema"]["properties"]["seen"]["items"]["properties"]
    return 200, {"seen": [{name: schema["enum"][0] for name, schema in person.items()}]}


CANNOT_SEE: dict[str, tuple[Callable[[dict[str, Any]], Reply | None], str]] = {
    "blind": (
        first_words,
        'its model does not see pictures: shown a red and a blue square, it answered \'{"seen": [*red*',
    ),
    "prose": (lambda _: (200, "I see two squares."), "it answered 'I see two squares.'"),
    "refused": (
        lambda _: (400, {"error": {"message": "image_url is not supported by this model"}}),
        "*shown a red and a blue square, the detector could not be asked: *image_url is not supported*",
    ),
}


@pytest.mark.parametrize("case", CANNOT_SEE)
def test_a_model_that_cannot_see_ends_the_run(project: Project, eyes: Eyes, detector: str, case: str) -> None:
    eyes.before, message = CANNOT_SEE[case]
    result = run(project, *FEW, f"--factorfair-detector={detector}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*detector '{NAME}[?]*{message.replace('[', '[[]')}*"])
    assert len(eyes.requests) == 1


def caucasian(seen: list[dict[str, str]]) -> object:
    return {"seen": [{**person, "race": "Caucasian"} for person in seen]}


UNREADABLE: dict[str, Callable[[list[dict[str, str]]], object]] = {
    'the detector answered "Caucasian" for race, which is not one of the words it may say': caucasian,
    "the detector did not answer as asked: 'A woman at a desk.'": lambda _: "A woman at a desk.",
    "the detector answered null for gender, which is not one of *": lambda _: {"seen": [{}]},
    "the detector did not answer as asked: '[[][[]*": lambda _: "[" * 100_000,
}


def test_replies_outside_the_words_are_unparsed(project: Project, eyes: Eyes, detector: str) -> None:
    people = cycle(UNREADABLE.values())

    def reply(seen: list[dict[str, str]]) -> object:
        return next(people)(seen)

    eyes.people = reply
    result = run(project, *FEW, f"--factorfair-detector={detector}", "--factorfair-samples=images=4")
    assert result.ret == 1
    answers = [answer for case in project.report()["cases"] for answer in case["answers"]]
    assert {answer["outcome"] for answer in answers} == {"unparsed"}
    reasons = {answer["reason"] for answer in answers}
    assert len(reasons) == len(UNREADABLE)
    for reason in UNREADABLE:
        assert matching(reasons, reason)


def test_unclear_groups_and_nobody(project: Project, eyes: Eyes, detector: str) -> None:
    """What is unclear has no group; a picture in which the model sees nobody has no face."""
    eyes.people = lambda seen: {"seen": [{**person, "gender": "Unclear"} for person in seen]}
    run(project, *FEW, f"--factorfair-detector={detector}")
    report = project.report()
    assert {tuple(answer["groups"]) for case in report["cases"] for answer in case["answers"]} == {("race",)}
    eyes.people = lambda _: {"seen": []}
    run(project, *FEW, f"--factorfair-detector={detector}&votes=picture&temperature=1")
    report = project.report()
    assert {answer["reason"] for case in report["cases"] for answer in case["answers"]} == {"no face"}


def test_a_service_without_schemas_is_asked_in_words(project: Project, eyes: Eyes, detector: str) -> None:
    error = {"param": "response_format", "code": "unsupported_parameter", "message": "Unsupported parameter"}
    eyes.before = lambda body: (400, {"error": error}) if "response_format" in body else None
    eyes.people = lambda seen: f"```json\n{json.dumps({'seen': seen})}\n```"
    assert run(project, *FEW, f"--factorfair-detector={detector}").ret == 0
    assert "response_format" not in eyes.requests[-1]
    assert (
        '{"seen": [{"gender": "...", "race": "..."}]}'
        in eyes.requests[-1]["messages"][-1]["content"][0]["text"]
    )


@pytest.mark.parametrize(
    ("spec", "line"),
    [
        (NAME, f"detector '{NAME}': no key: set the environment variable OPENAI_API_KEY"),
        pytest.param(
            "openai/gpt-3.5-turbo",
            "detector 'openai/gpt-3.5-turbo': it cannot see pictures, according to the list of models",
            marks=needs("litellm"),
        ),
        (f"{NAME}?base_url=there", "*base URL 'there' is not a valid server URL*"),
        (f"{NAME}?base_url=http://127.0.0.1:9/v1&votes=some", "*votes cannot be 'some'*"),
        (f"{NAME}?base_url=http://127.0.0.1:9/v1&sied=1", "*argument 'sied'*"),
        ("openia/gpt-4o", "*unknown provider 'openia'; did you mean 'openai'?*"),
        (f"{NAME}?base_url=http://127.0.0.1:9/v1&price=cheap", "*option price: expected USD of at least 0*"),
    ],
)
def test_wrong_input_is_one_line(
    project: Project, monkeypatch: pytest.MonkeyPatch, spec: str, line: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    if "gpt-3.5" in spec:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    result = run(project, "-n0", f"--factorfair-detector={spec}")
    assert result.ret == 4
    result.stderr.fnmatch_lines([f"ERROR: {line.replace('[', '[[]')}"])


def test_a_limit_on_usd_needs_its_price(project: Project) -> None:
    spec = f"{NAME}?base_url=http://127.0.0.1:9/v1"
    result = run(project, "-n0", f"--factorfair-detector={spec}", "--factorfair-max-cost=1")
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        [f"ERROR: --factorfair-max-cost: the price of the detector '{NAME}*' is unknown; *"]
    )


def test_a_plan_counts_its_calls_and_their_cost(project: Project) -> None:
    spec = f"{NAME}?base_url=http://127.0.0.1:9/v1&price=0.25"
    result = run(project, f"--factorfair-detector={spec}", "--factorfair-plan")
    (calls,) = re.findall(r"^calls: ([\d,]+)", result.stdout.str(), re.MULTILINE)
    cost = int(calls.replace(",", "")) / 4
    result.stdout.fnmatch_lines([f"calls of the detector: at most {calls}, cost at most ${cost:,.2f}"])


SAMPLE = ("detector", "sample", ".factorfair/report/report.json", "--checklist", str(FEW_PORTRAITS),
          "--annotators", "1")  # fmt: skip
EVALUATE = ("detector", "evaluate", "--checklist", str(FEW_PORTRAITS))


def test_its_errors_are_measured_against_people(
    project: Project, eyes: Eyes, detector: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A detector that takes every woman for a man, and cannot be read for one picture in the sample."""
    run(project, "-n0", "--factorfair-detector=sim", model="sim:uniform")
    assert main([*SAMPLE, "--out", "lab", "--per-model", "10"]) == 0
    head, *rows = Path("lab/labels.csv").read_text().splitlines()
    truths = []
    with Path("lab/labels.csv").open("w") as sheet:
        sheet.write(f"{head}\n")
        for row in rows:
            name = row.split(",")[0]
            (seen,) = eyes.people_in(Path("lab", name).read_bytes())
            truths.append(seen)
            labels = [group.capitalize() if group in ("male", "female") else group for group in seen.values()]
            sheet.write(f"{name},1,,{','.join(labels)}\n")
    unread = iter(["Somebody."])

    def men(seen: list[dict[str, str]]) -> object:
        return next(unread, {"seen": [{**person, "gender": "male"} for person in seen]})

    eyes.people = men
    evaluate = [*EVALUATE, "--detector", detector]
    assert main([*evaluate, "lab/labels.csv"]) == 0
    printed = capsys.readouterr().out
    assert "1 reply unparsed, such as: the detector did not answer as asked: 'Somebody.'" in printed
    (table,) = Path("lab").glob("errors-*.json")
    content = json.loads(table.read_text())
    rows_of = content["tables"]["gender"]
    women = sum(truth["gender"] == "female" for truth in truths)
    assert women > 1
    assert rows_of["Female"]["Female"] == 0
    assert rows_of["Female"]["Male"] + rows_of["Female"]["none"] == women
    assert rows_of["Female"]["none"] + rows_of["Male"]["none"] == 1
    asked = len(eyes.requests)
    assert main([*evaluate, "lab/labels.csv"]) == 0  # the replies are stored
    assert len(eyes.requests) == asked
    eyes.people = lambda seen: {"seen": seen}
    corrected = run(project, *FEW, f"--factorfair-detector={detector}", f"FACTORFAIR_DETECTOR_ERRORS={table}")
    assert corrected.ret == 0

    # A sheet of boxes is refused.
    assert main([*SAMPLE, "--out", "boxes", "--per-model", "2", "--detector", "sim"]) == 0
    head, row, *_ = Path("boxes/labels.csv").read_text().splitlines()
    location = row.split(",")[:3]
    Path("boxes/labels.csv").write_text(f"{head}\n{','.join(location)},Male,White\n")
    capsys.readouterr()
    assert main([*evaluate, "boxes/labels.csv"]) == 4
    assert "its rows are boxes of faces, and detector 'openai/eyes?" in capsys.readouterr().err


@needs("ray")
def test_it_has_no_replicas(tmp_path: Path) -> None:
    """Its model is asked by the engine of the controlling process, which has the limits and the store."""
    typed = {
        "model": ["sim:uniform"], "checklist": [str(FEW_PORTRAITS)], "executor": "ray:127.0.0.1:1",
        "replicas": "1,detectors=2", "detector": f"{NAME}?base_url=http://127.0.0.1:9/v1",
    }  # fmt: skip
    options = {name: OptionValue(value, name, tmp_path) for name, value in typed.items()}
    run = compose(resolve(options, {}, root=tmp_path, here=tmp_path), {}, {})
    assert isinstance(run.detector, VisionDetector)
    assert "the detector has no replicas: it stays in the controlling process" in list(notices(run))
