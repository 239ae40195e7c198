"""``factorfair human``: sample pictures of a run for people to label, and compute scores from the labels."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from pytest_factorfair.commands.common import (
    ALL_PROMPTS,
    DEFAULT_STORE,
    Commands,
    check_between,
    loaded,
    read_conftest,
    same_content,
    say,
    split,
    stored_pictures,
)
from pytest_factorfair.domain import plural
from pytest_factorfair.errors import InputError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from pytest_factorfair.domain import Case, CaseKey, Checklist, Record
    from pytest_factorfair.labelling.sample import Candidate

MOST_EVALUATORS = 50
MOST_PICTURES = 10_000


def add(commands: Commands) -> None:
    """Add the command ``human`` and its subcommands."""
    human = commands.add_parser("human", help="compare scores with labels from people")
    kinds = human.add_subparsers(required=True, metavar="COMMAND")
    sample = kinds.add_parser("sample", help="draw prompts and pictures, write a sheet for evaluators")
    score = kinds.add_parser(
        "score", help="compare scores from the evaluators' labels with the automatic scores"
    )
    sample.add_argument(
        "sources",
        metavar="REPORT|STORE",
        nargs="+",
        help=f"report.json of a run, and the store with its pictures ({DEFAULT_STORE})",
    )
    sample.add_argument("--share", type=float, default=0.1, metavar="X", help="share of the prompts (0.1)")
    sample.add_argument("--pictures", type=int, default=20, metavar="N", help="per prompt and model (20)")
    sample.add_argument("--evaluators", type=int, default=10, metavar="N", help="number of evaluators (10)")
    sample.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the draw (0)")
    sample.add_argument("--out", required=True, metavar="DIR", help="a new folder")
    score.add_argument("sheet", metavar="SHEET", help="the sheet filled in by the evaluators, in its folder")
    for parser, run in ((sample, run_sample), (score, run_score)):
        parser.add_argument(
            "--checklist",
            metavar="NAME|PATH",
            help="checklist of the run, if it is not a shipped one",
        )
        parser.set_defaults(run=run)


def run_sample(arguments: argparse.Namespace) -> None:
    from pytest_factorfair.labelling import sheet
    from pytest_factorfair.labelling.records import SCHEMA
    from pytest_factorfair.labelling.sample import Page, draw_prompts, lay_out

    read_conftest()
    if not 0 < arguments.share <= 1:
        raise InputError(f"--share: expected a number above 0 and at most 1, got {arguments.share:g}")
    check_between("--pictures", arguments.pictures, maximum=MOST_PICTURES)
    check_between("--evaluators", arguments.evaluators, maximum=MOST_EVALUATORS)
    reports, stores = split(arguments.sources)
    checklist, prompts, records = _run(reports, arguments.checklist)
    asked = {key.case for key in records}
    asked_prompts = [case for case in prompts.values() if case.id in asked]
    drawn_prompts = draw_prompts(asked_prompts, arguments.share, seed=arguments.seed)
    evaluators = [f"e{number}" for number in range(1, arguments.evaluators + 1)]
    head = {"schema": SCHEMA, "checklist": checklist.digest, "truth": checklist.truth, "seed": arguments.seed}
    page = Page(
        key=head,
        study="scores",
        attributes=checklist.attributes,
        annotators=evaluators,
    )
    chance = Random(f"{arguments.seed}")  # noqa: S311 - a reproducible draw
    with ExitStack() as stack:
        pools = [
            chance.sample(pool, len(pool))
            for pool in _pools(stack, stores, drawn_prompts, list(records.values()))
        ]
        drawn = lay_out(Path(arguments.out), pools, arguments.pictures, page, chance=chance)
    for model in dict.fromkeys(key.model for key in records):
        counts = Counter(
            candidate.origin["case"] for candidate in drawn if candidate.origin["model"] == model
        )
        fewer = len(drawn_prompts) - sum(count == arguments.pictures for count in counts.values())
        short = f", {fewer:,} of them with fewer than {arguments.pictures}" if fewer else ""
        say(
            f"{model}: {plural(counts.total(), 'picture')} of {plural(len(drawn_prompts), 'prompt')}{short}, "
            f"drawn from {len(asked_prompts):,}"
        )
    say(f"{arguments.out}: give {sheet.README}, {sheet.SHEET} and {sheet.FOLDER} to the evaluators")


def _prompts(names: Sequence[str], truth: str, where: Path | str) -> tuple[Checklist, dict[str, Case]]:
    """The first of these checklists with prompts for a number of people, and these prompts by id."""

    for name in names:
        checklist, cases = loaded(name, truth)
        if prompts := {id_: case for id_, case in cases.items() if case.people}:
            return checklist, prompts
    problem = (
        f"checklist {' or '.join(names)} has no prompts" if names else "no shipped checklist has prompts"
    )
    raise InputError(f"{where}: {problem} for a number of people; name the run's with --checklist")


def _run(
    reports: Sequence[str], named: str | None
) -> tuple[Checklist, dict[str, Case], dict[CaseKey, Record]]:
    """The checklist that the reports have in common, its prompts, and the reports' records of it."""
    from pytest_factorfair.benchmarks import shipped
    from pytest_factorfair.reports.json_report import opened, record

    if not reports:
        raise InputError("name the report.json of a run: it says which picture belongs to which prompt")
    contents: dict[str, tuple[str, dict[str, str], tuple[Record, ...]]] = {}
    for path in reports:
        with opened(path, name=path) as report:
            run = report["fingerprint"]
            report_records = tuple(record(row) for row in report["cases"])
            contents[path] = str(run["truth"]), dict(run["checklists"]), report_records
    truth, checklist_digests, _ = contents[reports[0]]
    names = [named] if named else [name for name in checklist_digests if name in shipped()]
    checklist, prompts = _prompts(names, truth, reports[0])
    records: dict[CaseKey, Record] = {}
    for path, (report_truth, digests, report_records) in contents.items():
        if report_truth != truth:
            raise InputError(f"{path}: its truth set is {report_truth}, that of {reports[0]} is {truth}")
        same_content(path, digests.get(checklist.name), checklist)
        for case_record in report_records:
            if case_record.case in records:
                case = f"case {case_record.case.case} of model '{case_record.case.model}'"
                raise InputError(f"{path}: {case} is also in an earlier report; name only one of them")
            if case_record.case.checklist == checklist.name:
                records[case_record.case] = case_record
    return checklist, prompts, records


def _pools(
    stack: ExitStack,
    stores: Sequence[str],
    drawn_prompts: Sequence[Case],
    records: Sequence[Record],
) -> list[list[Candidate]]:
    """The pictures in the stores, for each pair of model and prompt."""
    from pytest_factorfair.labelling.records import pictures
    from pytest_factorfair.labelling.sample import Candidate

    people = {case.id: case.people or 0 for case in drawn_prompts}
    by_record = [
        tuple(pictures(record, people[record.case.case])) for record in records if record.case.case in people
    ]
    keys = {picture.key for record_pictures in by_record for picture in record_pictures}
    files = {key: read for _, key, read in stored_pictures(stack, stores) if key in keys}
    return [
        [
            Candidate(picture.to_json(), files[picture.key], picture.people)
            for picture in record_pictures
            if picture.key in files
        ]
        for record_pictures in by_record
    ]


def run_score(arguments: argparse.Namespace) -> None:
    from pytest_factorfair.benchmarks import benchmark_of
    from pytest_factorfair.benchmarks.measuring import ReportInputs
    from pytest_factorfair.labelling import compare, people, records, sheet

    read_conftest()
    path = Path(arguments.sheet)
    key_file = path.with_name(sheet.KEY)
    key = records.read_key(key_file)
    asked = dict.fromkeys(picture.case.checklist for picture in key.pictures.values())
    names = [arguments.checklist] if arguments.checklist else list(asked)
    checklist, prompts = _prompts(names, key.truth, key_file)
    same_content(key_file, key.checklist, checklist)
    cases: dict[str, Case] = {}
    for picture in key.pictures.values():
        case = picture.case.case
        if case not in prompts:
            raise InputError(f"{key_file}: there is no prompt '{case}' in checklist {checklist.name}")
        cases[case] = prompts[case]
    faces = records.aligned(key, sheet.read(path, checklist.attributes), path)
    for attribute in checklist.attributes:
        if attribute.name not in faces[0].labels:
            raise InputError(f"{path}: there is no column of labels for {attribute.name}")
    labels_by_attribute = [people.majority_labels(faces, attribute) for attribute in checklist.attributes]
    for line in people.agreement(labels_by_attribute, len(faces), len(key.pictures)):
        say(line)
    comparison = records.compared(key, labels_by_attribute, cases)
    if comparison.unlabelled:
        say(f"left out of both because nobody labelled them: {plural(comparison.unlabelled, 'picture')}")
    measuring = benchmark_of(checklist).measuring
    for model in sorted({record.case.model for record in comparison.people}):
        by_people, automatic = (
            measuring.report(
                measuring.count(
                    compared_records, checklist, tuple(cases.values()), models=(model,), sampling=ALL_PROMPTS
                ),
                ReportInputs(),
            ).scores
            for compared_records in (comparison.people, comparison.automatic)
        )
        for line in compare.scores_text(model, compare.side_by_side(by_people, automatic)):
            say(line)
