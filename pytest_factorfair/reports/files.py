"""The files of a report, each written whole or not at all."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from types import MappingProxyType

from pytest_factorfair import process
from pytest_factorfair.domain import Case, Summary
from pytest_factorfair.errors import InputError
from pytest_factorfair.reports.html import to_html
from pytest_factorfair.reports.json_report import COMPRESSED, RESPONSES, pieces
from pytest_factorfair.reports.markdown import to_markdown
from pytest_factorfair.reports.responses import Transcript

STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
"""GitHub Actions shows what is appended to the file this variable names."""


PARTIAL = "partial"
"""The folder of a partial run's reports, within that of a complete run."""


def folder(requested: Path, *, partial: bool) -> Path:
    """Where to write reports: those of a partial run do not replace those of a complete one.

    Raises:
        OSError: the folder cannot be made.
    """
    former = requested / "report.json"
    try:
        complete = json.loads(former.read_bytes())["incomplete"] is None
    except (FileNotFoundError, NotADirectoryError):
        complete = False
    except (OSError, ValueError, TypeError, LookupError):  # one that cannot be read is kept as well
        complete = True
    target = requested / PARTIAL if partial and complete else requested
    process.make_folder(target, ignored=False)
    return target


PRINTED = ("report.md", "report.html")
"""The files that contain what benchmarks print; report.json has only their values."""

LARGE = 200_000
"""The most answers that a report holds; of more it holds counts and a sample."""


def write(
    summary: Summary,
    folder: Path,
    *,
    transcript: Transcript,
    cases: Iterable[Case],
    thumbnails: Mapping[str, bytes | str] = MappingProxyType({}),
    most: int = LARGE,
) -> tuple[str, ...]:
    """Write the reports; return their paths, and what could not be written elsewhere.

    Each is replaced as a whole: a full disk leaves the former one in place. If there are more than ``most``
    answers, they are only in the file of replies, which is then compressed.

    Raises:
        OSError: a file could not be written.
        InputError: a user's benchmark could not print; report.json and the replies are written.
    """
    compressed = sum(len(record.answers) for record in summary.cases) > most
    replies, stale = (COMPRESSED, RESPONSES) if compressed else (RESPONSES, COMPRESSED)
    lines = transcript.pieces()
    values = pieces(summary, answers_in=replies if compressed else None)
    paths: tuple[str, ...] = (
        write_whole(folder / "report.json", values, private=True),
        write_whole(folder / replies, _archive(lines) if compressed else lines, private=True),
    )
    (folder / stale).unlink(missing_ok=True)  # of a former run
    try:
        markdown = to_markdown(summary)
        page = to_html(summary, transcript.excerpts, cases, folder, replies=replies, thumbnails=thumbnails)
    except InputError as error:
        for name in PRINTED:  # a former run's
            (folder / name).unlink(missing_ok=True)
        raise InputError(f"{error}; of the report there is only {paths[0]}") from error
    paths += tuple(
        write_whole(folder / name, text, private=True)
        for name, text in zip(PRINTED, (markdown, page), strict=True)
    )
    if step := os.environ.get(STEP_SUMMARY):
        try:
            with Path(step).open("a", encoding="utf-8") as file:
                file.write(markdown)
        except OSError as error:  # it is reported and does not fail the run
            paths += (f"{STEP_SUMMARY} {step} could not be written ({error.strerror})",)
    return paths


def as_baseline(content: bytes, target: Path) -> bytes:
    """A report as it is committed under this name: compressed if that ends with .gz.

    There is no time stamp, so that the same report gives the same file.
    """
    return gzip.compress(content, mtime=0) if target.suffix == ".gz" else content


def _archive(parts: Iterator[str]) -> Iterator[bytes]:
    """These parts as a gzip archive, piece by piece, without a time stamp."""
    packed = zlib.compressobj(wbits=31)
    for part in parts:
        yield packed.compress(part.encode())
    yield packed.flush()


def write_whole(path: Path, content: str | bytes | Iterator[str | bytes], *, private: bool = False) -> str:
    """Write a file so that no reader, and no full disk, ever leaves half of it; return its path.

    A ``private`` one is only for the user and the group.

    Raises:
        OSError: it names the file, which that of a full disk does not.
    """
    parts = (content,) if isinstance(content, (str, bytes)) else content
    ours = path.is_file() or not path.exists()  # /dev/stdout is written to, not replaced
    opener = process.private if private else None
    try:
        with process.draft(path) if ours else nullcontext(path) as draft:
            with open(draft, "wb", opener=opener) as file:
                file.writelines(part.encode("utf-8") if isinstance(part, str) else part for part in parts)
                file.flush()
                if ours:
                    os.fsync(file.fileno())
            if ours:
                draft.replace(path)  # when it is closed: Windows renames no open file
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    return str(path)
