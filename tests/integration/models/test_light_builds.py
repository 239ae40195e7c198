from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.servers import ROOT

PROGRAM = """
import sys
from pytest_factorfair.models import build, litellm_catalogue
litellm_catalogue.installed = lambda: True  # whether litellm is there does not matter to what building imports
arguments = {"base_url": "http://127.0.0.1:1/v1"}
build("openai/m", arguments, checklists=(), custom={})
if litellm_catalogue.providers():
    build("litellm:openai/m", arguments, checklists=(), custom={})
build("replay:answers.jsonl", {}, checklists=(), custom={})
try:
    build("transformers:checkpoint", {}, checklists=(), custom={})
except Exception as error:
    assert "needs an extra" in str(error), error
heavy = {"aiohttp", "litellm", "torch", "transformers", "tokenizers", "numpy", "openai", "httpx"}
print(*sorted(heavy & set(sys.modules)))
"""


def test_building_imports_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / "answers.jsonl").write_text('{"prompt": "a", "text": "b"}')
    checkpoint = tmp_path / "checkpoint"
    checkpoint.mkdir()
    (checkpoint / "config.json").write_text("{}")
    (checkpoint / "model.safetensors").write_bytes(b"")
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(
        command, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "\n", "")
