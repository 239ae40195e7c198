"""Wrong input: one clear line, exit code 4, nothing asked, nothing written."""

from __future__ import annotations

import pytest

from tests.project import Project

MODEL = "--factorfair-model=sim:uniform"
T2I = "--factorfair-checklist=fact_or_fair_t2i"

BAD: dict[str, tuple[list[str], str]] = {
    "model scheme": (["--factorfair-model=simm:uniform"], "*unknown scheme 'simm'; did you mean 'sim'?"),
    "respondent": (["--factorfair-model=sim:unifrom"], "*'unifrom'*did you mean 'uniform'?"),
    "respondent option": (["--factorfair-model=sim:stereotyped?strengh=0.3"], "*'strengh'*did you mean 'strength'?"),
    "respondent range": (["--factorfair-model=sim:stereotyped?strength=3"], "*strength*3*"),
    "missing key": (["--factorfair-model=openai/gpt-4o"], "*OPENAI_API_KEY*"),
    "no provider": (["--factorfair-model=gpt-4o"], "*openai/gpt-4o*"),
    "checkpoint": (["--factorfair-model=transformers:./nowhere"], "*./nowhere*"),
    "python module": (["--factorfair-model=python:no_such_module:ask"], "*no_such_module*"),
    "replay file": (["--factorfair-model=replay:none.jsonl"], "*none.jsonl*"),
    "argument": ([MODEL, "--factorfair-model-arg=temperature"], "--factorfair-model-arg: expected KEY=VALUE, got 'temperature'"),
    "twins": ([MODEL, "--factorfair-model=sim:uniform?"], "models 'sim:uniform' and 'sim:uniform*' would both be called 'sim-uniform' *"),
    "same model": ([MODEL, MODEL], "--factorfair-model: 'sim:uniform' is named twice: name it once"),
    "no model": (["--factorfair-model="], "--factorfair-model: expected SPEC, got nothing: the model under test (repeatable): openai/gpt-4o, *"),
    "blank model": (["FACTORFAIR_MODEL= "], "FACTORFAIR_MODEL: expected SPEC, got nothing: the model under test *"),
    "no model in a list": (["FACTORFAIR_MODEL=;"], "FACTORFAIR_MODEL: expected SPEC, got nothing: the model under test *"),
    "blank checklist": ([MODEL, "FACTORFAIR_CHECKLIST= "], "FACTORFAIR_CHECKLIST: expected NAME|PATH, got nothing: *"),
    "blank gate": ([MODEL, "FACTORFAIR_GATE=\n"], "FACTORFAIR_GATE: expected EXPR, got nothing: a threshold *"),
    "name of a run": ([MODEL, "--factorfair-run=../x y"], "--factorfair-run: expected letters, digits, '.', '_' and '-', got '../x y'"),
    "checklist folder": ([MODEL, "--factorfair-checklist=."], ". is a folder: name a checklist in it, such as own.yaml"),
    "checklist": ([MODEL, "--factorfair-checklist=fact_or_fiar"], "*fact_or_fiar*did you mean 'fact_or_fair'?*"),
    "checklist file": ([MODEL, "--factorfair-checklist=./none.yaml"], "*none.yaml*"),
    "preset": ([MODEL, "--factorfair-preset=cii"], "--factorfair-preset: unknown value 'cii'; did you mean 'ci'?"),
    "design": ([MODEL, "FACTORFAIR_DESIGN=balance"], "FACTORFAIR_DESIGN: *did you mean 'balanced'?"),
    "truth": ([MODEL, "FACTORFAIR_TRUTH=audit"], "*audit*audited*"),
    "samples 0": ([MODEL, "--factorfair-samples=0"], "--factorfair-samples: *from 1 to 100,000, got '0'"),
    "samples negative": ([MODEL, "--factorfair-samples=-3"], "--factorfair-samples: *from 1 to 100,000, got '-3'"),
    "samples too many": ([MODEL, "--factorfair-samples=99999999999999"], "--factorfair-samples: *from 1 to 100,000, got '99999999999999'"),
    "samples of 5,000 digits": ([MODEL, f"--factorfair-samples={'9' * 5000}"], "--factorfair-samples: *from 1 to 100,000, got '9999*"),
    "samples twice": ([MODEL, "--factorfair-samples=24,24"], "--factorfair-samples: 'N' is given twice in '24,24'"),
    "objective twice": ([MODEL, "--factorfair-samples=24,objective=2,objective=4"], "--factorfair-samples: 'objective' is given twice in '24,objective=2,objective=4'"),
    "shard of 5,000 digits": ([MODEL, f"--factorfair-shard=1/{'9' * 5000}"], "--factorfair-shard: expected I/N, such as 2/8, or auto, got *"),
    "more calls than a store can count": ([MODEL, "--factorfair-max-calls=2147483648"], "--factorfair-max-calls: expected a whole number of at most 2,147,483,647, got '2147483648'"),
    "port of 5,000 digits": ([MODEL, f"--factorfair-executor=ray:host:{'9' * 5000}"], "--factorfair-executor: expected local, ray or ray:HOST:PORT, got *"),
    "samples word": ([MODEL, "--factorfair-samples=72,objectiv=3"], "*unknown size 'objectiv'; did you mean 'objective'?"),
    "samples of pictures": ([MODEL, "--factorfair-samples=images=4"], "--factorfair-samples: checklist 'fact_or_fair' asks for text; give N or objective=N"),
    "samples of text": ([MODEL, T2I, "--factorfair-samples=24"], "--factorfair-samples: checklist 'fact_or_fair_t2i' asks for pictures; give images=N"),
    "seed": ([MODEL, "--factorfair-seed=x"], "--factorfair-seed: expected a whole number, got 'x'"),
    "connections": ([MODEL, "--factorfair-max-connections=0"], "--factorfair-max-connections: expected a whole number of at least 1, got '0'"),
    "calls": ([MODEL, "--factorfair-max-calls=-1"], "--factorfair-max-calls: expected a whole number of at least 1, got '-1'"),
    "cost": ([MODEL, "--factorfair-max-cost=nan"], "--factorfair-max-cost: expected a number above 0, got 'nan'"),
    "minutes": ([MODEL, "--factorfair-max-minutes=inf"], "--factorfair-max-minutes: expected a number above 0, got 'inf'"),
    "rate": ([MODEL, "--factorfair-max-rpm=0"], "--factorfair-max-rpm: expected a whole number of at least 1, got '0'"),
    "gate metric": ([MODEL, "--factorfair-gate=s_fct >= 0.8"], "*'s_fct'*did you mean 's_fact'?"),
    "gate filter": ([MODEL, "--factorfair-gate=s_fact[objektive] >= 0.8"], "*'objektive'*did you mean 'objective'?"),
    "gate shape": ([MODEL, "--factorfair-gate=s_fact > 0.8"], "*s_fact > 0.8*>=*"),
    "gate of images": ([MODEL, "--factorfair-gate=implicit >= 0.8"], "*no checklist of this run measures implicit*"),
    "gate of a baseline": ([MODEL, "--factorfair-gate=regression(s_fact) >= -0.02"], "*regression(s_fact)*baseline*"),
    "detector": ([MODEL, "--factorfair-detector=sim"], "--factorfair-detector sim: a detector reads pictures*"),
    "text and image": ([MODEL, "--factorfair-checklist=fact_or_fair", T2I], "checklist 'fact_or_fair' asks for text, 'fact_or_fair_t2i' for pictures: run one after the other"),
    "text model, image checklist": (["--factorfair-model=transformers:./nowhere", T2I], "*transformers:./nowhere*pictures*"),
    "image model, text checklist": (["--factorfair-model=images:.", "--factorfair-checklist=fact_or_fair"], "*images:.*"),
    "no detector": (["--factorfair-model=python:json:dumps", T2I], "model 'python:json:dumps': its pictures need a detector; give --factorfair-detector fairface:FILE[?]faces=FILE"),
    "unknown detector": ([MODEL, T2I, "--factorfair-detector=fairfase:x"], "detector 'fairfase:x': *'fairface'*"),
    "detector file": ([MODEL, T2I, "--factorfair-detector=fairface:x.onnx"], "detector 'fairface:x.onnx': there is no file 'x.onnx' in *"),
    "detector option": ([MODEL, T2I, "--factorfair-detector=sim?flipp=1"], "*'flipp'; did you mean 'flip'?"),
    "trait of text": (["--factorfair-model=sim:position_biased", T2I], "*pictures have no letters*"),
    "reasons of pictures": ([MODEL, T2I, "--factorfair-explain"], "--factorfair-explain: a picture gives no reason; leave the option out"),
    "letters of pictures": ([MODEL, T2I, "--factorfair-answers=json"], "--factorfair-answers: a picture has no letters; leave the option out"),
    "reasons and probabilities": ([MODEL, "--factorfair-explain", "--factorfair-answers=probabilities"], "--factorfair-explain needs replies in words, and --factorfair-answers asks for probabilities: give one"),
    "answers of a function": (["--factorfair-model=python:json:dumps", "--factorfair-answers=json"], "model 'python:json:dumps' cannot answer as json: leave --factorfair-answers out"),
    "default gates of prompts": (
        [MODEL, "--factorfair-checklist=faintbench", "--factorfair-gate=default"],
        "gate 'default': only rates of lost answers are recommended for 'faintbench' without a former run; *--factorfair-baseline*",
    ),
    "detector errors": ([MODEL, "FACTORFAIR_DETECTOR_ERRORS=e.json"], "FACTORFAIR_DETECTOR_ERRORS *e.json: checklist 'fact_or_fair' asks language models, which need no detector; leave the option out"),
    "report folder": ([MODEL, "--factorfair-report=/proc/here"], "--factorfair-report /proc/here: cannot write there: *"),
    "store url": ([MODEL, "--factorfair-store=postgresql:host/db"], "--factorfair-store: expected a file, a folder or a URL such as *, got 'postgresql:host/db'"),
    "store database": ([MODEL, "--factorfair-store=oracel://x/y"], "*oracel*"),
    "pictures nowhere": ([MODEL, T2I, "--factorfair-pictures=ftp://x/y"], "--factorfair-pictures: expected a folder, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX, az://BUCKET/PREFIX, got 'ftp://x/y'"),
    "pictures without a bucket": ([MODEL, "--factorfair-pictures=s3://"], "--factorfair-pictures: expected s3://BUCKET/PREFIX, got 's3://'; *"),
    "a key for pictures": ([MODEL, "--factorfair-pictures=s3://key:word@bucket"], "--factorfair-pictures: expected s3://BUCKET/PREFIX, got 's3://[*][*][*]@bucket'; credentials come from the environment"),
    "a gate in a tiny run": ([MODEL, "--factorfair-preset=tiny", "--factorfair-samples=72", "--factorfair-gate=default"], "--factorfair-gate and --factorfair-preset: preset tiny is too small to judge a gate; take preset ci, or leave the gates out"),
    "age": ([MODEL, "--factorfair-reuse=7d 2h"], "--factorfair-reuse: expected all, none, only, or an age such as 12h, 7d or 2w, got '7d 2h'"),
    "shard and reuse": ([MODEL, "--factorfair-shard=1/2", "--factorfair-reuse=only"], "--factorfair-shard asks a part, and --factorfair-reuse nothing: give one"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_one_clear_line(project: Project, case: str) -> None:
    arguments, expected = BAD[case]
    result = project.run_pytest("-p", "no:cacheprovider", "-p", "no:xdist", *arguments)
    assert result.ret == 4
    messages = [line for line in result.errlines if line]
    assert len(messages) == 1, messages
    result.stderr.fnmatch_lines([f"ERROR: {expected}"])
    assert not list(project.path.glob(".factorfair/*.sqlite"))


def test_the_same_line_before_a_worker_starts(project: Project) -> None:
    result = project.run("-n2", "--factorfair-preset=cii")
    assert result.ret == 4
    assert [line for line in result.errlines if line] == [
        "ERROR: --factorfair-preset: unknown value 'cii'; did you mean 'ci'?"
    ]


def test_a_checklist_of_which_nothing_is_asked(project: Project) -> None:
    """The preset smoke asks for characteristics alone."""
    project.write(
        "chef.yaml", "extends: faintbench\nname: chef\nonly: {occupations: chef, characteristics: []}\n"
    )
    result = project.run_pytest(MODEL, "--factorfair-checklist=chef.yaml", "--factorfair-preset=smoke")
    assert result.ret == 4
    assert [line for line in result.errlines if line] == [
        "ERROR: checklist 'chef' has nothing that preset smoke asks"
    ]


def test_an_unknown_base_is_reported_with_the_line_that_names_it(project: Project) -> None:
    project.write("own.yaml", "name: own\nextends: nope\n")
    result = project.run_pytest(MODEL, "--factorfair-checklist=own.yaml")
    assert result.ret == 4
    result.stderr.fnmatch_lines(
        ["ERROR: *own.yaml:2: extends: no shipped checklist is called 'nope'; known: *"]
    )


def test_an_unknown_option_is_pytests_own_error(project: Project) -> None:
    assert project.run_pytest(MODEL, "--factorfair-modell=x").ret == 4


@pytest.mark.parametrize(
    ("typed", "key", "toml", "variable"),
    [
        ("--factorfair-looks=3", "looks", "3", "FACTORFAIR_LOOKS=3"),
        ("--factorfair-design=paper", "design", '"paper"', "FACTORFAIR_DESIGN=paper"),
        ("--factorfair-design paper", "design", '"paper"', "FACTORFAIR_DESIGN=paper"),
        ("--factorfair-undecided", "undecided", '"fail|warn"', "FACTORFAIR_UNDECIDED=fail|warn"),
        ("--factorfair-warm", "warm", "true", "FACTORFAIR_WARM=true"),
        ("--factorfair-detector-errors=e.json", "detector_errors", '"e.json"', "FACTORFAIR_DETECTOR_ERRORS=e.json"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("model", [(MODEL,), ()])
def test_a_setting_is_no_option(
    project: Project, typed: str, key: str, toml: str, variable: str, model: tuple[str, ...]
) -> None:
    result = project.run_pytest(*model, *typed.split())
    assert result.ret == 4
    (line,) = filter(None, result.errlines)
    table = "[tool.factorfair] of pyproject.toml"
    assert line == f"ERROR: {key} is a setting: write {key} = {toml} in {table}, or set {variable}"


def test_help_shows_few_options_in_three_groups(project: Project) -> None:
    result = project.run_pytest("--help")
    lines = result.outlines
    titles = [line for line in lines if line.startswith("factorfair: ")]
    assert titles == ["factorfair: what to test:", "factorfair: limits and storage:", "factorfair: reports:"]
    assert sum(line.startswith("  --factorfair-") for line in lines) == 28


PYPROJECT: dict[str, tuple[str, str]] = {
    "unknown key": ('gates = ["x"]', "*unknown key 'gates'; did you mean 'gate'?"),
    "model": ('model = "sim:uniform"', "*a plain pytest must not start a paid run*"),
    "type": ("gate = 3", "*gate: expected a list of texts, got 3"),
    "syntax": ("gate = [", "*pyproject.toml: *"),
    "gate": ('gate = ["s_fct >= 1"]', "*'s_fct'*did you mean 's_fact'?"),
}


@pytest.mark.parametrize("case", PYPROJECT)
def test_pyproject(project: Project, case: str) -> None:
    text, expected = PYPROJECT[case]
    project.write("pyproject.toml", f"[tool.factorfair]\n{text}\n")
    project.write("pytest.ini", "[pytest]\n")
    result = project.run_pytest(MODEL)
    assert result.ret == 4
    assert len([line for line in result.errlines if line]) == 1
    result.stderr.fnmatch_lines([f"ERROR: {expected}"])


@pytest.mark.parametrize(
    ("arguments", "name", "advice"),
    [
        ([MODEL], "FACTORFAIR_GATES", "did you mean 'FACTORFAIR_GATE'?"),
        ([MODEL], "FACTORFAIR_REPLAY", "FACTORFAIR_REUSE=only replaces it"),
        ([MODEL], "FACTORFAIR_HOME", "unset it"),
        ([], "FACTORFAIR_MODLE", "did you mean 'FACTORFAIR_MODEL'?"),
    ],
)
def test_a_variable_of_no_option_is_an_error(
    project: Project, monkeypatch: pytest.MonkeyPatch, arguments: list[str], name: str, advice: str
) -> None:
    monkeypatch.setenv(name, "secret")
    result = project.run_pytest(*arguments)
    assert result.ret == 4
    (line,) = filter(None, result.errlines)
    assert line == f"ERROR: {name}: there is no such variable; {advice}"


def test_an_unknown_variable_is_no_concern_of_a_run_without_a_model(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FACTORFAIR_HOME", "secret")
    project.pytester.makepyfile("def test_own(): pass")
    plain = project.run_pytest("-p", "no:xdist")
    plain.assert_outcomes(passed=1)
    plain.stdout.no_fnmatch_line("*FACTORFAIR_HOME*")


def test_a_variable_of_ours_alone_leaves_a_plain_run_as_it_is(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FACTORFAIR_MAX_COST", "3")
    project.pytester.makepyfile("def test_own(): pass")
    project.run_pytest().assert_outcomes(passed=1)


def test_pytest_forked_is_refused(project: Project) -> None:
    """The option is that of pytest-forked: its forks lack the engine's threads, and would wait for ever."""
    project.write(
        "conftest.py", "def pytest_addoption(parser): parser.addoption('--forked', action='store_true')"
    )
    result = project.run("-p", "no:xdist", "--forked")
    assert result.ret == 4
    (line,) = filter(None, result.errlines)
    assert line == "ERROR: --forked: a fork cannot ask, as it lacks this process's threads; leave it out"


def test_an_option_typed_without_a_model_is_an_error(project: Project) -> None:
    result = project.run_pytest("--factorfair-gate=default")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: --factorfair-gate: no model is named; give --factorfair-model"])


BAD_CHECKLISTS: dict[str, tuple[str, str, str]] = {
    "yaml": ("name: small", "name: [small", "bad.yaml:*"),
    "unknown key": ("valence: positive", "valense: positive", "bad.yaml:*valense*did you mean 'valence'?*"),
    "one group": ("        Male: {word: male, aliases: [male, man, men]}\n", "", "bad.yaml:*gender*"),
    "same ends": (
        "{highest: Asian, lowest: Hispanic}",
        "{highest: Asian, lowest: Asian}",
        "bad.yaml:*tea_rate*",
    ),
    "against its figures": ("Female: 60, Male: 40", "Female: 40, Male: 60", "bad.yaml:*tea_rate*"),
}


@pytest.mark.parametrize("case", BAD_CHECKLISTS)
def test_a_wrong_checklist_is_one_line_with_file_and_line(project: Project, case: str) -> None:
    right, wrong, expected = BAD_CHECKLISTS[case]
    text = (project.path / "small.yaml").read_text()
    assert right in text
    project.write("bad.yaml", text.replace(right, wrong, 1))
    result = project.run_pytest("-p", "no:xdist", MODEL, "--factorfair-checklist=bad.yaml")
    assert result.ret == 4
    assert len([line for line in result.errlines if line]) == 1
    result.stderr.fnmatch_lines([f"ERROR: *{expected}"])
