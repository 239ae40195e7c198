"""Logs that Inspect writes of samples that went otherwise than planned, and of many."""

from __future__ import annotations

import gc
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_factorfair.errors import InputError
from pytest_factorfair.logs import inspect_logs
from pytest_factorfair.logs.formats import open_log
from pytest_factorfair.logs.log import LoggedReply
from tests.extras import needs

if TYPE_CHECKING:
    from inspect_ai.log import EvalSample

pytestmark = needs("inspect")

FORMATS = ("log.eval", "log.json")


def sample(number: int, *choices: str, **fields: Any) -> EvalSample:
    """A sample with a question and the choices of its completion."""
    from inspect_ai.log import EvalSample
    from inspect_ai.model import (
        ChatCompletionChoice,
        ChatMessageAssistant,
        ChatMessageUser,
        ModelOutput,
        ModelUsage,
    )

    replies = [ChatMessageAssistant(content=choice) for choice in choices]
    output = ModelOutput(
        model="mockllm/model",
        choices=[ChatCompletionChoice(message=reply, stop_reason="stop") for reply in replies],
        usage=ModelUsage(input_tokens=9, output_tokens=2 * len(choices), total_tokens=9 + 2 * len(choices)),
    )
    asked = ChatMessageUser(content=f"Who? {number}")
    return EvalSample(
        **{
            "id": number, "epoch": 1, "input": asked.text, "target": "A", "choices": ["Anna", "Peter"],
            "messages": [asked, *replies[:1]], "output": output, **fields,
        }
    )  # fmt: skip


def written(file: Path, *samples: EvalSample, status: str = "success") -> Path:
    """A log that Inspect writes in the format that the name of the file says."""
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSpec, write_eval_log

    spec = EvalSpec(
        created="2026-11-28T10:00:00+00:00", task="who", dataset=EvalDataset(), model="mockllm/model",
        config=EvalConfig(),
    )  # fmt: skip
    log = EvalLog(status=status, eval=spec, samples=list(samples) or None)
    write_eval_log(log, str(file), format="eval" if file.suffix == ".eval" else "json")
    return file


def replies(file: Path) -> list[LoggedReply]:
    return [*open_log(file).replies()]


@pytest.mark.parametrize("name", FORMATS)
def test_choices_and_epochs_are_replies(tmp_path: Path, name: str) -> None:
    """Each with its place; tokens are those of the whole completion and count once."""
    samples = sample(0, "A", "B"), sample(1, "E"), sample(0, "C", "D", epoch=2)
    logged = replies(written(tmp_path / name, *samples))
    where = f"{tmp_path / name}: sample"
    assert [(reply.prompt, reply.text, reply.where) for reply in logged] == [
        ("Who? 0", "A", f"{where} 0, epoch 1, choice 1"), ("Who? 0", "B", f"{where} 0, epoch 1, choice 2"),
        ("Who? 1", "E", f"{where} 1, epoch 1"),
        ("Who? 0", "C", f"{where} 0, epoch 2, choice 1"), ("Who? 0", "D", f"{where} 0, epoch 2, choice 2"),
    ]  # fmt: skip
    assert [(reply.tokens_in, reply.tokens_out) for reply in logged] == [
        (9, 4), (None, None), (9, 2), (9, 4), (None, None),
    ]  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
def test_samples_without_a_reply_are_errors(tmp_path: Path, name: str) -> None:
    """What a sample says before its limit counts, as Inspect scores it; a cancelled run lacks the others."""
    from inspect_ai.log import EvalError, EvalSampleLimit, ProvenanceData
    from inspect_ai.model import ModelOutput

    failure = EvalError(message="Rate limit\nexceeded", traceback="", traceback_ansi="")
    limit = EvalSampleLimit(type="token", limit=100)
    silent = ModelOutput(model="mockllm/model", choices=[])
    file = written(
        tmp_path / name,
        sample(0, error=failure, output=silent),
        sample(1, output=silent, limit=limit),
        sample(2, "B", limit=limit),
        sample(3, output=silent),
        sample(4, output=ModelOutput(model="mockllm/model", choices=[], error="content filter")),
        sample(5, "A", invalidation=ProvenanceData(author="me", timestamp="2026-11-28T10:00:00+00:00")),
        status="cancelled",
    )
    logged = replies(file)
    assert [reply.error for reply in logged] == [
        "Rate limit exceeded", "stopped at its limit of token: 100", "", "no reply", "content filter", "invalidated",
    ]  # fmt: skip
    assert [reply.text for reply in logged] == ["", "", "B", "", "", ""]
    assert [reply.prompt for reply in logged] == [f"Who? {number}" for number in range(6)]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "samples/0_epoch_1.json is empty: a part of the log is missing"),
        ('{"id": 5', "Inspect cannot read this log: parse error: premature EOF"),
        ('{"id": 5}', "Inspect cannot read this log: epoch: Field required"),
    ],
)
def test_samples_that_are_damaged(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], content: str, problem: str
) -> None:
    whole, file = written(tmp_path / "log.eval", sample(0, "A")), tmp_path / "damaged.eval"
    with zipfile.ZipFile(whole) as archive, zipfile.ZipFile(file, "w") as damaged:
        for name in archive.namelist():
            damaged.writestr(name, content if name.startswith("samples/") else archive.read(name))
    with pytest.raises(InputError) as caught:
        replies(file)
    gc.collect()  # tasks that a package has forgotten complain when they are collected
    assert str(caught.value) == f"{file}: {problem}"
    assert capfd.readouterr().err == ""


def test_targets_that_graders_read_name_no_option(tmp_path: Path) -> None:
    """The criterion of a model-graded scorer is no right option, with or without choices."""
    criterion = "It names nobody, or says why."
    graded, free = replies(
        written(
            tmp_path / "log.eval",
            sample(0, "A", target=criterion),
            sample(1, "A", target=criterion, choices=None),
        )
    )
    assert graded.item is not None
    assert graded.item.targets == ()
    assert free.item is None


@pytest.mark.parametrize("name", FORMATS)
def test_logs_without_samples(tmp_path: Path, name: str) -> None:
    file = written(tmp_path / name)
    with pytest.raises(InputError) as caught:
        replies(file)
    assert str(caught.value) == (
        f"{file}: the log has no samples: it is a header alone, or Inspect ran with log_samples off"
    )


def test_batches_of_samples_are_bounded_by_their_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever their number: ids with every character that names of members may have keep their order."""
    import inspect_ai.log

    sizes: list[int] = []
    read = inspect_ai.log.read_eval_log_samples_by_id

    def counting(path: str, ids: list[tuple[str, int]], **options: Any) -> list[EvalSample]:
        sizes.append(len(ids))
        samples: list[EvalSample] = read(path, ids, **options)
        return samples

    monkeypatch.setattr(inspect_ai.log, "read_eval_log_samples_by_id", counting)
    monkeypatch.setattr(inspect_logs, "AT_ONCE", 100_000)
    long = {"notes": "x" * 60_000}
    names = ["a/b_epoch_2", "é ü", 7, "c", "d"]
    samples = [sample(at, "A", id=name, metadata=long if at < 3 else {}) for at, name in enumerate(names)]
    logged = replies(written(tmp_path / "log.eval", *samples))
    assert [reply.prompt for reply in logged] == [f"Who? {at}" for at in range(5)]
    assert [reply.where.rpartition(": ")[2] for reply in logged] == [
        f"sample {name}, epoch 1" for name in names
    ]
    assert sizes == [1, 1, 3]


def test_what_is_left_out_of_json_is_not_the_rest(tmp_path: Path) -> None:
    """Events and stores are skipped as they are read; keys that begin alike or lie deeper are not."""
    from inspect_ai.event import InfoEvent

    deep = {"events": ["kept"], "store": {"samples": ["kept"]}}
    full = sample(
        0, "A", metadata=deep, store={"x": [{"events": 1}]}, events=[InfoEvent(data={"a": [1, {}]})]
    )
    (reply,) = replies(written(tmp_path / "log.json", full))
    assert reply.text == "A"
    assert reply.item is not None
    assert reply.item.metadata == deep
