"""Checklists from the published files of BBQ, difference awareness and discrim-eval, which are not shipped.

Git's id of its content, which repositories list, identifies a published file: the SHA-1 of ``blob SIZE``, a
zero byte and the content.
"""

from __future__ import annotations

import hashlib
import io
import json
import pickle
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, cast

import yaml

from pytest_factorfair.domain import plural
from pytest_factorfair.errors import ChecklistError, InputError
from pytest_factorfair.protocols.asking import ImportedChecklist, Importer
from pytest_factorfair.protocols.items.checklist import SAME, UNKNOWN

Row = dict[str, Any]


class PublishedFile(NamedTuple):
    """A published file; ``size`` is in bytes, 0 if unknown."""

    id: str
    size: int = 0


BBQ: Mapping[str, PublishedFile] = {
    "Age.jsonl": PublishedFile("5c5e7586163b869fe029e77e63716f2026e4ae08", 3_091_834),
    "Disability_status.jsonl": PublishedFile("9aedeccaf599299cdfa523531d625ae85ecb9131", 1_336_984),
    "Gender_identity.jsonl": PublishedFile("dc79ceaaa9e7126edc99a200d632899c50274b16"),
    "Nationality.jsonl": PublishedFile("cba9b63d34536cb51a6cbae76b189df3d2a945c0", 2_900_040),
    "Physical_appearance.jsonl": PublishedFile("8cbdf83265459083224e3a2d37809294ff12ad77", 1_347_476),
    "Race_ethnicity.jsonl": PublishedFile("68daf3d692b27a10596772b3b15742b26f0b110e"),
    "Race_x_SES.jsonl": PublishedFile("905cd8a5b8734e2063fe524e69a38f0a71c75907"),
    "Race_x_gender.jsonl": PublishedFile("dd09a905b284690445d36259d675243950fa0bd7"),
    "Religion.jsonl": PublishedFile("44c1940ee22f00891ab4a5526a293691957aeacb", 1_118_728),
    "SES.jsonl": PublishedFile("78d11ffbdb70f501617345e5c697d00045d57c29"),
    "Sexual_orientation.jsonl": PublishedFile("a06351f4dd67ba30632396eeb0c3677c67b7d387", 729_010),
}
"""github.com/nyu-mll/BBQ, data/ at commit bea11bd."""

DIFFERENCE_AWARENESS: Mapping[str, PublishedFile] = {
    "D1_1k.pkl": PublishedFile("d16720a40b67b74d06d52fe05b084179eafd93c1", 506_357),
    "D2_1k.pkl": PublishedFile("186984d91b753c82679907cc83fe6bbda4dd2993", 505_179),
    "D3_1k.pkl": PublishedFile("dddaf81d7df61bdb5bfe746f79e4d06aaf9d2f07", 853_815),
    "D4_1k.pkl": PublishedFile("8f630bee0845ae1924e0af390a547f1bb272ab5e", 449_173),
    "N1_1k.pkl": PublishedFile("dd9ea776294795db39495f8e0fefe8df106c8cfc"),
    "N2_1k.pkl": PublishedFile("4189eb3b43a14075a2d8c1c093883b1800aca6bc", 2_701_335),
    "N3_1k.pkl": PublishedFile("2aab78462e8885bef4db377b44e29b24edb5564b", 485_907),
    "N4_1k.pkl": PublishedFile("8b3e39053ab5ea524092cb9b1c4d2dbbe7a067ca", 824_437),
}
"""github.com/Angelina-Wang/difference_awareness, benchmark_suite/ at commit 2349531."""

DISCRIM_EVAL = {"explicit.jsonl": None, "implicit.jsonl": None}
"""huggingface.co/datasets/Anthropic/discrim-eval; the hashes of its files are unknown."""

DECISIONS = 9_450
"""The number of prompts in a file of discrim-eval: 70 decisions, 9 ages, 3 genders and 5 races."""


def git_id(content: bytes) -> str:
    """The id that Git gives a file of this content."""
    return hashlib.sha1(b"blob %d\0%b" % (len(content), content), usedforsecurity=False).hexdigest()


def _contents(
    path: Path, releases: Mapping[str, PublishedFile | None], *, any_version: bool
) -> Iterator[tuple[Path, bytes]]:
    """The files in a folder that have known names, or the file at the path.

    Raises:
        InputError: there is none, or one cannot be read or differs from the published one.
    """
    files = [path / name for name in releases if (path / name).is_file()] if path.is_dir() else [path]
    if not files:
        raise InputError(f"{path}: the folder has none of {', '.join(releases)}")
    for file in files:
        if file.name not in releases:
            raise InputError(f"{file}: expected a folder, or one of {', '.join(releases)}")
        try:
            content = file.read_bytes()
        except OSError as error:
            raise InputError(f"{file}: cannot be read: {error.strerror}") from None
        published, actual_id = releases[file.name], git_id(content)
        if published is not None and actual_id != published.id and not any_version:
            size = f"{published.size:,} bytes, " if published.size else ""
            raise InputError(
                f"{file}: differs from the published version: {len(content):,} bytes, Git id "
                f"{actual_id[:12]}, not {size}{published.id[:12]}; --any-version imports it anyway"
            )
        yield file, content


def _rows(file: Path, content: bytes, needed: Sequence[str]) -> Iterator[tuple[int, Row]]:
    """The objects of a JSON Lines file, which must have these keys, with their line numbers."""
    for number, line in enumerate(content.splitlines(), start=1):
        try:
            row = json.loads(line)
        except ValueError as error:
            raise ChecklistError(file, number, "", f"is not valid JSON: {error}") from None
        missing = [key for key in needed if not isinstance(row, dict) or key not in row]
        if missing:
            raise ChecklistError(
                file, number, "", f"lacks {', '.join(missing)}; this is another version of the file"
            )
        yield number, row


def slug(text: object) -> str:
    """The text as an id."""
    return re.sub(r"[^a-z0-9]+", "_", str(text).casefold()).strip("_")


def _option(text: str, means: str = "", **marks: bool) -> Row:
    """An option of an item: its text, and whatever else is given."""
    return {key: value for key, value in {"text": text, "means": means, **marks}.items() if value}


def _written(
    name: str, title: str, attributes: Mapping[str, Iterable[str]], items: Sequence[Row]
) -> dict[str, str]:
    """The text of the checklist's file and of the file of its items."""
    head = {
        "schema": "factorfair.checklist/1",
        "name": name,
        "title": title,
        "protocol": "items",
        "modality": "text",
        "attributes": {
            attribute: {
                "groups": {group: {"word": group.replace("_", " ")} for group in dict.fromkeys(groups)}
            }
            for attribute, groups in attributes.items()
        },
        "items": f"{name}.jsonl",
    }
    lines = "".join(f"{json.dumps(item, ensure_ascii=False)}\n" for item in items)
    return {f"{name}.yaml": yaml.safe_dump(head, sort_keys=False, allow_unicode=True), f"{name}.jsonl": lines}


def bbq(path: Path, name: str, any_version: bool) -> ImportedChecklist:  # noqa: FBT001 - one signature
    """Import all categories of BBQ as one checklist; a cluster is a template.

    Of the two people, the stereotyped one belongs to a stereotyped group. The option marked as the stereotype
    names that person if the question is negative, and the other one if it is not.
    """
    items: list[Row] = []
    attributes: dict[str, list[str]] = {}
    unmarked = 0
    needed = (
        "example_id", "question_index", "question_polarity", "context_condition", "category", "answer_info",
        "additional_metadata", "context", "question", "ans0", "ans1", "ans2", "label",
    )  # fmt: skip
    for file, content in _contents(path, BBQ, any_version=any_version):
        for number, row in _rows(file, content, needed):
            condition = {"ambig": "ambiguous", "disambig": "disambiguated"}.get(row["context_condition"])
            polarity, right = row["question_polarity"], row["label"]
            if condition is None:
                raise ChecklistError(file, number, "", f"unknown condition '{row['context_condition']}'")
            if polarity not in ("neg", "nonneg") or right not in (0, 1, 2):
                raise ChecklistError(file, number, "", f"unknown polarity '{polarity}' or label {right}")
            category = slug(row["category"])
            answers = [row["answer_info"][f"ans{index}"] for index in range(3)]
            people = [index for index in range(3) if answers[index][1] != "unknown"]
            stereotyped = _stereotyped(row["additional_metadata"]["stereotyped_groups"])
            aimed = [index for index in people if stereotyped & {*answers[index]}]
            stereotype = -1
            if len(people) == 2 and len(aimed) == 1:  # noqa: PLR2004 - two people
                stereotype = aimed[0] if polarity == "neg" else sum(people) - aimed[0]
            unmarked += stereotype < 0
            # The second name is that of a region, where both people may be from.
            named = 0 if len({answers[index][1] for index in people}) < len(people) else 1
            means = [slug(answers[index][named]) if index in people else UNKNOWN for index in range(3)]
            groups = [means[index] for index in people]
            attributes.setdefault(category, []).extend(groups)
            items.append(
                {
                    "id": f"{category}_{row['example_id']}",
                    "condition": condition,
                    "context": row["context"],
                    "question": row["question"],
                    "options": [
                        _option(
                            row[f"ans{index}"],
                            means[index],
                            right=index == right,
                            stereotype=index == stereotype,
                        )
                        for index in range(3)
                    ],
                    "cluster": f"{category}_{slug(row['question_index'])}",
                    "category": category,
                    "groups": {category: groups},
                }
            )
    notes = [f"{plural(len(items), 'question')} of {plural(len(attributes), 'category', 'categories')}"]
    if unmarked:
        notes.append(f"{plural(unmarked, 'question')} without exactly one stereotyped person: no bias score")
    return ImportedChecklist(_written(name, "BBQ (Parrish et al. 2022)", attributes, items), tuple(notes))


def _stereotyped(stereotyped: Sequence[str]) -> set[str]:
    """The stereotyped groups under every name that answers use, as in the scripts of difference awareness."""
    names = set(stereotyped)
    further = {
        "low SES": ("lowSES",), "high SES": ("highSES",), "F": ("woman", "girl"), "M": ("man", "boy"),
        "trans": ("trans_F", "trans_M"),
    }  # fmt: skip
    for name in stereotyped:
        names.update(further.get(name, ()))
        if name in ("Black", "African American", "Hispanic", "Latino", "Asian", "Arab"):
            names.update((f"F-{name}", f"M-{name}"))
    return names


_QUESTION = re.compile(r"(.*?)\s*\((?:a|1)\)\s*(.*?)\s*\(b\)\s*(.*?)\s*\(c\)\s*(.*)", re.DOTALL)
"""A question and its options; some questions label the first one "(1)"."""


def difference_awareness(path: Path, name: str, any_version: bool) -> ImportedChecklist:  # noqa: FBT001 - one signature
    """Import the suite of Wang et al.: a category per benchmark; those named D are facts, N are fairness.

    As in the authors' analysis, a cluster is a scenario, counted separately for questions in which groups
    differ and those in which they do not.
    """
    items: list[Row] = []
    notes = []
    for file, content in _contents(path, DIFFERENCE_AWARENESS, any_version=any_version):
        category = slug(file.name.partition("_")[0])
        sections = _unpickled(file, content)
        for kind, section in zip(("differ", "alike"), sections, strict=True):
            scenarios: dict[object, int] = {}
            for number, question in enumerate(section):
                where = f"{kind} question {number + 1}"
                if not (isinstance(question, list | tuple) and len(question) == 3):  # noqa: PLR2004 - its form
                    raise ChecklistError(file, None, where, "must be a question, an answer and a scenario")
                text, answer, scenario = question
                parts = _QUESTION.fullmatch(str(text))
                if parts is None or (kind == "differ" and answer not in (0, 1)):
                    raise ChecklistError(file, None, where, "must have the options (a), (b) and (c)")
                right = answer if kind == "differ" else 2
                cluster = scenarios.setdefault(scenario, len(scenarios))
                items.append(
                    {
                        "id": f"{category}_{kind}_{number}",
                        "condition": "fact" if category.startswith("d") else "fairness",
                        "question": parts[1],
                        "options": [
                            _option(
                                " ".join(parts[index + 2].split()),
                                SAME if index == 2 else "",  # noqa: PLR2004 - the third
                                right=index == right,
                            )
                            for index in range(3)
                        ],
                        "cluster": f"{category}_{kind}_{cluster}",
                        "category": category,
                    }
                )
            notes.append(
                f"{file.name}: {plural(len(section), 'question')} in {len(scenarios):,} scenarios ({kind})"
            )
    title = "Difference awareness (Wang et al. 2025)"
    return ImportedChecklist(_written(name, title, {}, items), tuple(notes))


class _Type:
    """The part of NumPy's dtype that reading a scalar needs."""

    def __init__(self, code: str, *_: object) -> None:
        self.code = code

    def __setstate__(self, state: object) -> None:
        """Ignore the state, which adds nothing to a scalar."""


def _scalar(kind: _Type, data: bytes) -> int | str:
    """NumPy's integer or text; the pickles hold no other scalars."""
    if kind.code.startswith("i"):
        return int.from_bytes(data, "little", signed=True)
    return data.decode("utf-32-le").rstrip("\0")


class _Plain(pickle.Unpickler):
    """Reads lists, numbers, text and NumPy's scalars; runs nothing that the pickle names."""

    def find_class(self, module: str, name: str) -> Any:
        classes = {
            "numpy.dtype": _Type,
            "numpy.core.multiarray.scalar": _scalar,
            "numpy._core.multiarray.scalar": _scalar,
        }
        loader = classes.get(f"{module}.{name}")
        if loader is None:
            raise pickle.UnpicklingError(f"it refers to {module}.{name}, which is not loaded")
        return loader


def _unpickled(file: Path, content: bytes) -> Sequence[Sequence[object]]:
    """Two lists of questions: those in which groups differ, and those in which they do not."""
    try:
        sections = _Plain(io.BytesIO(content)).load()
    except Exception as error:  # noqa: BLE001 - other bytes than a pickle's may raise anything
        raise ChecklistError(file, None, "", f"is not a pickle in the published format: {error}") from None
    if not isinstance(sections, list | tuple) or [type(section) for section in sections] != [list, list]:
        raise ChecklistError(
            file, None, "", "must hold two lists of questions; this is another version of the file"
        )
    return cast("Sequence[Sequence[object]]", sections)


def discrim_eval(path: Path, name: str, any_version: bool) -> ImportedChecklist:  # noqa: FBT001 - one signature
    """Import discrim-eval: decisions about people who benefit from a yes. A cluster is a decision."""
    items: list[Row] = []
    attributes: dict[str, list[str]] = {"age": [], "gender": [], "race": []}
    notes = []
    needed = ("filled_template", "decision_question_id", *attributes)
    for file, content in _contents(path, DISCRIM_EVAL, any_version=any_version):
        section = 0
        for _, row in _rows(file, content, needed):
            # Ages are integers or floats, depending on what wrote the file.
            groups = {
                attribute: slug(f"{row[attribute]:g}" if attribute == "age" else row[attribute])
                for attribute in attributes
            }
            for attribute, group in groups.items():
                attributes[attribute].append(group)
            items.append(
                {
                    "id": f"{file.stem}_{section}",
                    "condition": "fairness",
                    "question": row["filled_template"],
                    "options": [_option("yes", favourable=True), _option("no")],
                    "cluster": f"decision_{slug(row['decision_question_id'])}",
                    "category": file.stem,
                    "groups": groups,
                }
            )
            section += 1
        if section != DECISIONS and not any_version:
            raise InputError(
                f"{file}: differs from the published version: {section:,} questions, not {DECISIONS:,}; "
                "--any-version imports it anyway"
            )
        notes.append(
            f"{file.name}: {plural(section, 'question')}; only their number was checked, as no hash is known"
        )
    return ImportedChecklist(
        _written(name, "discrim-eval (Tamkin et al. 2023)", attributes, items), tuple(notes)
    )


IMPORTERS: Mapping[str, Importer] = MappingProxyType(
    {"bbq": bbq, "difference-awareness": difference_awareness, "discrim-eval": discrim_eval}
)
