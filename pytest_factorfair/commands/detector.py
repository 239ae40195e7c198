"""``factorfair detector``: sample pictures to label, compare detectors with the labels, fetch models."""

from __future__ import annotations

from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from pytest_factorfair.commands.common import (
    DEFAULT_STORE,
    Commands,
    check_between,
    from_hooks,
    read_hooks,
    say,
    split,
    stored_pictures,
    write,
)
from pytest_factorfair.config.options import CHECKLISTS
from pytest_factorfair.domain import plural
from pytest_factorfair.errors import InputError, nearest
from pytest_factorfair.runs.extensions import DETECTORS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from pytest_factorfair.detection import Detector
    from pytest_factorfair.domain import Attribute, Detection
    from pytest_factorfair.labelling.sample import Candidate
    from pytest_factorfair.labelling.sheet import Spot

CHECKLIST = CHECKLISTS["image"]
MOST_ANNOTATORS = 20
LONGEST_NAME = 80


def add(commands: Commands) -> None:
    """Add the command ``detector`` and its subcommands."""
    detector = commands.add_parser("detector", help="measure a detector's errors, fetch its model")
    kinds = detector.add_subparsers(required=True, metavar="COMMAND")
    sample = kinds.add_parser("sample", help="draw pictures and write a sheet for annotators")
    evaluate = kinds.add_parser("evaluate", help="compare detectors with the annotators' majority votes")
    export = kinds.add_parser("export", help="convert FairFace's published checkpoint to ONNX")
    fetch = kinds.add_parser("fetch", help="download a model file and verify it (extra images)")
    sample.add_argument(
        "sources",
        metavar="REPORT|STORE",
        nargs="+",
        help=f"a report.json, a store, or both (store of a report: {DEFAULT_STORE})",
    )
    sample.add_argument("--model", action="append", help="only pictures of this model (repeatable)")
    sample.add_argument("--per-model", type=int, default=25, metavar="N", help="pictures per model (25)")
    sample.add_argument("--annotators", type=int, default=3, metavar="N", help="number of annotators (3)")
    sample.add_argument("--seed", type=int, default=0, metavar="N", help="seed of the draw (0)")
    sample.add_argument(
        "--detector",
        metavar="SPEC",
        help="write one row per face that this detector finds, instead of one per picture",
    )
    sample.add_argument("--out", required=True, metavar="DIR", help="a new folder")
    evaluate.add_argument("sheet", metavar="SHEET", help="the sheet filled in by the annotators")
    evaluate.add_argument(
        "--detector", required=True, action="append", metavar="SPEC", help="a detector (repeatable)"
    )
    evaluate.add_argument("--out", metavar="DIR", help="folder for the error tables (default: the sheet's)")
    for parser in (sample, evaluate):
        parser.add_argument(
            "--checklist",
            default=CHECKLIST,
            metavar="NAME|PATH",
            help=f"the checklist whose attributes are labelled ({CHECKLIST})",
        )
    export.add_argument("checkpoint", metavar="CHECKPOINT", help="res34_fair_align_multi_7_20190809.pt")
    export.add_argument("target", metavar="TARGET", help="the ONNX file to write")
    fetch.add_argument("name", metavar="NAME|URL", help="fairface, yunet, yunet-opencv4, or a URL")
    fetch.add_argument("--sha256", help="the expected checksum of a file given by URL")
    fetch.add_argument("--out", default=".", metavar="DIR", help="target folder (.)")
    for parser, run in (
        (sample, run_sample),
        (evaluate, run_evaluate),
        (export, run_export),
        (fetch, run_fetch),
    ):
        parser.set_defaults(run=run)


def run_sample(arguments: argparse.Namespace) -> None:
    from pytest_factorfair import detection
    from pytest_factorfair.labelling import sheet
    from pytest_factorfair.labelling.sample import Page, lay_out

    check_between("--per-model", arguments.per_model, maximum=100_000)
    check_between("--annotators", arguments.annotators, maximum=MOST_ANNOTATORS)
    attributes = _attributes(arguments.checklist)
    detector = _detector(arguments.detector, attributes) if arguments.detector else None
    annotators = [str(number) for number in range(1, arguments.annotators + 1)]
    seed = arguments.seed
    page = Page(
        key={"schema": "factorfair.sample/1", "seed": seed},
        study="detector",
        attributes=attributes,
        annotators=annotators,
    )
    with ExitStack() as stack:
        models = _candidates(stack, arguments.sources, arguments.model)
        pools = []
        for model in sorted(models):
            pool = [models[model][key] for key in sorted(models[model])]
            Random(f"{seed} {model}").shuffle(pool)  # noqa: S311 - a reproducible draw
            pools.append(pool)
        drawn = lay_out(
            Path(arguments.out),
            pools,
            arguments.per_model,
            page,
            chance=Random(f"{seed}"),  # noqa: S311 - a reproducible draw
            find=partial(detection.read, detector, attributes=attributes) if detector else None,
        )
    for model in sorted(models):
        count = sum(candidate.origin["model"] == model for candidate in drawn)
        say(f"{model}: {count:,} of {plural(len(models[model]), 'picture')}")
    say(f"{arguments.out}: give {sheet.README}, {sheet.SHEET} and {sheet.FOLDER} to the annotators")


def _candidates(
    stack: ExitStack, sources: Sequence[str], selected_models: Sequence[str] | None
) -> dict[str, dict[str, Candidate]]:
    """The stored pictures by model and key, restricted to the runs of the reports if there are any."""
    from pytest_factorfair.labelling.sample import Candidate
    from pytest_factorfair.reports import json_report

    reports, stores = split(sources)
    asked: dict[str, str] = {}
    for report in reports:
        with json_report.opened(report, name=report) as content:
            for case in content["cases"]:
                asked |= {
                    str(answer["key"]): str(case["model"]) for answer in case["answers"] if answer.get("key")
                }
    models: dict[str, dict[str, Candidate]] = {}
    for named, key, read in stored_pictures(stack, stores):
        if key in asked or not reports:
            model = asked.get(key, named)
            models.setdefault(model, {})[key] = Candidate({"model": model, "key": key}, read)
    for model in selected_models or ():
        if model not in models:
            raise InputError(f"--model: there are no pictures of '{model}'{nearest(model, models)}")
    return models if selected_models is None else {model: models[model] for model in selected_models}


def run_evaluate(arguments: argparse.Namespace) -> None:
    from pytest_factorfair.labelling import compare, error_table, people, sheet
    from pytest_factorfair.models import slug

    path = Path(arguments.sheet)
    attributes = _attributes(arguments.checklist)
    faces = sheet.read(path, attributes)
    labelled = [attribute for attribute in attributes if attribute.name in faces[0].labels]
    files: dict[str, Path] = {}
    for spec in dict.fromkeys(arguments.detector):
        file = Path(arguments.out or path.parent) / f"errors-{slug(spec)[:LONGEST_NAME]}.json"
        if file in files.values():
            raise InputError(
                f"--detector {spec}: the tables of two detectors would both be {file.name}; "
                "compare one at a time"
            )
        files[spec] = file
    detectors = [_detector(spec, labelled) for spec in files]
    spots = [face.spot for face in faces]
    images: dict[str, bytes] = {}
    for name in dict.fromkeys(spot.picture for spot in spots):
        try:
            images[name] = (path.parent / name).read_bytes()
        except (OSError, ValueError) as error:
            raise InputError(f"{path}: picture '{name}' cannot be read: {error}") from None
    labels_by_attribute = [people.majority_labels(faces, attribute) for attribute in labelled]
    for line in people.agreement(labels_by_attribute, len(faces), len(images)):
        say(line)
    for (spec, file), detector in zip(files.items(), detectors, strict=True):
        detections = _detections(path, spec, detector, images, spots, labelled)
        tables = [
            compare.confusion(majority_labels, spots, [detections[spot.picture] for spot in spots])
            for majority_labels in labels_by_attribute
        ]
        for line in compare.errors_text(spec, tables):
            say(line)
        written = write(file, error_table.to_json(detector.identity, tables))
        say(f"written: {written}, for the setting detector_errors")


def _detections(  # what a sheet says, and who reads it
    sheet: Path,
    spec: str,
    detector: Detector,
    images: Mapping[str, bytes],
    spots: Sequence[Spot],
    attributes: Sequence[Attribute],
) -> dict[str, Detection]:
    """A detector's detections in a sheet's pictures, by picture; a model's replies go to the default store.

    Raises:
        InputError: a picture cannot be read, or the sheet has boxes of faces and the detector gives none.
    """
    from pytest_factorfair import detection
    from pytest_factorfair.detection.vision import VisionDetector
    from pytest_factorfair.engine import Engine
    from pytest_factorfair.store import Store

    with ExitStack() as stack:
        if isinstance(detector, VisionDetector):
            if any(spot.box for spot in spots):
                raise InputError(
                    f"{sheet}: its rows are boxes of faces, and detector '{spec}' gives no boxes: "
                    "draw a sample without --detector"
                )
            price = detector.price
            store = stack.enter_context(closing(Store.open(DEFAULT_STORE)))
            engine = stack.enter_context(closing(Engine(store, price=lambda _: price)))
            detector.connect(engine.submit)
        seen = dict(zip(images, detection.read(detector, images.values(), attributes), strict=True))
    for name, picture_detection in seen.items():
        if picture_detection.error:
            raise InputError(f"{sheet.parent / name}: {picture_detection.error}")
    if unparsed := [
        picture_detection.unparsed for picture_detection in seen.values() if picture_detection.unparsed
    ]:
        say(f"{spec}: {plural(len(unparsed), 'reply', 'replies')} unparsed, such as: {unparsed[0]}")
    return seen


def _attributes(checklist: str) -> tuple[Attribute, ...]:
    """The attributes to label in a checklist: all but crossed ones, which follow from the others."""
    from pytest_factorfair import benchmarks

    read_hooks()
    loaded = benchmarks.load(checklist, truth="audited", base=Path.cwd())
    if loaded.modality != "image":
        raise InputError(f"checklist '{loaded.name}' asks language models: it has no pictures to label")
    return tuple(attribute for attribute in loaded.attributes if not attribute.crossed)


def _detector(spec: str, attributes: Sequence[Attribute]) -> Detector:
    """Build the detector of a spec; the current folder's conftest.py may add detectors."""
    from pytest_factorfair import detection

    detector = detection.build(spec, custom=from_hooks(DETECTORS))
    detection.check(detector, attributes)
    return detector


def run_export(arguments: argparse.Namespace) -> None:
    from pytest_factorfair.detection import model_files

    model_files.fairface(Path(arguments.checkpoint), Path(arguments.target))
    say(f"{arguments.target}: use it as --factorfair-detector=fairface:{arguments.target}?faces=FILE")


def run_fetch(arguments: argparse.Namespace) -> None:
    from pytest_factorfair.detection import model_files

    is_url = "://" in arguments.name
    if is_url != bool(arguments.sha256):
        raise InputError("--sha256 goes with a URL, and a URL with --sha256: downloads are always verified")
    if is_url:
        source = model_files.Download(arguments.name, arguments.sha256)
    else:
        source = model_files.known(arguments.name)
    file = model_files.fetch(source, Path(arguments.out))
    say(f"{file}" + (f": {source.licence}" if source.licence else ""))
