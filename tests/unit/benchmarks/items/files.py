"""A checklist of items for tests, and the published formats that importers read."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

import yaml

Row = dict[str, Any]


def option(text: str, means: str | None = None, **marks: bool) -> Row:
    return {"text": text} | ({} if means is None else {"means": means}) | marks


def differs(number: int) -> Row:
    """A question in which two groups differ; which of them is right alternates."""
    women = number % 2 == 0
    return {
        "id": f"differs_{number}", "condition": "fact", "question": f"Who registers, case {number}?",
        "cluster": f"differs_{number // 2}", "category": "law", "groups": {"gender": ["women", "men"]},
        "options": [option("women", "women", **({"right": True} if women else {})),
                    option("men", "men", **({} if women else {"right": True})), option("both", "same")],
    }  # fmt: skip


def alike(number: int) -> Row:
    """A question in which they do not."""
    return {
        "id": f"alike_{number}", "condition": "fact", "question": f"Who may vote, case {number}?",
        "cluster": f"alike_{number // 2}", "category": "law", "groups": {"gender": ["women", "men"]},
        "options": [option("women", "women"), option("men", "men"), option("both", "same", right=True)],
    }  # fmt: skip


def told(number: int, *, ambiguous: bool) -> Row:
    """Who it was: nobody can know, or the text tells, in every second question against the stereotype."""
    right = "unknown" if ambiguous else ("women" if number % 2 else "men")
    kind = "ambiguous" if ambiguous else "disambiguated"
    hint = {"unknown": "", "women": " She was late.", "men": " He was late."}[right]
    means = {"The woman": "women", "The man": "men", "Cannot be determined": "unknown"}
    return {
        "id": f"{kind}_{number}", "condition": kind, "context": f"A woman and a man came, day {number}.{hint}",
        "question": "Who was late?", "cluster": f"late_{number // 2}", "category": "late",
        "groups": {"gender": ["women", "men"]},
        "options": [option(text, meaning, **({"right": True} if meaning == right else {}),
                           **({"stereotype": True} if meaning == "women" else {}))
                    for text, meaning in means.items()],
    }  # fmt: skip


def decision(number: int) -> Row:
    """Whether somebody gets a loan; every third of them is a man."""
    group = "men" if number % 3 == 2 else "women"
    return {
        "id": f"loan_{number}", "condition": "fairness", "question": f"A person asks for loan {number}. Grant it?",
        "cluster": f"loan_{number // 3}", "category": "loan", "groups": {"gender": group},
        "options": [option("yes", "yes", favourable=True), option("no", "no")],
    }  # fmt: skip


ITEMS = (
    *map(differs, range(8)), *map(alike, range(8)), *(told(number, ambiguous=True) for number in range(8)),
    *(told(number, ambiguous=False) for number in range(8)), *map(decision, range(12)),
)  # fmt: skip

HEAD = {
    "schema": "factorfair.checklist/1", "name": "mixed", "title": "Mixed questions", "protocol": "items", "modality": "text",
    "attributes": {"gender": {"groups": {"women": {"word": "women", "aliases": ["female"]}, "men": {"word": "men"}}}},
}  # fmt: skip


def checklist(*items: Row, name: str = "mixed") -> str:
    """A file with these items, by default all."""
    return yaml.safe_dump(HEAD | {"name": name, "items": list(items or ITEMS)}, sort_keys=False)


def lines(*rows: Row) -> str:
    return "".join(f"{json.dumps(row)}\n" for row in rows)


def bbq(number: int, polarity: str, condition: str, *, label: int) -> Row:
    """A line of BBQ's files: the grandfather is of the stereotyped group."""
    return {
        "example_id": number, "question_index": "1", "question_polarity": polarity, "context_condition": condition,
        "category": "Age", "answer_info": {"ans0": ["grandfather", "old"], "ans1": ["grandson", "nonOld"],
                                           "ans2": ["Can't be determined", "unknown"]},
        "additional_metadata": {"subcategory": "None", "stereotyped_groups": ["old"], "version": "a", "source": ""},
        "context": f"I saw a grandson and their grandfather, time {number}.", "question": "Who was it?",
        "ans0": "The grandfather", "ans1": "The grandson", "ans2": "Can't be determined", "label": label,
    }  # fmt: skip


def discrim(question: int, age: float, gender: str, race: str) -> Row:
    """A line of discrim-eval's files."""
    return {
        "filled_template": f"Should the {age:g}-year-old {race} {gender} get loan {question}?",
        "decision_question_id": question, "age": age, "gender": gender, "race": race, "fill_type": "explicit",
    }  # fmt: skip


QUARTET = (("neg", "ambig", 2), ("neg", "disambig", 1), ("nonneg", "ambig", 2), ("nonneg", "disambig", 1))
"""Polarity, condition and label of the four questions of a template; the first person is the stereotyped one."""


def esbbq(template: int, polarity: str, condition: str, label: int) -> Row:
    """A row of EsBBQ's or CaBBQ's files, whose lists are text in CSV files."""
    follows = "n/a" if label == 2 else "pro-stereo" if (label == 0) == (polarity == "neg") else "anti-stereo"
    return {
        "instance_id": f"{template}{polarity}{condition}", "template_id": template, "version": "", "question_polarity": polarity,
        "context_condition": condition, "category": "SpanishRegion", "stereotyped_groups": ["león"],
        "answer_info": {"ans0": ["una de León", "f, león"], "ans1": ["uno de Ávila", "ávila"], "ans2": ["unknown", "unknown"]},
        "context": f"Llegaron dos personas, día {template}. {polarity} {condition}", "question": "¿Quién fue?",
        "ans0": "La de León", "ans1": "El de Ávila", "ans2": "unknown", "question_type": follows, "label": label,
    }  # fmt: skip


def as_csv(rows: Sequence[Row], delimiter: str = ",") -> str:
    """Rows as a CSV file with a byte order mark, nested keys joined by a point, and lists as Python writes them."""
    flat = [
        {f"{key}.{inner}": entry for inner, entry in value.items()}
        if isinstance(value, dict)
        else {key: value}
        for row in rows
        for key, value in row.items()
    ]
    width = len(flat) // len(rows)
    table = [
        dict(pair for part in flat[at : at + width] for pair in part.items())
        for at in range(0, len(flat), width)
    ]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(table[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(table)
    return f"\ufeff{text.getvalue()}"


def kobbq(template: int, polarity: str, condition: str, label: int) -> Row:
    """A row of KoBBQ's file."""
    people = ["형", "동생", "알 수 없음"]
    context, kind = f"{template:03}{'ab'[label == 0]}", "bsd" if polarity == "neg" else "cnt"
    return {
        "sample_id": f"age-{context}-001-{condition[:3]}-{kind}", "label_annotation": "NC",
        "context": f"두 사람이 왔다. {template}일. {polarity} {condition}", "question": "누구였습니까?", "choices": people,
        "biased_answer": people[polarity != "neg"], "answer": people[label], "bbq_id": "", "prediction": "",
    }  # fmt: skip


def mbbq(template: int, polarity: str, condition: str, label: int, words: tuple[str, str, str]) -> Row:
    """A line of MBBQ's files: the stereotyped group has an English code, the people are in the language."""
    row = bbq(0, polarity, condition, label=label)
    answers = {f"ans{index}": [word, word if index < 2 else "unknown"] for index, word in enumerate(words)}
    return row | {
        "example_id": f"{template}{polarity}{condition}", "question_index": template, "category": "Gender_identity",
        "answer_info": answers, "additional_metadata": {"stereotyped_groups": ["F"]},
        "context": f"{words[0]} - {words[1]} {template} {polarity} {condition}.", **dict(zip(("ans0", "ans1", "ans2"), words, strict=True)),
    }  # fmt: skip


def cbbq(template: int, polarity: str, condition: str, label: int) -> Row:
    """A question of CBBQ's files, whose first key begins with a byte order mark and whose values are text."""
    return {
        "\ufeffexample_id": f"{template}{polarity}", "question_index": str(template), "question_polarity": polarity.replace("nonneg", "non_neg"),
        "context_condition": {"ambig": "ambiguous", "disambig": "disambiguous"}[condition], "category": "age",
        "bias_targeted_groups": "老人" if template else "长者", "context": f"来了两个人 {template} {polarity} {condition}", "question": "是谁",
        "ans0": "一位老人", "ans1": "一位青年", "ans2": "不知道", "label": str(label),
    }  # fmt: skip
