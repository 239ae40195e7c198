"""report.json, written and read: everything needed to score, compare and judge again, without the store."""

from __future__ import annotations

import dataclasses
import gzip
import json
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import islice
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any

from pytest_factorfair.benchmarks import SHIPPED_ROWS, rows_named
from pytest_factorfair.config.settings import DEFAULT_REPORT
from pytest_factorfair.domain import (
    MEMBERS,
    AnswerColumns,
    CaseKey,
    Change,
    ContactSheet,
    Question,
    ReasonShare,
    Record,
    SavedCounts,
    Score,
    Share,
    Summary,
    Verdict,
)
from pytest_factorfair.domain.answer import ReportedAnswers, from_json, whole
from pytest_factorfair.errors import InputError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

SCHEMA = "factorfair.report/6"
FULL = "factorfair.report/5"
"""The former schema, whose answers leave nothing out; it can be read, too."""

FORMER = frozenset(f"factorfair.report/{version}" for version in range(1, 5))

ROWS: dict[str, type] = {
    "changes": Change,
    "former": Score,
    "scores": Score,
    "reasons": ReasonShare,
    "contact_sheets": ContactSheet,
    "counts": SavedCounts,
}
"""Fields of a summary that a report holds unchanged, with the class of their rows; each names a model."""

LISTS = ("changes", "former", "scores", "reasons", *SHIPPED_ROWS, "contact_sheets", "counts")
"""The lists of rows in the order of a report; those of a user's benchmark follow them."""

OMITTED = frozenset({"counts"})
"""Those of them that a report lacks if there are none."""

OPTIONAL = ("dropped", "shapes", "answered_by", "configurations", "own_detector")
"""Fields of a record that the row of a case holds unchanged, unless they are empty."""

DECIMALS = 3
"""Of a detector's confidence."""

NAMES = ("report.json", "report.json.gz")
"""The names of a report in its folder."""

EXPECTED = f"expected the report.json of a run, by default in {DEFAULT_REPORT}/"
"""Ends messages about a missing or wrong file."""

AGAIN = "write it again with --factorfair-reuse=only, which reads the answers from the store and asks nothing"
"""Ends messages about a report that cannot be read any more."""

RESPONSES = "responses.jsonl"
"""The file of all replies, a line each, beside a report."""

COMPRESSED = f"{RESPONSES}.gz"
"""The same file compressed: with very many answers, it alone holds them, and the report only counts them."""

REPLY_KEYS = frozenset((*CaseKey._fields, "query", "outcome", "prompt", "response"))
"""The keys that every line of replies has."""

REPLY_TYPES: Mapping[str, type | UnionType] = {
    "query": str,
    "prompt": str | None,
    "response": dict | None,
    "groups": dict,
    "offered": dict,
    "probabilities": list,
}
RESPONSE_TYPES: Mapping[str, type | UnionType] = {
    "text": str | None,
    "tokens_in": int | None,
    "tokens_out": int | None,
}
"""The types of members of a line, and of its response, if it has them."""

ANSWERS_IN = "answers_in"
"""The member of such a report that names the file."""

GZIP = b"\x1f\x8b"
"""The first bytes of a gzip archive."""

LARGEST = 1e15
"""The largest number that a report may contain."""

_compact = json.JSONEncoder(allow_nan=False, separators=(", ", ": ")).encode


def lists(summary: Summary) -> Iterator[tuple[str, Sequence[Any]]]:
    """The lists of rows that a report holds, in its order."""
    for name in dict.fromkeys((*LISTS, *summary.rows)):
        rows = getattr(summary, name) if name in ROWS else summary.rows.get(name, ())
        if rows or name not in OMITTED:
            yield name, rows


def to_json(summary: Summary) -> str:
    """The report as text."""
    return "".join(pieces(summary))


def pieces(summary: Summary, *, answers_in: str | None = None) -> Iterator[str]:
    """The report as text, piece by piece: a run's answers as plain types would take many times their memory.

    Its parts are in the order of the published schema. Each row of a list is a line, so that two reports can
    be compared by eye. Two runs that asked the same questions differ only in ``usage`` and the fingerprint's
    versions and times. ``answers_in`` names the file beside it that has the answers, of which it then holds
    counts.
    """
    times = {"waited": float(summary.usage.waited), "seconds": round(summary.seconds, 3)}
    # Answers of pictures name the key of their picture in the store.
    answers = ReportedAnswers(key=bool(summary.fingerprint.detector), decimals=DECIMALS)

    def case(record: Record) -> str:
        about: dict[str, object] = record.case._asdict() | record.question._asdict()
        about["notes"] = list(record.notes)
        about |= {name: value for name in OPTIONAL if (value := getattr(record, name))}
        if record.choices:
            about["choices"] = {
                kind: {value: [round(number, 6) for number in share] for value, share in shares.items()}
                for kind, shares in record.choices.items()
            }
        if answers_in:
            return _compact(about | {"outcomes": record.outcomes})
        return f'{_compact(about)[:-1]}, "answers": [{", ".join(map(answers, record.answers))}]}}'

    def gate(verdict: Verdict) -> str:
        row = dataclasses.asdict(verdict)
        return _compact({"expression": row.pop("gate"), "verdict": row.pop("judgement")} | row)

    parts: dict[str, object] = {
        "schema": SCHEMA,
        "fingerprint": dataclasses.asdict(summary.fingerprint),
        "plan": None if summary.plan is None else dataclasses.asdict(summary.plan),
        "incomplete": summary.incomplete,
        "release": None if summary.release is None else dataclasses.asdict(summary.release),
        "notes": list(summary.notes),
        "gates": map(gate, summary.gates),
        "unjudged": list(summary.unjudged),
        **{name: map(_compact, map(dataclasses.asdict, rows)) for name, rows in lists(summary)},
        **({ANSWERS_IN: answers_in} if answers_in else {}),
        "cases": map(case, summary.cases),
        "people": answers.people,
        "usage": dataclasses.asdict(summary.usage) | times,
    }
    before = "{\n"
    for name, value in parts.items():
        yield f"{before}{_compact(name)}: "
        if isinstance(value, Mapping):
            yield from _listed((f"{_compact(key)}: {_compact(row)}" for key, row in value.items()), "{", "}")
        elif isinstance(value, list):
            yield from _listed(map(_compact, value), "[", "]")
        elif isinstance(value, Iterator):
            yield from _listed(value, "[", "]")
        else:
            yield _compact(value)
        before = ",\n"
    yield "\n}\n"


def _listed(rows: Iterator[str], first: str, last: str) -> Iterator[str]:
    before = f"{first}\n "
    for row in rows:
        yield before + row
        before = ",\n "
    yield f"\n{last}" if before == ",\n " else f"{first}{last}"


def read(path: str, *, name: str) -> Summary:
    """The summary that a report was written from, without the choices of each query, which it does not hold.

    ``name`` is how messages name the file.

    Raises:
        InputError: one line: the file is missing, unreadable, damaged or not a report of this version.
    """
    with opened(path, name=name) as report:
        return summary(report, [record(row) for row in report["cases"]])


def summary(report: Mapping[str, Any], cases: Sequence[Record] = ()) -> Summary:
    """The summary of a report's content, with these cases."""
    usage = dict(report["usage"])
    rows = {
        **report,
        "seconds": usage.pop("seconds"),
        "usage": usage,
        "gates": [{**row, "gate": row["expression"], "judgement": row["verdict"]} for row in report["gates"]],
        "cases": cases,
        "rows": dict(_benchmark_rows(report)),
    }
    del rows["schema"]
    read: Summary = _validator(Summary).validate_python(rows)
    return read


def _benchmark_rows(report: Mapping[str, Any]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The rows of benchmarks by name, without those of a user's benchmark that nobody added."""
    for name in dict.fromkeys((*SHIPPED_ROWS, *(name for name in report if name not in MEMBERS))):
        if report[name] and (declared := rows_named(name)):
            row: Any = declared.row
            by_name = _validator(dict[str, tuple[row, ...]])
            yield from by_name.validate_python({name: report[name]}).items()


@cache
def _validator(of: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter  # half a second

    return TypeAdapter(of)


def located(path: str) -> str:
    """A report's file: itself, or the one in a folder.

    Raises:
        InputError: one line: the folder has no report.
    """
    if not Path(path).is_dir():
        return path
    report_file = next((file for name in NAMES if (file := Path(path) / name).is_file()), None)
    if report_file is None:
        raise InputError(f"{path}: there is no {' or '.join(NAMES)} in this folder")
    return str(report_file)


@contextmanager
def opened(path: str, *, name: str) -> Iterator[dict[str, Any]]:
    """The content of a report of this version, by its file or folder; only its schema number is checked.

    Its ``cases`` may be read once: their answers may be in the file beside it.

    Errors raised while the content is read become one InputError: the report is damaged.

    Raises:
        InputError: one line: the file is missing, unreadable, damaged or not a report of this version.
    """
    path = located(path)
    try:
        report = json.loads(
            content(path, name=name), parse_constant=_number, parse_float=_number, parse_int=_whole
        )
    except InputError:
        raise
    except RecursionError:
        raise InputError(f"{name}: not a report.json: it is nested too deeply") from None
    except ValueError as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{name}: not JSON ({reason}); {EXPECTED}") from None
    schema = report.get("schema") if isinstance(report, dict) else None
    if isinstance(schema, str) and schema in FORMER:
        raise InputError(f"{name}: a report of a former version ({schema}; this one reads {SCHEMA}): {AGAIN}")
    if schema not in (SCHEMA, FULL):
        raise InputError(f"{name}: not a report.json: its schema is {schema!r}, '{SCHEMA}' is needed")
    try:
        people = report.pop("people", None)
        if ANSWERS_IN in report:
            report["cases"] = _with_answers(report["cases"], Path(path).with_name(COMPRESSED), name=name)
        elif people is not None:
            report["cases"] = whole_cases(report["cases"], people)
        yield report
    except InputError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise InputError(f"{name}: a damaged report: {_reason(error)}; {AGAIN}") from None


def whole_cases(cases: Iterable[dict[str, Any]], people: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """Rows of ``cases`` whose answers have all that they leave out in a report."""
    for case in cases:
        yield case | {"answers": [whole(answer, people) for answer in case["answers"]]}


def _number(text: str) -> float:
    """A number of a report: none is infinite, or so large that it must have been edited."""
    number = float(text)
    if not abs(number) <= LARGEST:  # nan, too
        raise ValueError(f"{text} is no number of a report")
    return number


def _whole(text: str) -> int:
    """A whole number of a report."""
    _number(text)
    return int(text)


def _reason(error: Exception) -> str:
    """What is wrong with the content of a report: the first of pydantic's errors, or the error itself."""
    from pydantic import ValidationError  # half a second

    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    if isinstance(error, KeyError):
        return f"there is no {error}"
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def _with_answers(cases: Iterable[dict[str, Any]], file: Path, *, name: str) -> Iterator[dict[str, Any]]:
    """Rows of ``cases`` with their answers, which are read from the replies beside the report, case by case.

    Raises:
        InputError: the replies are missing, damaged, or those of another run.
    """
    where = f"{name}: its answers are in {file}"
    rows = replies(file, where=where)
    for case in cases:
        answers = list(islice(rows, sum(case["outcomes"].values())))
        about = {tuple(answer[part] for part in CaseKey._fields) for answer in answers}
        of_case = about <= {tuple(case[part] for part in CaseKey._fields)}
        if not of_case or Counter(answer["outcome"] for answer in answers) != case["outcomes"]:
            raise InputError(f"{where}, which are those of another run")
        yield case | {"answers": answers}
    if next(rows, None) is not None:
        raise InputError(f"{where}, which are those of another run")


def replies_file(path: str) -> Path:
    """The file of all replies beside a report's file, packed or not."""
    file = Path(path).with_name(RESPONSES)
    compressed = file.with_name(COMPRESSED)
    return compressed if not file.exists() and compressed.exists() else file


def replies(file: Path, *, where: str) -> Iterator[dict[str, Any]]:
    """The answers in a file of replies, packed or not, with prompts and responses, one at a time.

    ``where`` begins messages: it names the file and what it is wanted for.

    Raises:
        InputError: one line: the file is missing or cannot be read.
    """
    try:
        packed = file.name == COMPRESSED
        with gzip.open(file, "rt", encoding="utf-8") if packed else file.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                yield _reply(line, where=f"{where}, where line {number} is not")
    except FileNotFoundError:
        raise InputError(f"{where}, which is missing") from None
    except InputError:
        raise
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise InputError(f"{where}, which cannot be read: {error}") from None


def _reply(line: str, *, where: str) -> dict[str, Any]:
    try:
        reply = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} JSON: {error}") from None
    whole = isinstance(reply, dict) and reply.keys() >= REPLY_KEYS
    if not whole or not _typed(reply, REPLY_TYPES) or not _typed(reply["response"] or {}, RESPONSE_TYPES):
        raise InputError(f"{where} a reply of a run")
    return dict(reply)


def _typed(members: Mapping[str, object], types: Mapping[str, type | UnionType]) -> bool:
    return all(isinstance(members[name], expected) for name, expected in types.items() if name in members)


def content(path: str, *, name: str) -> bytes:
    """The bytes of a report, unpacked if they are a gzip archive, as a committed baseline is.

    Raises:
        InputError: one line: the file is missing, unreadable or a damaged archive.
    """
    try:
        data = Path(path).read_bytes()
        return gzip.decompress(data) if data.startswith(GZIP) else data
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{name}: a damaged archive: {error}") from None
    except OSError as error:
        raise InputError(f"{name}: {error.strerror}; {EXPECTED}") from None


def record(row: Mapping[str, Any], *, columns: bool = False) -> Record:
    """The record of a row of ``cases``; ``columns`` keeps its answers in little memory."""
    answers = tuple(map(from_json, row["answers"]))
    return Record(
        CaseKey(row["model"], row["checklist"], row["case"]),
        AnswerColumns(answers) if columns or "outcomes" in row else answers,  # of a report with many
        tuple(row["notes"]),
        choices={
            kind: {value: Share(*numbers) for value, numbers in shares.items()}
            for kind, shares in row.get("choices", {}).items()
        },
        dropped=tuple(row.get("dropped", ())),
        own_detector=row.get("own_detector", False),
        shapes=row.get("shapes", {}),
        answered_by=row.get("answered_by", {}),
        configurations=row.get("configurations", {}),
        question=Question(*(row[name] for name in Question._fields)),
    )
