"""``factorfair store``: list, verify, export and prune response stores."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

from pytest_factorfair.commands.common import DEFAULT_STORE, Commands, opened, say
from pytest_factorfair.domain import plural
from pytest_factorfair.errors import InputError

DATE = re.compile(r"\d{4}-\d{2}-\d{2}(T[\d:+]+)?")


def add(commands: Commands) -> None:
    """Add the command ``store`` and its subcommands."""
    store = commands.add_parser("store", help="list, verify, export and prune response stores")
    kinds = store.add_subparsers(required=True, metavar="COMMAND")
    ls = kinds.add_parser("ls", help="list the contents of a store by model")
    verify = kinds.add_parser("verify", help="read every picture and report lost or damaged ones")
    export = kinds.add_parser("export", help="print the responses as JSON lines, for replay:FILE")
    prune = kinds.add_parser("prune", help="delete responses")
    for parser in (ls, verify, export, prune):
        parser.add_argument("store", metavar="STORE", help=f"a URL or a file, such as {DEFAULT_STORE}")
    verify.add_argument(
        "--delete",
        action="store_true",
        help="delete damaged pictures, so that the next run generates them again",
    )
    for parser in (export, prune):
        parser.add_argument("--model", help="only responses of this model")
    export.add_argument(
        "--images", metavar="DIR", help="copy the pictures to this folder instead, for images:DIR"
    )
    prune.add_argument("--before", metavar="DATE", help="only responses from before this date (2026-01-31)")
    prune.add_argument("--unusable", action="store_true", help="only empty responses")
    prune.add_argument("--key", metavar="KEY", nargs="+", default=[], help="only responses with these keys")
    prune.add_argument(
        "--pictures",
        choices=("keep", "delete"),
        help="keep or delete pictures in a bucket, or in a folder set with --factorfair-pictures, which "
        "other stores may use",
    )
    for parser, run in ((ls, run_ls), (verify, run_verify), (export, run_export), (prune, run_prune)):
        parser.set_defaults(run=run)


def run_ls(arguments: argparse.Namespace) -> None:
    from pytest_factorfair.store import upkeep

    with opened(arguments.store, read_only=True) as store:
        for holding in upkeep.listed(store):
            unusable = holding.responses - holding.usable
            unusable_note = f", {unusable:,} of them unusable" if unusable else ""
            responses = f"{plural(holding.responses, 'response')}{unusable_note}"
            say(f"{holding.model}: {responses}, {holding.earliest[:10]} to {holding.latest[:10]}")
        for shard in store.shards():
            state = "" if shard.finished else ", not finished"
            models = ", ".join(shard.fingerprint.get("models", {}))
            asked = f"{plural(shard.usage.calls, 'call')}, began {shard.began[:10]}{state}"
            say(f"shard {shard.number} of {shard.count} of {models}: {asked}")


def run_verify(arguments: argparse.Namespace) -> int:
    """Report lost and damaged pictures; return 1 if there are any."""
    from pytest_factorfair.store import upkeep

    with opened(arguments.store, read_only=True) as store:
        wrong = 0
        for line in upkeep.verify(store, delete=arguments.delete):
            wrong += 1
            say(line)
    say(f"{plural(wrong, 'picture')} lost or damaged")
    return int(wrong > 0)


def run_export(arguments: argparse.Namespace) -> None:
    from pytest_factorfair.store import upkeep

    with opened(arguments.store, read_only=True) as store:
        if arguments.images:
            copied = upkeep.export_pictures(store, arguments.model, Path(arguments.images))
            say(f"{arguments.images}: {plural(copied, 'picture')} copied")
            return
        for line in upkeep.exported(store, arguments.model):
            say(json.dumps(line))


def run_prune(arguments: argparse.Namespace) -> None:
    from pytest_factorfair.store import upkeep

    model, before, unusable = arguments.model, arguments.before, arguments.unusable
    if not (model or before or unusable or arguments.key):
        raise InputError("choose what to delete: --model NAME, --before DATE, --unusable or --key KEY")
    if before and not DATE.fullmatch(before):
        raise InputError(f"--before: expected a date such as 2026-01-31, got '{before}'")
    with opened(arguments.store, read_only=False) as store:
        if store.pictures.shared and arguments.pictures is None:
            raise InputError(
                f"{store.pictures.location}: other stores may use the pictures there: add --pictures=delete "
                "to delete those of the deleted responses, or --pictures=keep"
            )
        deleted = upkeep.prune(
            store,
            model=model,
            before=before,
            unusable=unusable,
            keys=arguments.key,
            pictures=arguments.pictures != "keep",
        )
        say(f"{plural(deleted, 'response')} deleted")
