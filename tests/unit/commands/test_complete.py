"""``factorfair complete``: a shell that reads the script completes commands and options."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from pytest_factorfair.commands import complete
from pytest_factorfair.commands.cli import main
from tests.extras import needs

COMPLETED = """
source {script}
function=$(complete -p factorfair | sed "s/.*-F \\([^ ]*\\).*/\\1/")
complete() {{ COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); $function; echo "${{COMPREPLY[@]}}"; }}
complete factorfair pro
complete factorfair prompts --form
"""


@needs("completion")
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_commands_and_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["complete", "bash"]) == 0
    script = tmp_path / "completion.bash"
    script.write_text(capsys.readouterr().out, encoding="utf-8")
    completed = subprocess.run(
        ["bash", "-c", COMPLETED.format(script=script)], capture_output=True, text=True, check=True
    )
    assert completed.stdout.split() == ["prompts", "--format"]


@needs("completion")
@pytest.mark.skipif(shutil.which("fish") is None, reason="needs fish")
def test_fish_completes_commands_and_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["complete", "fish"]) == 0
    (tmp_path / "factorfair.fish").write_text(capsys.readouterr().out, encoding="utf-8")
    program = "source factorfair.fish; complete -C 'factorfair pro'; complete -C 'factorfair prompts --form'"
    command = ["fish", "--no-config", "-c", program]
    completed = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert [line.partition("\t")[0] for line in completed.stdout.splitlines()] == ["prompts", "--format"]


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(complete, "find_spec", lambda _: None)
    assert main(["complete", "bash"]) == 4
    expected = "complete needs an extra: pip install 'pytest-factorfair[completion]'\n"
    assert capsys.readouterr().err == expected


def test_an_unknown_shell(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["complete", "bsh"]) == 4
    assert "did you mean 'bash'?" in capsys.readouterr().err
