"""``factorfair detector``: sample pictures for people to label, compare detectors with them, fetch models."""

from __future__ import annotations

import json
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_factorfair.commands.common import say, told, write
from pytest_factorfair.commands.store import DEFAULT, opened
from pytest_factorfair.domain import plural
from pytest_factorfair.errors import InputError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from pytest_factorfair.commands.common import Commands
    from pytest_factorfair.detection import Detector
    from pytest_factorfair.domain import Attribute
    from pytest_factorfair.labelling.sample import Candidate

CHECKLIST = "fact_or_fair_t2i"
MOST_ANNOTATORS = 20
LONGEST_NAME = 80


def add(commands: Commands) -> None:
    """Add ``detector`` and what it can do to the commands."""
    detector = commands.add_parser("detector", help="hold what reads pictures against people")
    kinds = detector.add_subparsers(required=True, metavar="COMMAND")
    sample = kinds.add_parser("sample", help="draw pictures and write a sheet for annotators")
    evaluate = kinds.add_parser("evaluate", help="compare detectors with the annotators' majority")
    export = kinds.add_parser("export", help="write FairFace's published checkpoint as ONNX")
    fetch = kinds.add_parser("fetch", help="download a model file and check it")
    sample.add_argument(
        "sources",
        metavar="REPORT|STORE",
        nargs="+",
        help=f"a report.json, or a store; of a report: {DEFAULT}",
    )
    sample.add_argument("--model", action="append", help="pictures of this model only (repeatable)")
    sample.add_argument("--per-model", type=int, default=25, metavar="N", help="pictures per model (25)")
    sample.add_argument("--annotators", type=int, default=3, metavar="N", help="who will label (3)")
    sample.add_argument("--seed", type=int, default=0, metavar="N", help="which pictures are drawn (0)")
    sample.add_argument(
        "--detector", metavar="SPEC", help="a row for each face it finds, not for each picture"
    )
    sample.add_argument("--out", required=True, metavar="DIR", help="a new folder")
    evaluate.add_argument("sheet", metavar="SHEET", help="the sheet that the annotators filled in")
    evaluate.add_argument("--detector", required=True, action="append", metavar="SPEC", help="repeatable")
    evaluate.add_argument("--out", metavar="DIR", help="where tables of errors go (beside the sheet)")
    for parser in (sample, evaluate):
        parser.add_argument(
            "--checklist", default=CHECKLIST, metavar="NAME|PATH", help=f"whose attributes ({CHECKLIST})"
        )
    export.add_argument("checkpoint", metavar="CHECKPOINT", help="res34_fair_align_multi_7_20190809.pt")
    export.add_argument("target", metavar="TARGET", help="the ONNX file")
    fetch.add_argument("name", metavar="NAME|URL", help="fairface, yunet, or the address of another file")
    fetch.add_argument("--sha256", help="what the file of a URL must have")
    fetch.add_argument("--out", default=".", metavar="DIR", help="where it goes (here)")
    for parser, run in ((sample, _sample), (evaluate, _evaluate), (export, _export), (fetch, _fetch)):
        parser.set_defaults(run=told(run))


def _sample(arguments: argparse.Namespace) -> None:
    from pytest_factorfair import detection
    from pytest_factorfair.labelling import sample, sheet

    _at_least_one("--per-model", arguments.per_model)
    _at_least_one("--annotators", arguments.annotators, most=MOST_ANNOTATORS)
    attributes = _attributes(arguments.checklist)
    detector = _detector(arguments.detector, attributes) if arguments.detector else None
    with ExitStack() as stack:
        drawn = sample.write(
            Path(arguments.out),
            _candidates(stack, arguments.sources, arguments.model),
            attributes,
            sample.Plan(arguments.per_model, arguments.annotators, arguments.seed),
            find=partial(detection.read, detector, attributes=attributes) if detector else None,
        )
    for one in drawn:
        say(f"{one.model}: {one.pictures:,} of {plural(one.among, 'picture')}")
    say(f"{arguments.out}: hand {sheet.README}, {sheet.SHEET} and {sheet.FOLDER} to the annotators")


def _candidates(stack: ExitStack, sources: Sequence[str], models: Sequence[str] | None) -> list[Candidate]:
    """The pictures of the stores, of the runs alone whose reports are named; one store will do for those."""
    from pytest_factorfair.errors import nearest
    from pytest_factorfair.labelling.sample import Candidate
    from pytest_factorfair.store import upkeep

    reports = [source for source in sources if source.endswith(".json")]
    stores = [source for source in sources if source not in reports] or [DEFAULT]
    asked = {key: model for report in reports for key, model in _asked(report).items()}
    found = []
    for name in stores:
        store = stack.enter_context(opened(name, read_only=True))
        found += [
            Candidate(asked.get(key, model), key, partial(store.picture, file))
            for model, key, file in upkeep.pictures(store)
            if key in asked or not reports
        ]
    known = {one.model for one in found}
    for model in models or ():
        if model not in known:
            raise InputError(f"--model: there are no pictures of '{model}'{nearest(model, known)}")
    return [one for one in found if models is None or one.model in models]


def _asked(report: str) -> dict[str, str]:
    """The model of each picture's key."""
    try:
        cases = json.loads(Path(report).read_text(encoding="utf-8"))["cases"]
        return {
            str(answer["key"]): str(case["model"])
            for case in cases
            for answer in case["answers"]
            if answer.get("key")
        }
    except OSError as error:
        raise InputError(f"{report}: cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise InputError(f"{report}: not a report.json") from None


def _evaluate(arguments: argparse.Namespace) -> None:
    from pytest_factorfair import detection, detector_errors
    from pytest_factorfair.labelling import compare, people, sheet, text

    path = Path(arguments.sheet)
    attributes = _attributes(arguments.checklist)
    faces = sheet.read(path, attributes)
    labelled = [one for one in attributes if one.name in faces[0].labels]
    files = _files(arguments, path)
    detectors = [_detector(spec, labelled) for spec in files]
    images = {face.spot.picture: _picture(path, face.spot.picture) for face in faces}
    opinions = [people.opinion(faces, attribute) for attribute in labelled]
    for line in text.agreement(opinions, len(faces), len(images)):
        say(line)
    for (spec, file), detector in zip(files.items(), detectors, strict=True):
        seen = dict(zip(images, detection.read(detector, images.values(), labelled), strict=True))
        for name, read in seen.items():
            if read.error:
                raise InputError(f"{path.parent / name}: {read.error}")
        spots = [face.spot for face in faces]
        tables = [compare.confusion(one, spots, [seen[spot.picture] for spot in spots]) for one in opinions]
        for line in text.results(spec, tables):
            say(line)
        table = write(file, detector_errors.to_json(detector.identity, tables))
        say(f"written: {table}, for --factorfair-detector-errors")


def _files(arguments: argparse.Namespace, path: Path) -> dict[str, Path]:
    """Where each detector's table goes, by spec."""
    from pytest_factorfair.models import slug

    folder = Path(arguments.out) if arguments.out else path.parent
    specs = list(dict.fromkeys(arguments.detector))
    names = [f"errors-{slug(spec)[:LONGEST_NAME]}.json" for spec in specs]
    for spec, name in zip(specs, names, strict=True):
        if names.count(name) > 1:
            raise InputError(
                f"--detector {spec}: the table of two detectors would be {name}; compare one at a time"
            )
    return {spec: folder / name for spec, name in zip(specs, names, strict=True)}


def _picture(sheet: Path, name: str) -> bytes:
    try:
        return (sheet.parent / name).read_bytes()
    except (OSError, ValueError) as error:
        raise InputError(f"{sheet}: picture '{name}' cannot be read: {error}") from None


def _attributes(checklist: str) -> tuple[Attribute, ...]:
    """The attributes that can be seen in a face: crossed ones follow from them."""
    from pytest_factorfair import checklist as checklists

    found = checklists.load(checklist, truth="audited", base=Path.cwd())
    if found.modality != "image":
        raise InputError(f"checklist '{found.name}' is asked of language models: it has no pictures to label")
    return tuple(one for one in found.attributes if not one.crossed)


def _detector(spec: str, attributes: Sequence[Attribute]) -> Detector:
    from pytest_factorfair import detection

    detector = detection.build(spec, custom={})
    detection.check(detector, attributes)
    return detector


def _at_least_one(option: str, number: int, most: int = 100_000) -> None:
    if not 1 <= number <= most:
        raise InputError(f"{option}: expected a number from 1 to {most:,}, got {number}")


def _export(arguments: argparse.Namespace) -> None:
    from pytest_factorfair.detection import export

    export.fairface(Path(arguments.checkpoint), Path(arguments.target))
    say(f"{arguments.target}: for --factorfair-detector fairface:{arguments.target}?faces=FILE")


def _fetch(arguments: argparse.Namespace) -> None:
    from pytest_factorfair.detection import download

    is_url = "://" in arguments.name
    if is_url != bool(arguments.sha256):
        raise InputError("--sha256 goes with a URL, and a URL with --sha256: downloads are always verified")
    source = download.Source(arguments.name, arguments.sha256) if is_url else download.known(arguments.name)
    file = download.fetch(source, Path(arguments.out))
    say(f"{file}" + (f": {source.licence}" if source.licence else ""))
