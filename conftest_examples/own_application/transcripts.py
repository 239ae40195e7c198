"""Stands in for transcripts that you have: a file each, with the messages of a conversation."""

from __future__ import annotations

import json
from pathlib import Path

from app import answer

folder = Path("transcripts")
folder.mkdir()
for number, line in enumerate(Path("prompts.jsonl").read_text(encoding="utf-8").splitlines()):
    prompt = json.loads(line)["prompt"]
    messages = [{"role": "user", "content": prompt}, {"role": "assistant", "content": answer(prompt)}]
    (folder / f"{number:03}.json").write_text(json.dumps({"messages": messages}) + "\n", encoding="utf-8")
