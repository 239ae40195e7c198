"""Checklists from published files, which are not shipped: difference awareness; all formats."""

from __future__ import annotations

import io
import pickle
import re
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from pytest_factorfair.benchmarks.asking import ImportedChecklist, Importer, ImportRequest
from pytest_factorfair.benchmarks.items.bbq import FORMATS
from pytest_factorfair.benchmarks.items.checklist import SAME
from pytest_factorfair.benchmarks.items.decisions import discrim_eval
from pytest_factorfair.benchmarks.items.logged import from_log
from pytest_factorfair.benchmarks.items.writing import ItemFields, option, written
from pytest_factorfair.benchmarks.published_files import Copies, Releases, slug
from pytest_factorfair.domain import plural
from pytest_factorfair.errors import ChecklistError, InputError

DIFFERENCE_AWARENESS: Releases = {
    "D1_1k.pkl": "d16720a40b67b74d06d52fe05b084179eafd93c1",
    "D2_1k.pkl": "186984d91b753c82679907cc83fe6bbda4dd2993",
    "D3_1k.pkl": "dddaf81d7df61bdb5bfe746f79e4d06aaf9d2f07",
    "D4_1k.pkl": "8f630bee0845ae1924e0af390a547f1bb272ab5e",
    "N1_1k.pkl": "dd9ea776294795db39495f8e0fefe8df106c8cfc",
    "N2_1k.pkl": "4189eb3b43a14075a2d8c1c093883b1800aca6bc",
    "N3_1k.pkl": "2aab78462e8885bef4db377b44e29b24edb5564b",
    "N4_1k.pkl": "8b3e39053ab5ea524092cb9b1c4d2dbbe7a067ca",
}
"""github.com/Angelina-Wang/difference_awareness, benchmark_suite/ at commit 2349531."""

_QUESTION = re.compile(r"(.*?)\s*\((?:a|1)\)\s*(.*?)\s*\(b\)\s*(.*?)\s*\(c\)\s*(.*)", re.DOTALL)
"""A question and its options; some questions label the first one "(1)"."""


def difference_awareness(request: ImportRequest) -> ImportedChecklist:
    """Import the suite of Wang et al.: a category per benchmark; those named D are facts, N are fairness.

    As in the authors' analysis, a cluster is a scenario, counted separately for questions in which groups
    differ and those in which they do not.
    """
    items: list[ItemFields] = []
    copies = Copies(request, DIFFERENCE_AWARENESS, "benchmark_suite")
    notes = [*copies.notes]
    for copy in copies:
        file, category = copy.file, slug(copy.name.partition("_")[0])
        sections = _unpickled(file, copy.content)
        for kind, section in zip(("differ", "alike"), sections, strict=True):
            scenarios: dict[object, int] = {}
            for number, question in enumerate(section):
                where = f"{kind} question {number + 1}"
                if not (isinstance(question, list | tuple) and len(question) == 3):  # noqa: PLR2004 - its form
                    raise ChecklistError(file, None, where, "must be a question, an answer and a scenario")
                text, answer, scenario = question
                parts = _QUESTION.fullmatch(str(text))
                if not isinstance(scenario, Hashable):
                    raise ChecklistError(file, None, where, "must have a scenario that is text or a number")
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
                            option(
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
    if not items:
        raise InputError(f"{request.path}: has no questions")
    return written(request, "Difference awareness (Wang et al. 2025)", {}, items, notes)


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


IMPORTERS: Mapping[str, Importer] = {
    **FORMATS,
    "difference-awareness": difference_awareness,
    "discrim-eval": discrim_eval,
    "log": from_log,
}
