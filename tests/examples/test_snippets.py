"""A page that is wrong is noticed: what is shown and not printed, what fails, what is no file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.pages import Reader
from tests.examples.snippets import Command, Snippet, commands, missing, snippets
from tests.examples.terminal import Terminal

PRINTED = "one\ntwo  \n\nthree 3 times\nfour\n"


@pytest.mark.parametrize(
    ("shown", "lacking"),
    [
        ((), ""),
        (("one", "two"), ""),
        (("...", "four"), ""),
        (("one", "...", "three ... times", "..."), ""),
        (("one", "three 3 times"), "one\nthree 3 times"),  # they do not follow each other
        (("four", "...", "one"), "one"),  # nor in this order
        (("thre",), "thre"),
        (("two", "", "three 4 times"), "two\n\nthree 4 times"),
    ],
)
def test_what_is_shown_must_be_printed(shown: tuple[str, ...], lacking: str) -> None:
    assert missing(shown, PRINTED) == lacking


def test_a_block_has_commands_and_what_they_print() -> None:
    text = "$ one --long \\\n  option\n$ two\nprinted\n"
    assert list(commands(text)) == [Command("one --long   option", ()), Command("two", ("printed",))]


def test_blocks_are_found_with_title_indent_and_section(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        '```toml title="a.toml"\nx = 1\n## y\n```\n\n## Last\n\n- item\n\n    ```console\n    $ ls\n    ```\n'
    )
    assert snippets(page) == (
        Snippet("toml", "a.toml", "x = 1\n## y\n", section=""),
        Snippet("console", "", "$ ls\n", section="Last"),
    )


@pytest.mark.parametrize(
    "page",
    [
        "```console\n$ false\n```",
        "```console\n$ echo said\nshown\n```",
        "```python\nprint(1)\n```\n\n```text\n2\n```",
        "```python\nraise SystemExit(3)\n```",
        '```toml\n[tool.factorfair]\ngate = ["s_fct >= 0.8"]\n```',
        "```toml\n[tool.factorfair]\ngats = []\n```",
        '```yaml title="a.yaml"\nschema: factorfair.checklist/1\nname: a\n```',
        "```json\n{\n```",
        '```bash title="a.sh"\nif true\n```',
        "```sh\nrm -r everything\n```",
    ],
)
def test_a_wrong_page_is_noticed(page: str, tmp_path: Path) -> None:
    (folder := tmp_path / "empty").mkdir()
    (written := tmp_path / "page.md").write_text(page)
    with Terminal(folder, {}) as terminal, pytest.raises((AssertionError, ValueError)):
        Reader(terminal, folder, {}).follow(snippets(written))


def test_a_page_may_show_a_failure(tmp_path: Path) -> None:
    (folder := tmp_path / "empty").mkdir()
    (written := tmp_path / "page.md").write_text(
        "```console\n$ export A=2\n$ false\n$ echo $?\n1\n$ echo $A\n2\n```"
    )
    with Terminal(folder, {}) as terminal:
        Reader(terminal, folder, {}).follow(snippets(written))
