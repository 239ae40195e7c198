"""OpenAI-compatible chat completions over aiohttp: OpenAI, vLLM, SGLang, llama.cpp, Ollama, TGI.

Ids are ``openai/NAME``, ``hosted_vllm/NAME``, or anything at all with ``base_url=``. Arguments:
temperature (0), max_tokens (1024), top_p, seed=true (sends each request's own seed), system, base_url,
api_key_env, timeout (120 s), and ``body.KEY=VALUE``, which goes into the request body as it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.errors import InputError, ModelError, RetryableModelError
from pytest_factorfair.models import arguments
from pytest_factorfair.models.chat_endpoint import Endpoint, locate
from pytest_factorfair.models.chat_replies import (
    Complaint,
    MalformedReplyError,
    complaint,
    parsed,
    response_of,
)
from pytest_factorfair.models.http_errors import error_of, named
from pytest_factorfair.models.prices import price
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.models.redaction import fit
from pytest_factorfair.models.spec import ModelSpec

if TYPE_CHECKING:
    from pytest_factorfair.models.http_client import HttpClient, Reply

KINDS = {
    "temperature": arguments.TEMPERATURE,
    "max_tokens": arguments.COUNT,
    "top_p": arguments.SHARE,
    "seed": arguments.FLAG,
    "system": arguments.TEXT,
    "base_url": arguments.TEXT,
    "api_key_env": arguments.TEXT,
    "timeout": arguments.SECONDS,
}
BODY = "body."
RESERVED = ("messages", "model", "stream", "n")


def build(spec: ModelSpec) -> Model:
    """The model of an id, checked and not yet connected.

    Raises:
        InputError: an argument, the base URL or the key is missing or cannot be right.
    """
    values = arguments.read(spec, KINDS, passed_on=(BODY,))
    extra = arguments.under(values, BODY)
    for key in (*RESERVED, *KINDS):
        if key in extra and (key in RESERVED or key in ("temperature", "max_tokens", "top_p", "seed")):
            raise InputError(f"model '{spec.text}': argument '{BODY}{key}' is set by the run itself")
    endpoint = locate(spec, base_url=_text(values, "base_url"), api_key_env=_text(values, "api_key_env"))
    return ChatCompletions(spec.text, endpoint, values=values, extra=extra)
