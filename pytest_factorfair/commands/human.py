"""``factorfair human``: pictures of a FAIntbench run for people to label, and scores from their labels."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_factorfair.commands.common import FAINTBENCH, every_prompt, faintbench, same_content, say, told
from pytest_factorfair.commands.store import DEFAULT, opened
from pytest_factorfair.domain import plural
from pytest_factorfair.errors import InputError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

    from pytest_factorfair.commands.common import Commands
    from pytest_factorfair.domain import CaseKey, Faintbench, PromptCase, Record, Score
    from pytest_factorfair.labelling.human.key import Key
    from pytest_factorfair.labelling.human.sample import Plan, Pool

MOST_EVALUATORS = 50
MOST_PICTURES = 10_000


def add(commands: Commands) -> None:
    """Add ``human`` and what it can do to the commands."""
    human = commands.add_parser("human", help="hold the scores of FAIntbench against people")
    kinds = human.add_subparsers(required=True, metavar="COMMAND")
    sample = kinds.add_parser("sample", help="draw prompts and pictures, write a sheet for evaluators")
    score = kinds.add_parser("score", help="every score from the evaluators' labels beside the automatic one")
    sample.add_argument(
        "sources",
        metavar="REPORT|STORE",
        nargs="+",
        help=f"report.json of a run, and where its pictures are ({DEFAULT})",
    )
    sample.add_argument("--share", type=float, default=0.1, metavar="X", help="of the prompts (0.1)")
    sample.add_argument("--pictures", type=int, default=20, metavar="N", help="per prompt and model (20)")
    sample.add_argument("--evaluators", type=int, default=10, metavar="N", help="who will label (10)")
    sample.add_argument("--seed", type=int, default=0, metavar="N", help="what is drawn (0)")
    sample.add_argument("--out", required=True, metavar="DIR", help="a new folder")
    score.add_argument(
        "sheet", metavar="SHEET", help="the sheet that the evaluators filled in, in its folder"
    )
    for parser, run in ((sample, _sample), (score, _score)):
        parser.add_argument(
            "--checklist", default=FAINTBENCH, metavar="NAME|PATH", help=f"that of the run ({FAINTBENCH})"
        )
        parser.set_defaults(run=told(run))


def _sample(arguments: argparse.Namespace) -> None:
    from pytest_factorfair.labelling import sheet
    from pytest_factorfair.labelling.human import draw, sample

    if not 0 < arguments.share <= 1:
        raise InputError(f"--share: expected a number above 0 and at most 1, got {arguments.share:g}")
    _at_least_one("--pictures", arguments.pictures, most=MOST_PICTURES)
    _at_least_one("--evaluators", arguments.evaluators, most=MOST_EVALUATORS)
    reports = [source for source in arguments.sources if source.endswith(".json")]
    stores = [source for source in arguments.sources if source not in reports] or [DEFAULT]
    checklist, records = _run(reports, arguments.checklist)
    asked = {key.case for key in records}
    among = [case for case in every_prompt(checklist).values() if case.id in asked]
    drawn = draw.drawn(among, arguments.share, seed=arguments.seed)
    evaluators = tuple(f"e{number}" for number in range(1, arguments.evaluators + 1))
    plan = sample.Plan(arguments.pictures, evaluators, arguments.seed)
    with ExitStack() as stack:
        found = sample.write(
            Path(arguments.out),
            _pools(stack, stores, checklist, drawn, records.values()),
            checklist.attributes,
            plan,
            checklist=checklist.digest,
            truth=checklist.truth,
        )
    models = dict.fromkeys(key.model for key in records)
    for line in _drawn(found, models, plan, prompts=len(drawn), among=len(among)):
        say(line)
    say(f"{arguments.out}: hand {sheet.README}, {sheet.SHEET} and {sheet.FOLDER} to the evaluators")


def _run(reports: Sequence[str], name: str) -> tuple[Faintbench, Mapping[CaseKey, Record]]:
    """The checklist of some reports, and their records of it."""
    if not reports:
        raise InputError("name the report.json of a run: it tells which picture is of which prompt")
    read = {path: _report(path) for path in reports}
    truth, first = read[reports[0]].truth, reports[0]
    checklist = faintbench(name, truth)
    records: dict[CaseKey, Record] = {}
    for path, report in read.items():
        if report.truth != truth:
            raise InputError(f"{path}: its truth set is {report.truth}, that of {first} is {truth}")
        same_content(path, report.checklists.get(checklist.name), checklist)
        for record in report.records:
            if record.case in records:
                told = f"case {record.case.case} of model '{record.case.model}'"
                raise InputError(f"{path}: {told} is in a report before it, too; name one of them")
            if record.case.checklist == checklist.name:
                records[record.case] = record
    return checklist, records


class _Report(NamedTuple):
    truth: str
    checklists: Mapping[str, str]
    records: tuple[Record, ...]


def _report(path: str) -> _Report:
    from pytest_factorfair.reports import saved
    from pytest_factorfair.reports.json_report import record

    report = saved.opened(path, name=path)
    try:
        fingerprint = report["fingerprint"]
        records = tuple(record(row) for row in report["cases"])
        return _Report(str(fingerprint["truth"]), dict(fingerprint["checklists"]), records)
    except saved.DAMAGE as error:
        raise saved.damaged(path, error) from None


def _pools(
    stack: ExitStack,
    stores: Iterable[str],
    checklist: Faintbench,
    drawn: Sequence[PromptCase],
    records: Iterable[Record],
) -> list[Pool]:
    """The pictures that are in the stores of each prompt drawn, model by model."""
    from pytest_factorfair.labelling.human.sample import Candidate, pictures

    people = {case.id: len(checklist.subject(case.subject).sides) for case in drawn}
    of_prompts = [
        tuple(pictures(record, people[record.case.case])) for record in records if record.case.case in people
    ]
    files = dict(_files(stack, stores, {one.key for each in of_prompts for one in each}))
    return [tuple(Candidate(one, files[one.key]) for one in each if one.key in files) for each in of_prompts]


def _files(
    stack: ExitStack, stores: Iterable[str], wanted: Container[str]
) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Key and reader of each picture that is wanted; a run may have millions."""
    from pytest_factorfair.store import upkeep

    for name in stores:
        store = stack.enter_context(opened(name, read_only=True))
        for _, key, file in upkeep.pictures(store):
            if key in wanted:
                yield key, partial(store.picture, file)


def _drawn(key: Key, models: Iterable[str], plan: Plan, *, prompts: int, among: int) -> Iterator[str]:
    """What was drawn of each model, and where there was not as much as asked for."""
    for model in models:
        counts = Counter(one.case for one in key.pictures.values() if one.case.model == model)
        full = sum(count == plan.pictures for count in counts.values())
        short = f", {prompts - full:,} of them with fewer than {plan.pictures}" if full < prompts else ""
        drawn = f"{plural(counts.total(), 'picture')} of {plural(prompts, 'prompt')}{short}"
        yield f"{model}: {drawn}, drawn from {among:,}"


def _at_least_one(option: str, number: int, *, most: int) -> None:
    if not 1 <= number <= most:
        raise InputError(f"{option}: expected a number from 1 to {most:,}, got {number}")


def _score(arguments: argparse.Namespace) -> None:
    from pytest_factorfair.labelling import people, sheet, text
    from pytest_factorfair.labelling.human import compare, key, records

    path = Path(arguments.sheet)
    beside = path.with_name(sheet.KEY)
    known = key.read(beside)
    checklist = faintbench(arguments.checklist, known.truth)
    same_content(beside, known.checklist, checklist)
    cases = _asked(beside, known, checklist)
    faces = records.aligned(known, sheet.read(path, checklist.attributes), path)
    for attribute in checklist.attributes:
        if attribute.name not in faces[0].labels:
            raise InputError(f"{path}: no column holds labels of {attribute.name}")
    opinions = [people.opinion(faces, attribute) for attribute in checklist.attributes]
    for line in text.agreement(opinions, len(faces), len(known.pictures)):
        say(line)
    found = records.compared(known, opinions, cases)
    if found.unlabelled:
        say(f"{found.unlabelled:,} pictures that nobody has labelled are left out of both")
    for model in sorted({record.case.model for record in found.people}):
        scores = (
            _scores(each, checklist, tuple(cases.values()), model) for each in (found.people, found.automatic)
        )
        for line in compare.text(model, compare.side_by_side(*scores)):
            say(line)


def _asked(where: Path, key: Key, checklist: Faintbench) -> dict[str, PromptCase]:
    """The prompts of a key by id."""
    every = every_prompt(checklist)
    ids = dict.fromkeys(picture.case.case for picture in key.pictures.values())
    for id_ in ids:
        if id_ not in every:
            raise InputError(f"{where}: there is no prompt '{id_}' in checklist {checklist.name}")
    return {id_: every[id_] for id_ in ids}


def _scores(
    records: Iterable[Record], checklist: Faintbench, cases: Sequence[PromptCase], model: str
) -> tuple[Score, ...]:
    from pytest_factorfair.scoring.faintbench import gallery, scores

    return scores(gallery(records, checklist, cases, model=model))
