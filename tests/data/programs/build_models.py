"""Prints the heavy modules that building models has imported."""

import sys
from contextlib import suppress

from pytest_factorfair.errors import MissingExtraError
from pytest_factorfair.models import build, litellm_catalogue

# Whether litellm is there does not matter to what building imports.
litellm_catalogue.installed = lambda: True
arguments = {"base_url": "http://127.0.0.1:1/v1"}
build("openai/m", arguments, checklists=(), custom={})
if litellm_catalogue.providers():
    build("litellm:openai/m", arguments, checklists=(), custom={})
build("replay:answers.jsonl", {}, checklists=(), custom={})
with suppress(MissingExtraError):
    build("transformers:checkpoint", {}, checklists=(), custom={})
heavy = {"aiohttp", "litellm", "torch", "transformers", "tokenizers", "numpy", "openai", "httpx"}
print(*sorted(heavy & set(sys.modules)))
