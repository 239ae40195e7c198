"""Parsing YAML: values with their positions, and features that are rejected before a tree is built."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_factorfair.checklist.source import LARGEST, Node, read
from pytest_factorfair.errors import ChecklistError


def tree(folder: Path, text: str | bytes) -> Node:
    (folder / "x.yaml").write_bytes(text.encode() if isinstance(text, str) else text)
    return read(Path("x.yaml"), folder)


def refusal(folder: Path, text: str | bytes) -> str:
    with pytest.raises(ChecklistError) as refused:
        tree(folder, text)
    return str(refused.value)


def test_values_are_plain_and_know_their_lines(tmp_path: Path) -> None:
    root = tree(tmp_path, "a: 1\nb:\n- x\n- c: yes\n  d: >-\n    long\n    text\ne: 2024-05-01\n")
    assert root.plain() == {"a": 1, "b": ["x", {"c": True, "d": "long text"}], "e": "2024-05-01"}
    node, beyond = root.find(("b", 1, "d"))
    assert (node.line, node.steps, beyond) == (5, ("b", 1, "d"), ())


def test_find_stops_at_the_deepest_node(tmp_path: Path) -> None:
    root = tree(tmp_path, "a:\n  b: {}\n  c: [1]\n")
    assert [
        (node.line, beyond) for node, beyond in (root.find(("a", "b", "x", "y")), root.find(("a", "c", 7)))
    ] == [
        (2, ("x", "y")),
        (3, (7,)),
    ]
    node, beyond = root.find(("a", "c", 0, "text"))
    assert (node.value, beyond) == (1, ())


def test_byte_order_mark_is_no_text(tmp_path: Path) -> None:
    assert tree(tmp_path, b"\xef\xbb\xbfa: 1\n").plain() == {"a": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3\n", "x.yaml:3: a: is given twice, first on line 1"),
        ("a:\n  b: 1\n  b: 2\n", "x.yaml:3: a.b: is given twice, first on line 2"),
        (
            "a: &x 1\nb: *x\n",
            "x.yaml:1: anchors (&) and aliases (*) are not allowed; write the value out, or quote it",
        ),
        (
            "a: 1\nb: *x\n",
            "x.yaml:2: anchors (&) and aliases (*) are not allowed; write the value out, or quote it",
        ),
        (
            "a: !!python/name:os.system\n",
            "x.yaml:1: the tag tag:yaml.org,2002:python/name:os.system is not allowed; write plain YAML",
        ),
        ("a: !mine 1\n", "x.yaml:1: the tag !mine is not allowed; write plain YAML"),
        ("a: 1\n---\nb: 2\n", "x.yaml:2: a second document begins here; a file is one checklist"),
        ("a: 1\nb: " + "[" * 20 + "]" * 20 + "\n", "x.yaml:2: is nested more than 20 levels deep"),
        ("[1, 2]\n", "x.yaml:1: must be a mapping that begins with 'schema:'"),
        ("", "x.yaml:1: must be a mapping that begins with 'schema:'"),
        ("a: 1\n5: x\n", "x.yaml:2: a key must be text; write it in quotes: '5'"),
        ("a:\n  no: x\n", "x.yaml:2: a: a key must be text; write it in quotes: 'no'"),
        ("a: 1\n[b]: x\n", "x.yaml:2: a key must be text; write a word"),
        ("a: 0b_\n", "x.yaml:1: a: 0b_ is not a number; write text in quotes"),
        (b"a: 1\nb: \xff\n", "x.yaml:2: is not UTF-8 text"),
        (b"a: " + b"x" * LARGEST, "x.yaml: is larger than 2 MB, the limit for a checklist"),
    ],
)
def test_unsafe_yaml_is_refused(tmp_path: Path, text: str | bytes, message: str) -> None:
    assert refusal(tmp_path, text) == message


def test_syntax_error_names_line_and_problem(tmp_path: Path) -> None:
    assert refusal(tmp_path, "a: 1\nb: c: d\n").startswith("x.yaml:2: is not valid YAML: mapping values")
    assert "\n" not in refusal(tmp_path, "a: '\n\n\nb")


def test_control_characters_are_a_syntax_error(tmp_path: Path) -> None:
    assert refusal(tmp_path, "a: \x07\n").startswith("x.yaml: is not valid YAML: ")


def test_deep_nesting_does_not_exhaust_the_stack(tmp_path: Path) -> None:
    assert refusal(tmp_path, "a: " + "[" * 900_000) == "x.yaml:1: is nested more than 20 levels deep"


def test_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    with pytest.raises(ChecklistError, match=r"^sub: cannot be read: Is a directory$"):
        read(Path("sub"), tmp_path)


def test_messages_are_one_line(tmp_path: Path) -> None:
    assert (
        refusal(tmp_path, '"two\\nlines": 1\n"two\\nlines": 2\n')
        == "x.yaml:2: two lines: is given twice, first on line 1"
    )
