"""How a chat model is asked, whoever carries the request: the arguments that are the same for all of them.

temperature (0), max_tokens (1024), top_p, seed=true (sends each request's own seed), system, base_url,
api_key_env, timeout (120 s), and ``body.KEY=VALUE``, which is passed on as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pytest_factorfair.domain import Request
from pytest_factorfair.models import arguments
from pytest_factorfair.models.chat_errors import Complaint
from pytest_factorfair.models.http_calls import Parameters
from pytest_factorfair.models.spec import ModelSpec

# These are parameters of the request, the others shape the call.
PARAMETERS = {
    "temperature": arguments.TEMPERATURE,
    "max_tokens": arguments.COUNT,
    "top_p": arguments.SHARE,
}
KINDS = {
    **PARAMETERS,
    "seed": arguments.FLAG,
    "system": arguments.TEXT,
    "base_url": arguments.TEXT,
    "api_key_env": arguments.TEXT,
    "timeout": arguments.SECONDS,
}
DEFAULTS = {"temperature": 0, "max_tokens": 1024, "seed": False, "timeout": 120}
BODY = "body."
SET_BY_THE_RUN = frozenset({"messages", "model", "stream", "n"})

LARGEST = 16 * 2**20  # bytes of a reply


@dataclass(frozen=True, slots=True)
class Settings:
    """``parameters`` are those of the request, what is passed on included; ``timeout`` is in seconds."""

    parameters: Parameters
    system: str | None
    seeded: bool
    timeout: float
    base_url: str | None
    api_key_env: str | None

    path = "chat/completions"
    largest = LARGEST

    def messages(self, request: Request) -> list[dict[str, str]]:
        first = [{"role": "system", "content": self.system}] if self.system else []
        return [*first, {"role": "user", "content": request.prompt}]

    def seed(self, request: Request) -> Parameters:
        return {"seed": request.seed} if self.seeded else {}

    @property
    def identity(self) -> Mapping[str, object]:
        """What of this can change an answer."""
        return {"parameters": dict(self.parameters), "system": self.system, "seeded": self.seeded}

    def without_refused(self, sent: Parameters, complaint: Complaint) -> Parameters | None:
        """The parameters without the one the model does not take; None if the complaint is about none."""
        kept = dict(sent)
        if "temperature" in sent and complaint.refuses("temperature"):
            del kept["temperature"]
        elif "max_tokens" in sent and complaint.refuses("max_tokens"):
            kept.setdefault("max_completion_tokens", kept.pop("max_tokens"))
        else:
            return None
        return kept

    def notes(self, sent: Parameters) -> tuple[str, ...]:
        """What a report must say of the parameters that were sent in the end."""
        if "temperature" in sent:
            return ()
        wanted = self.parameters["temperature"]
        return (f"temperature {wanted} was not accepted: the model's default was used",)


def settings(spec: ModelSpec, *, taken: frozenset[str] = frozenset()) -> Settings:
    """The settings in a spec's arguments; ``taken`` are further keys that cannot be passed on.

    Raises:
        InputError: an argument is unknown or cannot be right.
    """
    values = DEFAULTS | arguments.read(spec, KINDS, passed_on=(BODY,))
    extra = arguments.under(values, BODY)
    arguments.refuse(spec, BODY, extra, ours=KINDS, taken=SET_BY_THE_RUN | taken)
    return Settings(
        parameters={key: values[key] for key in PARAMETERS if key in values} | extra,
        system=arguments.text(values, "system"),
        seeded=values["seed"] is True,
        timeout=arguments.number(values, "timeout"),
        base_url=arguments.text(values, "base_url"),
        api_key_env=arguments.text(values, "api_key_env"),
    )
