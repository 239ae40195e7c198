"""Models of all providers that litellm supports: ``provider/model``, or ``litellm:ID`` to force litellm.

``body.KEY=VALUE`` becomes an additional keyword argument of litellm (``body.reasoning_effort=low``,
``body.vertex_project=...``).
"""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from http import HTTPStatus
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from pytest_factorfair.domain import Modality
from pytest_factorfair.errors import (
    FOREIGN_REPLY,
    Cause,
    FatalModelError,
    InputError,
    MissingExtraError,
    ModelError,
    RejectedRequestError,
    RetryableModelError,
    nearest,
)
from pytest_factorfair.models import litellm_catalogue, openai_errors, service
from pytest_factorfair.models.http_client import proxy, through
from pytest_factorfair.models.openai_errors import Complaint, ServiceError
from pytest_factorfair.models.openai_format import Format
from pytest_factorfair.models.openai_http import openai_batches
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.models.server import Server, api_url, headers_in, key_in
from pytest_factorfair.models.spec import ModelSpec
from pytest_factorfair.redaction import fit, shown_url
from pytest_factorfair.wings import Wing

if TYPE_CHECKING:
    from pytest_factorfair.batches.protocol import BatchService

TAKEN = frozenset(
    {"api_base", "num_retries", "max_retries", "drop_params", "fallbacks", "client", "extra_headers"}
)
# By class names (also of base classes), because importing the classes takes seconds. Other exceptions are
# classified by their status.
_FATAL = frozenset({"UnsupportedParamsError", "LiteLLMUnknownProvider", "ModelNotMappedError"})
_RETRYABLE = frozenset({"APITimeoutError", "APIConnectionError"})
# The statuses of exceptions that litellm raises when it cannot read a success, or reads an error in it.
_UNREADABLE = frozenset({422, 500})
# Redundant prefixes: "litellm.RateLimitError: RateLimitError: OpenAIException - slow down".
_PREFIX = re.compile(r"^(?:(?:litellm\.)?\w* ?(?:Error|Exception|Timeout)(?:: | - ))+")


def build(spec: ModelSpec) -> Model:
    """Build the model of an id. litellm (some seconds) is imported by the first call or a capability check.

    Raises:
        InputError: the provider is unknown, its key is missing, an argument is wrong, or the model does not
            support the answer mode.
        MissingExtraError: litellm, or Pillow for pictures, is not installed.
    """
    asked = service.settings(spec, taken=TAKEN)
    path = route(spec, base_url=asked.base_url, api_key_env=asked.api_key_env, header=asked.header)
    _check_answers(spec, path)
    transport = LitellmTransport(spec.text, path, asked, batches=_batches(spec, path, asked.modality))
    return service.build(spec, transport, asked, openai=True)


@dataclass(frozen=True, slots=True)
class Route:
    """How litellm reaches a model: the provider's name, the model's name, the address and the key.

    ``base_url`` is the address of calls if the user or the environment sets it; ``own_url`` is the one that
    the user set.
    """

    model: str
    provider: str
    own_url: str | None
    base_url: str | None
    key_env: str | None
    key: str | None = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def served(self) -> str:
        """The model's name at its provider."""
        return self.model.removeprefix(f"{self.provider}/")


def route(
    spec: ModelSpec, *, base_url: str | None, api_key_env: str | None, header: Mapping[str, str] | None = None
) -> Route:
    """Work out provider, address and key of a model id as litellm does.

    Raises:
        InputError: the provider is unknown, its key is missing, or the base URL is wrong.
        MissingExtraError: litellm is not installed.
    """
    if not litellm_catalogue.installed():
        raise MissingExtraError(f"model '{spec.text}'", "litellm")
    model = spec.text.removeprefix("litellm:")
    provider = _provider(spec, model)
    url = api_url(spec, base_url) if base_url else None
    if url and "?" in url:
        raise InputError(
            f"model '{spec.text}': base URL '{shown_url(url)}' must end before the '?': litellm takes the "
            "version of an API as body.api_version=..."
        )
    headers = headers_in(spec, header or {})
    key = key_in(spec, api_key_env, needed=True) if api_key_env else None
    missing = litellm_catalogue.missing_keys(provider) if spec.asked else ()
    if missing and not (key or url or headers):
        raise InputError(f"model '{spec.text}': no key: set the environment variable {' or '.join(missing)}")
    if missing and not key:
        key = "unused"  # a self-hosted server needs no key, but litellm requires one
    variables = (f"{provider.upper()}_API_BASE", f"{provider.upper()}_BASE_URL")
    set_elsewhere = (shown_url(os.environ[name]) for name in variables if os.environ.get(name))
    return Route(model, provider, url, url or next(set_elsewhere, None), api_key_env, key, headers)


def _provider(spec: ModelSpec, model: str) -> str:
    word, slash, name = model.partition("/")
    if not slash:
        listed = litellm_catalogue.provider(model)
        if not listed:
            raise InputError(f"model '{spec.text}': no provider is named; write litellm:provider/{model}")
        return listed
    if not name:
        raise InputError(f"model '{spec.text}': a model name must follow '{word}/'")
    providers = litellm_catalogue.providers()
    if word not in providers:
        suggestion = nearest(word, providers, listing=False)  # too many to list them all
        raise InputError(f"model '{spec.text}': unknown provider '{word}'{suggestion}")
    return word


def _check_answers(spec: ModelSpec, path: Route) -> None:
    """Check, by litellm's data, that the model supports the answer mode of the run.

    litellm does not list the models of a user's own OpenAI-compatible server; probes test these later.

    Raises:
        InputError: the model does not support the mode, or litellm does not list it.
    """
    litellm_catalogue.check(spec, path.model)
    if spec.answers in ("text", "people") or not spec.asked:
        return
    library, bare = _library(path, "chat"), path.model.partition("/")[2] or path.model
    names = {"model": bare, "custom_llm_provider": path.provider}
    supported = set(library.get_supported_openai_params(**names) or ())
    own_server = path.own_url and "response_format" in supported
    if not (own_server or library.supports_response_schema(**names)):
        lacking = "JSON schema", "text"
    elif spec.answers == "probabilities" and not {"logprobs", "top_logprobs"} <= supported:
        lacking = "log probabilities", "text or json"
    else:
        return
    raise InputError(
        f"model '{spec.text}': litellm lists no {lacking[0]} for it: use --factorfair-answers={lacking[1]}"
    )


# Providers with batches: litellm creates batches for few of them, and in their own formats.
_BATCHED = frozenset({"anthropic", "deepinfra", "groq", "mistral", "openai", "together_ai"})


def _batches(spec: ModelSpec, route: Route, modality: Modality) -> Callable[[], BatchService] | None:
    """What builds the batches of a provider, which are sent without litellm; None if it has none.

    Raises:
        InputError: its key has characters that are invalid in headers.
    """
    if route.provider not in _BATCHED or modality != "text":
        return None
    address = litellm_catalogue.ADDRESSES[route.provider]
    key_from = route.key_env or next(iter(litellm_catalogue.present_keys(route.provider)), "")
    key = key_in(spec, key_from, needed=False)
    if route.provider == "anthropic":
        base_url = f"{route.base_url.removesuffix('/v1')}/v1" if route.base_url else address
        server = Server(route.served, base_url, key_from, key, route.headers)
        return lambda: Wing.ANTHROPIC_BATCHES.enter().AnthropicBatches(spec.text, server)
    server = Server(route.served, route.base_url or address, key_from, key, route.headers)
    return partial(openai_batches, spec.text, server)


class LitellmTransport:
    """Sends requests to one model through litellm."""

    def __init__(
        self, name: str, route: Route, asked: Format, *, batches: Callable[[], BatchService] | None = None
    ) -> None:
        self._name = name
        self._route = route
        self._timeout = asked.timeout
        self._call = _CALLS[asked.modality]
        self._library: Any = None
        self._client: Any = None
        self._loading = asyncio.Lock()
        self.provider = self._call.provider
        self.model = self.listed_as = route.model
        self.url = route.base_url
        self.batches = batches
        self.served = route.served
        self.endpoint = f"litellm/{route.provider}/{urlsplit(route.base_url or '').netloc}".rstrip("/")

    async def send(self, body: Mapping[str, object]) -> Mapping[str, object]:
        async with self._loading:
            if self._library is None:
                self._library = await asyncio.to_thread(_library, self._route, self._call.mode)
        if isinstance(mock := body.get("mock_response"), dict | list):  # typed as JSON, which litellm skips
            body = {**body, "mock_response": json.dumps(mock)}
        try:
            if self._call.repeats and self._client is None:
                self._client = _client_without_retries(self._library, self._route, self._timeout)
            reply = await getattr(self._library, self._call.function)(
                model=self._route.model,
                api_base=self._route.own_url,
                api_key=self._route.key,
                timeout=self._timeout,
                num_retries=0,
                max_retries=0,
                client=self._client,
                **({"extra_headers": dict(self._route.headers)} if self._route.headers else {}),
                **body,
            )
            return self._call.plain(reply)
        except Exception as error:  # litellm passes on any exception of its providers' code
            route = self._route
            present = litellm_catalogue.present_keys(route.provider)
            keys = (route.key_env,) if route.key_env else tuple(present)
            via = through(proxy(self.url or f"https://{route.provider}"))
            raise service_error(self._name, error, keys=keys, via=via) from error

    async def close(self) -> None:
        """Close litellm's clients for this event loop, which all models share."""
        if self._library is not None:
            try:
                await self._library.close_litellm_async_clients()
            finally:
                self._library.in_memory_llm_clients_cache.flush_cache()
                if self._client is not None:
                    await self._client.close()


def _library(route: Route, mode: str) -> Any:
    """Import litellm such that it fetches no prices, reads no ``.env`` files and prints no advice."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    library: Any = import_module("litellm")
    # litellm imports this within its first call. By then, pytest may have reset its filters of warnings,
    # and a project that turns warnings into errors would get no answer.
    with suppress(ModuleNotFoundError):  # earlier versions
        import_module("litellm.llms.github_copilot.per_user_auth")
    library.telemetry = False
    library.suppress_debug_info = True
    bare = route.model.partition("/")[2] or route.model
    if not {route.model, bare} & library.model_cost.keys():
        # Registered, because litellm repeats a slow search in every call of an unknown model. Its cost stays
        # unknown.
        library.register_model({route.model: {"litellm_provider": route.provider, "mode": mode}})
    return library


def _client_without_retries(library: Any, route: Route, timeout: float) -> Any:
    """An OpenAI client that never retries, for providers that litellm calls through OpenAI's client.

    None for other providers, which litellm does not retry.
    """
    if route.provider != "openai" and route.provider not in library.openai_compatible_providers:
        return None
    *_, key, url = library.get_llm_provider(route.model, api_base=route.own_url, api_key=route.key)
    # A read-only property, because litellm overwrites max_retries of every client that it is given.
    zero = property(lambda _: 0, lambda _client, _retries: None)
    openai = import_module("openai")
    once: Any = type("Once", (openai.AsyncOpenAI,), {"max_retries": zero})
    verify = import_module("litellm.llms.custom_httpx.http_handler").get_ssl_configuration()
    connections = openai.DefaultAsyncHttpxClient(verify=verify)
    return once(api_key=key or route.key, base_url=url, timeout=timeout, http_client=connections)


def _plain_chat(completion: Any) -> Mapping[str, object]:
    """The fields of litellm's chat completion that we use, in the form of OpenAI's JSON."""
    choice = completion.choices[0] if completion.choices else None
    if choice is None:
        return {}
    fields = getattr(choice.message, "provider_specific_fields", None) or {}
    ends = getattr(choice, "provider_specific_fields", None) or {}
    # litellm reports a refusal by Claude as content filtering.
    finish = "refusal" if ends.get("native_finish_reason") == "refusal" else choice.finish_reason
    logprobs: Any = getattr(choice, "logprobs", None)
    usage = getattr(completion, "usage", None)
    details = getattr(usage, "completion_tokens_details", None)
    return {
        "model": completion.model,
        "system_fingerprint": getattr(completion, "system_fingerprint", None),
        "citations": getattr(completion, "citations", None),
        "search_results": getattr(completion, "search_results", None),
        "choices": [
            {
                "message": {
                    "content": choice.message.content,
                    # provider_specific_fields until litellm 1.110, an attribute since.
                    "refusal": fields.get("refusal") or getattr(choice.message, "refusal", None),
                    **{
                        name: getattr(choice.message, name, None)
                        for name in ("reasoning_content", "tool_calls", "function_call")
                    },
                    "annotations": getattr(choice.message, "annotations", None),
                    "citations": fields.get("citations"),
                },
                "finish_reason": finish,
                "logprobs": logprobs.model_dump() if hasattr(logprobs, "model_dump") else logprobs,
            }
        ],
        "usage": {
            **{name: getattr(usage, name, None) for name in ("prompt_tokens", "completion_tokens")},
            "completion_tokens_details": {"reasoning_tokens": getattr(details, "reasoning_tokens", None)},
        },
    }


def _plain_images(reply: Any) -> Mapping[str, object]:
    """The fields of litellm's image reply that we use, in the form of OpenAI's JSON."""
    usage = getattr(reply, "usage", None)
    names = ("b64_json", "url", "revised_prompt")
    return {
        "data": [{name: getattr(picture, name, None) for name in names} for picture in reply.data or []],
        "usage": {name: getattr(usage, name, None) for name in ("input_tokens", "output_tokens")},
    }


class _Call(NamedTuple):
    """The litellm function and mode for a modality, and the provider's name in identities.

    ``repeats`` is whether this function ignores ``max_retries`` and repeats a failed request twice.
    """

    function: str
    mode: str
    provider: str
    plain: Callable[[Any], Mapping[str, object]]
    repeats: bool


_CALLS: Mapping[Modality, _Call] = {
    "text": _Call("acompletion", "chat", "litellm", _plain_chat, repeats=False),
    "image": _Call("aimage_generation", "image_generation", "litellm_images", _plain_images, repeats=True),
}


def service_error(name: str, error: Exception, *, keys: Collection[str], via: str = "") -> ServiceError:
    """The error for a litellm exception; ``keys`` are the variables from which a key may have been read.

    ``via`` is a clause that names the proxy of calls.

    litellm's message often lacks what the service said, which is in the exception of the HTTP client.
    """
    reply, body = _failed_reply(error), getattr(error, "body", None)
    if reply is not None:
        complaint = openai_errors.complaint(reply.content)
    else:
        complaint = openai_errors.complaint_in({"error": body}) if isinstance(body, dict) else Complaint("")
    if not complaint.message:
        complaint = replace(complaint, message=str(error))
    kinds = {kind.__name__ for kind in type(error).__mro__}
    status = getattr(error, "status_code", None)
    reason = fit(_PREFIX.sub("", complaint.message)) or type(error).__name__
    if status == HTTPStatus.UNAUTHORIZED and keys:
        reason = f"the key in {' or '.join(keys)} was refused: {reason}"
    model_error: ModelError
    if _FATAL & kinds:
        model_error = FatalModelError(f"{name}: {reason}")
    elif _RETRYABLE & kinds:
        cause = Cause("connection", type(error).__name__)
        model_error = RetryableModelError(f"{name}: {reason}{via}", cause=cause)
    elif reply is None and status in _UNREADABLE:
        line = f"{name}: litellm cannot read the reply: {reason.partition(' Traceback ')[0]}"
        model_error = RetryableModelError(line, cause=FOREIGN_REPLY)
    elif not isinstance(status, int):
        message = f"{name}: {type(error).__name__}: {reason}"
        model_error = RejectedRequestError(message, cause=Cause.raised(error))
    else:
        # litellm keeps the headers of the reply in one of two places.
        reply_headers = getattr(error, "litellm_response_headers", None)
        headers = reply_headers or getattr(getattr(error, "response", None), "headers", None)
        model_error = openai_errors.error_of(
            status,
            f"{name}: {openai_errors.named(status)}: {reason}",
            complaint,
            headers=headers if isinstance(headers, Mapping) else {},
        )
    is_filtered = "ContentPolicyViolationError" in kinds
    known_status = status if isinstance(status, int) else None
    return ServiceError(model_error, complaint, status=known_status, is_filtered=is_filtered)


def _failed_reply(error: BaseException) -> Any:
    """The HTTP reply behind an exception of litellm; None if no call failed by its status."""
    link: BaseException | None = error
    while link is not None:
        if type(link).__name__ == "HTTPStatusError":  # httpx's, which takes long to import
            return getattr(link, "response", None)
        link = link.__cause__ or link.__context__
    return None
