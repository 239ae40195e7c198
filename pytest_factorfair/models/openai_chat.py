"""Chat completions: the format of text models.

Arguments: temperature (0, or none), max_tokens (1024), top_p, seed=true (sends each request's own seed),
system, base_url, api_key_env, timeout (120 s), and ``body.KEY=VALUE``, which is passed on unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from pytest_factorfair.domain import Modality, Request, Response, utf8
from pytest_factorfair.domain.exchange import Finish
from pytest_factorfair.models import openai_errors
from pytest_factorfair.models.arguments import Count, OmissibleTemperature, PassThrough, Seconds, Share, Text
from pytest_factorfair.models.logprobs import REASONING
from pytest_factorfair.models.openai_errors import Complaint, MalformedReplyError, complaint_in
from pytest_factorfair.models.openai_format import Fetch, Format, Parameters, tokens
from pytest_factorfair.models.openai_replies import described
from pytest_factorfair.redaction import fit

# In lower case: OpenAI's values, then those of providers that services pass through (Anthropic, Gemini and
# Cohere, Mistral, watsonx; Bedrock, GLM).
_FINISHES: Mapping[str, Finish] = {
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "max_length": "length",
    "model_length": "length",
    "token_limit": "length",
    "model_context_window_exceeded": "length",
    "content_filter": "filtered",
    "content_filtered": "filtered",
    "guardrail_intervened": "filtered",
    "safety": "filtered",
    "image_safety": "filtered",
    "prohibited_content": "filtered",
    "recitation": "filtered",
    "blocklist": "filtered",
    "spii": "filtered",
    "sensitive": "filtered",
    "refusal": "refusal",
}
_SEARCHING = frozenset({"web_search_options", "tools", "plugins", "search_parameters", "enable_search"})
"""Request fields with which models search: OpenAI's, OpenRouter's, xAI's and Qwen's."""
SEARCHES = {"searches": "answers may change with the web"}
"""Part of the identity of models that search, for fingerprints."""
_SAMPLING = ("temperature", "top_p", "top_k")
"""Parameters that are left out if a model refuses them; models that reason often do."""


class ChatFormat(Format):
    """The settings of a chat model; builds its requests and reads its replies."""

    temperature: OmissibleTemperature | None = 0
    max_tokens: Count = 1024
    top_p: Share | None = None
    system: Text | None = None
    timeout: Seconds = 120
    body: Annotated[
        dict[str, object], PassThrough(frozenset({"messages", "model", "stream", "n"}), same_names=True)
    ] = Field(default_factory=dict)

    modality: ClassVar[Modality] = "text"
    largest: ClassVar[int] = 16 * 2**20

    @property
    def parameters(self) -> Parameters:
        settings = {"temperature": self.temperature, "max_tokens": self.max_tokens, "top_p": self.top_p}
        return {name: value for name, value in settings.items() if value is not None} | self.body

    @property
    def identity(self) -> Mapping[str, object]:
        identity = {"parameters": dict(self.parameters), "system": self.system, "seeded": self.seed}
        return identity if _SEARCHING.isdisjoint(self.body) else {**identity, **SEARCHES}

    def request(self, request: Request, parameters: Parameters) -> dict[str, object]:
        system = [{"role": "system", "content": self.system}] if self.system else []
        messages = [*system, {"role": "user", "content": self.content(request)}]
        return {**parameters, **({"seed": request.seed} if self.seed else {}), "messages": messages}

    def content(self, request: Request) -> str | list[dict[str, object]]:
        """The content of the user message: a text, or a list of parts."""
        return request.prompt

    async def response(
        self,
        reply: Mapping[str, object],
        *,
        prompt: str,  # noqa: ARG002  # for pictures
        model: str,
        fetch: Fetch,  # noqa: ARG002  # for pictures
    ) -> Response:
        return response_of(reply, model=model)

    def without_refused(self, sent: Parameters, complaint: Complaint) -> Parameters | None:
        parameters = dict(sent)
        refused = [name for name in _SAMPLING if name in sent and complaint.refuses(name)]
        if refused:
            # A message may also name a parameter that the model accepts.
            del parameters[complaint.parameter if complaint.parameter in refused else refused[0]]
        elif "max_tokens" in sent and complaint.refuses("max_tokens"):
            parameters.setdefault("max_completion_tokens", parameters.pop("max_tokens"))
        else:
            return None
        return parameters

    def dropped(self, sent: Parameters) -> tuple[str, ...]:
        return tuple(name for name in _SAMPLING if name in self.parameters and name not in sent)

    def notes(self, dropped: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(
            f"{name} {self.parameters[name]} was not accepted: the model's default was used"
            for name in dropped
        )


def response_of(reply: Mapping[str, object], *, model: str) -> Response:
    """The response in a chat completion; ``model`` is the model's name if the reply has none.

    Raises:
        MalformedReplyError: it contains no message, or the server broke off.
    """
    choices = reply.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise MalformedReplyError(f"the reply contains no message: {described(reply)}", is_foreign=True)
    if choice.get("finish_reason") in ("abort", "error"):
        complaint = complaint_in({"error": choice.get("error") or {}})  # OpenRouter's, of its provider
        if complaint.is_filter(openai_errors.status_in(complaint) or 0):
            return Response("", "filtered", model=utf8(str(reply.get("model") or model)))
        said = f": {fit(complaint.message)}" if complaint.message else ""
        raise MalformedReplyError(f"the server broke off ({choice['finish_reason']}){said}")
    text, is_refusal = _text(message)
    finish = "refusal" if is_refusal else finish_of(choice.get("finish_reason"))
    counts = reply.get("usage")
    usage = counts if isinstance(counts, dict) else {}
    details = usage.get("completion_tokens_details")
    sources = _sources([*(message.get(name) for name in _CITED), *(reply.get(name) for name in _CITED)])
    return Response(
        text=text,
        finish=finish,
        tokens_in=tokens(usage.get("prompt_tokens")),
        tokens_out=tokens(usage.get("completion_tokens")),
        model=utf8(str(reply.get("model") or model)),
        tokens_reasoning=tokens(details.get("reasoning_tokens")) if isinstance(details, dict) else None,
        sources=tuple(dict.fromkeys(map(utf8, sources))),
        configuration=utf8(str(reply.get("system_fingerprint") or "")),
        notes=(*((SEARCHED,) if sources else ()), *(() if text else _elsewhere(message))),
    )


def finish_of(reason: object) -> Finish:
    """Why a model stopped, by the reason that a service or a tool gives."""
    # Gemini: "content_filter: SAFETY", and "FinishReason.MAX_TOKENS" of its own library
    return _FINISHES.get(str(reason).lower().partition(":")[0].removeprefix("finishreason."), "stop")


_ELSEWHERE = (*REASONING, "tool_calls", "function_call", "tool_use")
"""The fields of a message that servers fill in place of its content, by their parsers or on their own."""


def _elsewhere(message: Mapping[str, object]) -> Iterator[str]:
    """A note for a reply without content that has something in another field."""
    fields = [name for name in _ELSEWHERE if message.get(name)]
    if fields:
        yield f"replies have no content, but {' and '.join(fields)}"


SEARCHED = "it cites sources: its answers may change with what it finds"
_CITED = ("annotations", "citations", "search_results")
"""The fields of a message or reply that cite sources: OpenAI's, Perplexity's and litellm's."""
_NAMES = ("url", "uri", "filename", "document_title", "title")
"""The fields that name a source, the preferred one first."""


def _sources(cited: object) -> list[str]:
    """The URL, or else the title, of each source in lists and objects of any nesting."""
    if isinstance(cited, str):
        return [cited]
    if isinstance(cited, dict):
        named = [cited[name] for name in _NAMES if isinstance(cited.get(name), str)]
        return named[:1] or _sources([part for part in cited.values() if isinstance(part, dict | list)])
    return [source for part in cited for source in _sources(part)] if isinstance(cited, list) else []


def _text(message: Mapping[str, object]) -> tuple[str, bool]:
    """The text of a message, and whether the service marks it as a refusal."""
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal:
        return utf8(refusal), True
    content = message.get("content")
    if isinstance(content, list):
        parts = [{"text": part} if isinstance(part, str) else part for part in content]
        parts = [part for part in parts if isinstance(part, dict)]
        refusals = [str(part.get("refusal")) for part in parts if part.get("type") == "refusal"]
        kinds = ("text", "output_text")
        texts = [str(part.get("text") or "") for part in parts if part.get("type", "text") in kinds]
        return utf8("".join(refusals or texts)), bool(refusals)
    if content is not None and not isinstance(content, str):
        raise MalformedReplyError("the reply's content is neither a text nor a list of parts")
    return utf8(content or ""), False
