"""``factorfair batch``: list, cancel, forget and adopt batches that runs have left."""

from __future__ import annotations

import argparse
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_factorfair.commands.common import (
    DEFAULT_STORE,
    Commands,
    add_model_arguments,
    from_hooks,
    model_arguments,
    opened,
    say,
)
from pytest_factorfair.domain import plural
from pytest_factorfair.errors import InputError, ModelError
from pytest_factorfair.runs.extensions import MODELS

if TYPE_CHECKING:
    from pytest_factorfair.store.batches import BatchRow


def add(commands: Commands) -> None:
    """Add the command ``batch`` and its subcommands."""
    batch = commands.add_parser("batch", help="list, cancel, forget and adopt batches")
    kinds = batch.add_subparsers(required=True, metavar="COMMAND")
    ls = kinds.add_parser("ls", help="list the batches whose answers are not collected")
    cancel = kinds.add_parser("cancel", help="ask the service to cancel a batch; a run collects its answers")
    forget = kinds.add_parser("forget", help="give a batch up; its questions are asked again, and paid again")
    adopt = kinds.add_parser("adopt", help="name the batch that a service created without confirming it")
    for parser, run in ((ls, run_ls), (cancel, run_cancel), (forget, run_forget), (adopt, run_adopt)):
        parser.add_argument("store", metavar="STORE", help=f"a URL or a file, such as {DEFAULT_STORE}")
        if parser is not ls:
            parser.add_argument("name", metavar="NAME", help="its name, or how it begins")
        parser.set_defaults(run=run)
    adopt.add_argument("id", metavar="ID", help="its id at the service")
    cancel.add_argument("--model", metavar="SPEC", required=True, help="the model, as for --factorfair-model")
    add_model_arguments(cancel)


def run_ls(arguments: argparse.Namespace) -> None:
    with opened(arguments.store, read_only=True) as store:
        rows = store.batches.open()
        for row in rows:
            unanswered = len(store.batches.items(row.name))
            by = "" if row.expires is None else f", by {_clock(row.expires)}"
            say(
                f"{row.short}  {row.model}: {plural(unanswered, 'question')} at {row.service}, {row.state}, "
                f"since {_clock(row.created)}{by}{f', id {row.batch_id}' if row.batch_id else ''}"
            )
    if not rows:
        say("no batches")


def run_cancel(arguments: argparse.Namespace) -> None:
    with opened(arguments.store, read_only=True) as store:
        row = store.batches.named(arguments.name)
    if not row.batch_id:
        raise InputError(f"batch {row.short} has no id: adopt it, or forget it")
    from pytest_factorfair import models
    from pytest_factorfair.batches.protocol import cancel

    custom = from_hooks(MODELS)
    folder = Path(row.service)
    model = models.build(
        arguments.model,
        model_arguments(arguments),
        checklists=(),
        custom=custom,
        folder=folder if folder.is_absolute() else None,  # otherwise the service is a host
    )
    service = getattr(model, "batches", None)
    if service is None or (service.name, service.account) != (row.service, row.account):
        raise InputError(
            f"--model {arguments.model}: batch {row.short} is at {row.service}, or has another key"
        )
    try:
        cancel(service, row.batch_id)
    except ModelError as error:
        raise InputError(str(error)) from None
    say(f"batch {row.short}: {row.service} is cancelling it; the next run collects what it has answered")


def run_forget(arguments: argparse.Namespace) -> None:
    with opened(arguments.store, read_only=False) as store:
        row = store.batches.named(arguments.name)
        unanswered = len(store.batches.items(row.name))
        store.batches.delete(row.name).result()
    paid = "; if the service answers them, they are paid for twice" if _may_exist(row) else ""
    say(f"batch {row.short} is forgotten: the next run asks {plural(unanswered, 'question')} again{paid}")


def run_adopt(arguments: argparse.Namespace) -> None:
    from pytest_factorfair.store.batches import Step

    with opened(arguments.store, read_only=False) as store:
        row = store.batches.named(arguments.name)
        if row.batch_id:
            raise InputError(f"batch {row.short} has the id {row.batch_id} already")
        store.batches.update(row.name, batch_id=arguments.id, state=Step.SUBMITTED, cause="").result()
    say(f"batch {row.short} is {arguments.id} at {row.service}: the next run collects it")


def _may_exist(row: BatchRow) -> bool:
    """Whether the service may have the batch."""
    from pytest_factorfair.store.batches import Step

    return row.state not in (Step.PLANNED, Step.UPLOADED)


def _clock(moment: float) -> str:
    return datetime.fromtimestamp(moment).astimezone().strftime("%Y-%m-%d %H:%M")
