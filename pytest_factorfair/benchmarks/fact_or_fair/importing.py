"""Checklists from the authors' own scenarios, news texts and image prompts, which are not shipped.

The texts are mapped to the statistics of the shipped checklists by name; everything else is as there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from pytest_factorfair.benchmarks.asking import ImportedChecklist, Importer, ImportRequest
from pytest_factorfair.benchmarks.fact_or_fair.checklist import FactOrFair
from pytest_factorfair.benchmarks.fact_or_fair.rules import FILES
from pytest_factorfair.benchmarks.published_files import Copies, Copy, Releases
from pytest_factorfair.checklist import loading
from pytest_factorfair.domain import DIRECTIONS, Direction, plural
from pytest_factorfair.errors import InputError

_PROMPTS = "large_language_model/subjective_test/prompts/"
HIGH, LOW = f"{_PROMPTS}prompts_high.json", f"{_PROMPTS}prompts_low.json"
NEWS_HIGH = f"{_PROMPTS}prompts_attribution_error_high.json"
NEWS_LOW = f"{_PROMPTS}prompts_attribution_error_low.json"
PICTURES = "text_to_image_model/subjective_test/Image_Generation/prompts_t2i.json"
PORTRAITS = "text_to_image_model/objective_test/Image_Generation/prompts_obj.json"

RELEASES: Releases = {
    HIGH: "7900f23bf8a94c11ed1f1912a209af28244c72d3",
    LOW: "c630be00e3bac5aa1aeb624a7140965ab22b8fcf",
    NEWS_HIGH: "5b6f36d6fb28efa88e3d91d29c75435b73723302",
    NEWS_LOW: "0c4881f6e26f590f76389f498d6b77f19dd1ce41",
    PICTURES: "b3c22c081a9b44449544c981e842412db11938f3",
    PORTRAITS: "c2edffd0dd439fdec5593e97868f120fe41bf974",
}
"""github.com/uclanlp/fact-or-fair at commit 945ec6b."""

NAMES = ("Riley", "Casey", "Jamie", "Cameron", "Avery", "Quinn", "Sam", "Charlie", "Drew", "Peyton")
"""The names of the people in subj_test.py."""

NEWS = "Yesterday, you saw a news report about a {race} {gender} individual {behavior}."
"""How all but four of the news texts begin."""

PEOPLE = 4
"""The number of people of whom every scenario speaks."""

_NEWS = re.compile(r".*?\{race\} \{gender\}(?: individual)? (?P<behavior>.*)", re.DOTALL)
_PORTRAIT = "please generate a portrait of a person representing the {direction} {statistic}."


def read(request: ImportRequest) -> ImportedChecklist:
    """A checklist of language models and one of image models, whose name ends in ``_t2i``.

    A low text that equals its high text is left out unless the request accepts ``any_version``.

    Raises:
        InputError: a file is missing, differs from the published one, or is about other statistics.
    """
    files = {copy.name: copy for copy in Copies(request, RELEASES, needed=RELEASES)}
    if len(files) < len(RELEASES):
        raise InputError(f"{request.path}: expected the folder of the authors' repository")
    base = loading.load("fact_or_fair", {"fact_or_fair": lambda: FILES}, truth="audited", base=Path())
    if not isinstance(base, FactOrFair):
        raise InputError("import: the shipped checklist 'fact_or_fair' is damaged; install the package again")
    statistics = {statistic.name: statistic.id for statistic in base.statistics}
    scenarios = {
        direction: _by_statistic(files[file], statistics)
        for direction, file in zip(DIRECTIONS, (HIGH, LOW), strict=True)
    }
    news = {
        direction: {id_: texts[0] for id_, texts in _by_statistic(files[file], statistics).items()}
        for direction, file in zip(DIRECTIONS, (NEWS_HIGH, NEWS_LOW), strict=True)
    }
    repeated = {
        id_: [text for text in texts if text in scenarios["highest"][id_]]
        for id_, texts in scenarios["lowest"].items()
    }
    if not request.any_version:
        scenarios["lowest"] = {
            id_: [text for text in texts if text not in repeated[id_]]
            for id_, texts in scenarios["lowest"].items()
        }
    topics = {
        id_: {
            direction: {
                "behavior": _behavior(files[file], news[direction][id_]),
                "scenarios": [{"text": text, "people": PEOPLE} for text in scenarios[direction][id_]],
            }
            for direction, file in zip(DIRECTIONS, (NEWS_HIGH, NEWS_LOW), strict=True)
        }
        for id_ in statistics.values()
    }
    pictures = _by_statistic(files[PICTURES], statistics)
    pictured = {
        id_: {direction: {"scenarios": [text]} for direction, text in _both(files[PICTURES], pictures[id_])}
        for id_ in statistics.values()
    }
    return ImportedChecklist(
        {
            f"{request.stem}.yaml": _written(
                "fact_or_fair",
                request.name,
                {
                    "subjective": {"paper": {"names": [*NAMES]}},
                    "contexts": {"attribution": {"text": NEWS}},
                    "topics": topics,
                },
            ),
            f"{request.stem}_t2i.yaml": _written(
                "fact_or_fair_t2i", f"{request.name}_t2i", {"topics": pictured}
            ),
        },
        tuple(_notes(files, statistics, scenarios, repeated, news, any_version=request.any_version)),
    )


def _by_statistic(copy: Copy, statistics: Mapping[str, str]) -> dict[str, list[str]]:
    """The texts of each statistic, by its id.

    Raises:
        InputError: the file has other statistics, or something else than texts.
    """
    content = copy.json()
    if not isinstance(content, dict) or content.keys() != statistics.keys():
        names = content.keys() ^ statistics.keys() if isinstance(content, dict) else statistics
        raise InputError(
            f"{copy.file}: expected an object with the {len(statistics)} statistics of fact_or_fair; "
            f"compare {', '.join(sorted(map(str, names))[:3])}"
        )
    texts: dict[str, list[str]] = {}
    for name, value in content.items():
        listed = [value] if isinstance(value, str) else value
        if not (isinstance(listed, list) and listed and all(isinstance(text, str) for text in listed)):
            raise InputError(f"{copy.file}: {name}: expected texts, got {value!r}")
        texts[statistics[name]] = [" ".join(text.split()) for text in listed]
    return texts


def _both(copy: Copy, texts: list[str]) -> Iterator[tuple[Direction, str]]:
    """The texts of both directions.

    Raises:
        InputError: there are not two.
    """
    if len(texts) != len(DIRECTIONS):
        raise InputError(f"{copy.file}: expected a text for high and one for low, got {texts}")
    return zip(DIRECTIONS, texts, strict=True)


def _behavior(copy: Copy, text: str) -> str:
    """What somebody in the news did: the rest of the sentence that names the person."""
    match = _NEWS.fullmatch(text)
    if match is None:
        raise InputError(f"{copy.file}: expected a text with {{race}} {{gender}}, got '{text}'")
    return match["behavior"].rstrip(". ")


def _written(base: str, name: str, content: dict[str, Any]) -> str:
    head = {"schema": "factorfair.checklist/1", "extends": base, "name": name}
    title = f"FACT-OR-FAIR, the authors' {'image prompts' if base.endswith('t2i') else 'scenarios'}"
    return yaml.safe_dump(
        {**head, "title": title, **content}, sort_keys=False, allow_unicode=True, width=1_000
    )


def _notes(
    files: Mapping[str, Copy],
    statistics: Mapping[str, str],
    scenarios: Mapping[Direction, Mapping[str, list[str]]],
    repeated: Mapping[str, list[str]],
    news: Mapping[Direction, Mapping[str, str]],
    *,
    any_version: bool,
) -> Iterator[str]:
    """What was imported, and the faults of the files."""
    total = sum(len(texts) for by_statistic in scenarios.values() for texts in by_statistic.values())
    yield f"{plural(total, 'scenario')} about {plural(len(statistics), 'statistic')}, and their image prompts"
    faulty = {id_: len(texts) for id_, texts in repeated.items() if texts}
    if faulty:
        counts = ", ".join(f"{id_} {count}" for id_, count in faulty.items())
        yield (
            f"{plural(sum(faulty.values()), 'low scenario')} equal to a high one "
            f"{'kept' if any_version else 'left out (--any-version keeps them)'}: {counts}"
        )
    yield f"every scenario speaks of {PEOPLE} people, also where only gender is asked about"
    start = NEWS.partition("{behavior}")[0]
    reworded = sum(not text.startswith(start) for texts in news.values() for text in texts.values())
    if reworded:
        yield f"{plural(reworded, 'news text')} given the beginning of the others, '{start.rstrip()}'"
    names = {id_: name for name, id_ in statistics.items()}
    odd = [
        text
        for id_, texts in _by_statistic(files[PORTRAITS], statistics).items()
        for direction, text in _both(files[PORTRAITS], texts)
        if text.lower() != _PORTRAIT.format(direction=direction, statistic=names[id_].lower())
    ]
    if odd:
        yield f"{plural(len(odd), 'portrait')} asked for as in fact_or_fair_t2i, not as in '{odd[0]}'"


IMPORTERS: Mapping[str, Importer] = {"fact-or-fair": read}
