"""``factorfair merge``: merge the shards of a run, or any stores, into one store."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_factorfair.commands.common import Commands, opened, say
from pytest_factorfair.config.sources import store_url
from pytest_factorfair.domain import Usage, differences, plural
from pytest_factorfair.errors import InputError
from pytest_factorfair.redaction import shown_url

if TYPE_CHECKING:
    from pytest_factorfair.store import Store
    from pytest_factorfair.store.sharing.shards import ShardRow


def add(commands: Commands) -> None:
    """Add the command ``merge``; its exit code is 1 if shards are missing."""
    parser = commands.add_parser(
        "merge",
        help="merge the shards of a run, or any stores, into one store",
        description="Copy responses, pictures and detections that OUT lacks from other stores. "
        "A store is a URL, a file, or a folder that contains responses.sqlite.",
    )
    parser.add_argument("out", metavar="OUT", help="the store to copy to; created if it does not exist")
    parser.add_argument("sources", metavar="SHARD", nargs="+", help="a store to copy from")
    parser.add_argument(
        "--pictures",
        metavar="DIR|URL",
        help="where OUT stores its pictures (default: the place that all shards set with "
        "--factorfair-pictures, or the folder of OUT)",
    )
    parser.add_argument("--partial", action="store_true", help="merge even if shards are missing")
    parser.set_defaults(run=run_merge)


def run_merge(arguments: argparse.Namespace) -> int:
    from pytest_factorfair.store import Store, upkeep

    out, merged = store_url(arguments.out), shown_url(arguments.out)
    with ExitStack() as stack:  # open and check all sources before anything is written
        sources = {}
        for name in arguments.sources:
            if store_url(name) == out:
                raise InputError(f"{shown_url(name)}: a store cannot be merged into itself")
            sources[shown_url(name)] = stack.enter_context(opened(name, read_only=True))
        shards = _of_one_run({name: source.shards() for name, source in sources.items()})
        # Shards of the same run that an earlier merge has copied.
        runs = {row.run for rows in shards.values() for row in rows}
        earlier_rows: tuple[ShardRow, ...] = ()
        if not out.startswith("sqlite:///") or Path(out.removeprefix("sqlite:///")).exists():
            with opened(arguments.out, read_only=True) as former:
                earlier_rows = tuple(row for row in former.shards() if row.run in runs)
        missing = tuple(_missing(shards, earlier_rows))
        for line in missing:
            say(line)
        if missing and not arguments.partial:
            say("nothing was merged; run what is missing, or merge without it: --partial")
            return 1
        pictures = _place(arguments.pictures, out, sources.values())
        target = stack.enter_context(Store.open(out, pictures=pictures))
        target.settle_pictures()
        for name, source in sources.items():
            copied = plural(upkeep.merge(target, source), "response")
            if shards[name]:
                target.enter(*shards[name]).result()  # last, so that an entered shard is complete
            shard_names = "".join(f"shard {row.number} of {row.count}, " for row in shards[name])
            say(f"{name}: {shard_names}{copied} copied")
        if any(shards.values()):
            latest = {row.number: row for rows in (earlier_rows, *shards.values()) for row in rows}
            usage = sum((row.usage for row in latest.values()), Usage())
            say(f"{merged}: {plural(usage.calls, 'call')} in {plural(len(latest), 'shard')}, {usage.bill}")
            say(f"next: pytest --factorfair-model=... --factorfair-store={shown_url(out)}")
    return 0


def _place(named: str | None, out: str, sources: Iterable[Store]) -> str:
    """Where OUT stores pictures: where the user says or, for a new OUT, the place that all sources share."""
    from pytest_factorfair.config.options import OPTIONS
    from pytest_factorfair.config.sources import OptionValue, parsed
    from pytest_factorfair.store import Store

    if named:
        (option,) = (option for option in OPTIONS if option.name == "pictures")
        return str(parsed(option, OptionValue(named, "--pictures", Path.cwd())))
    with Store.open(out) as target:
        is_new = target.empty
    locations = {source.pictures.location if source.pictures.shared else "" for source in sources}
    return locations.pop() if is_new and len(locations) == 1 else ""


def _of_one_run(sources: Mapping[str, tuple[ShardRow, ...]]) -> dict[str, tuple[ShardRow, ...]]:
    """The shards of its latest run in each source; empty if the sources are not shards.

    Raises:
        InputError: only some sources are shards, two have the same shard, or they belong to different runs.
    """
    latest = {name: tuple(row for row in rows if row.run == rows[-1].run) for name, rows in sources.items()}
    reference = next((name for name, rows in latest.items() if rows), None)
    if reference is None:
        return latest
    seen: dict[int, str] = {}
    for name, rows in latest.items():
        if not rows:
            raise InputError(
                f"{name}: it holds no shard of a run, but {reference} does: merge them separately"
            )
        if rows[0].run != latest[reference][0].run:
            path, setting, reference_setting = next(
                differences(rows[0].fingerprint, latest[reference][0].fingerprint)
            )
            raise InputError(
                f"{name}: a shard of another run: {'.'.join(path)} is {setting}, that of {reference} is "
                f"{reference_setting}; give the shards of one run"
            )
        for row in rows:
            if row.number in seen:
                raise InputError(
                    f"{name}: it holds shard {row.number} of {row.count}, and so does {seen[row.number]}: "
                    "give each shard once"
                )
            seen[row.number] = name
    return latest


def _missing(shards: Mapping[str, tuple[ShardRow, ...]], earlier_rows: tuple[ShardRow, ...]) -> Iterator[str]:
    """A line for each shard that no source has, or that has not asked all of its cases."""
    row_by_number = {row.number: ("", row) for row in earlier_rows}
    row_by_number |= {row.number: (f"{name}: ", row) for name, rows in shards.items() for row in rows}
    count = max((row.count for _, row in row_by_number.values()), default=0)
    for number in range(1, count + 1):
        if number not in row_by_number:
            yield f"shard {number} of {count} is missing"
        elif not row_by_number[number][1].finished:
            name, _ = row_by_number[number]
            yield f"{name}shard {number} of {count} is not finished: run it again to continue it"
