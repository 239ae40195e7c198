"""Explain why a store has no response for a call: how its key differs from the nearest one of the model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256

from pytest_factorfair.domain import Query, differences
from pytest_factorfair.store.rows import keys, plain
from pytest_factorfair.store.store import Store
from pytest_factorfair.store.upkeep import rows

Parts = Mapping[str, object]

NEW_PROMPT = "the prompt is not stored: another wording, design or seed of the run"
NEW_MODEL = "neither the prompt nor the model with these parameters is stored"
SPOILT = "the stored answer is not reused: it was empty"
NEW_SEED = "the seed differs"
NEW_REPEAT = "more repeats of the prompt are asked than are stored"


@dataclass(frozen=True, slots=True)
class StoredCall:
    """A stored call of a prompt; ``model`` is the model's identity, part by part."""

    model: Parts
    repeat: int
    seed: int


@dataclass(slots=True)
class CallIndex:
    """A model's calls in a store, by the parts of their keys, as the database only indexes keys."""

    reusable: set[str] = field(default_factory=set)
    spoilt: dict[str, str] = field(default_factory=dict)
    calls: dict[bytes, list[StoredCall]] = field(default_factory=dict)
    models: dict[str, Parts] = field(default_factory=dict)

    @classmethod
    def of(cls, store: Store, model: str) -> CallIndex:
        """Read all calls of a model from the store, with any parameters.

        Raises:
            StoreError: the store cannot be read.
        """
        memory = cls()
        for row in rows(store):
            if row["model"] != plain(model):
                continue
            identity = row["identity"]
            parts = memory.models.setdefault(identity, _parts(json.loads(identity)))
            memory.calls.setdefault(_digest(row["prompt"]), []).append(
                StoredCall(parts, row["repeat"], row["seed"])
            )
            if row["reusable"] and row["created"] >= store.since:
                memory.reusable.add(row["key"])
            elif row["reusable"]:
                memory.spoilt[row["key"]] = "the stored answer is older than --factorfair-reuse allows"
            else:
                memory.spoilt[row["key"]] = SPOILT
        return memory

    def reason(self, identity: Mapping[str, object], query: Query) -> str | None:
        """Why a call would be made; None if its response is stored."""
        (name,) = keys(identity, [query])
        if name in self.reusable:
            return None
        if name in self.spoilt:
            return self.spoilt[name]
        model = _parts(identity)
        stored = self.calls.get(_digest(json.dumps(query.prompt)), [])
        if not stored:
            return NEW_PROMPT if model in self.models.values() else NEW_MODEL
        of_model = [call for call in stored if call.model == model]
        if not of_model:
            reasons = [
                "; ".join(
                    f"{'.'.join(path)} is {value}, stored with {stored_value}"
                    for path, value, stored_value in differences(model, call.model)
                )
                for call in stored
            ]
            return min(reasons, key=lambda text: (len(text), text))
        return NEW_SEED if any(call.repeat == query.repeat for call in of_model) else NEW_REPEAT


def _parts(identity: Mapping[str, object], under: str = "") -> dict[str, object]:
    """Flatten an identity to one level: "parameters.temperature"."""
    parts: dict[str, object] = {}
    for name, value in identity.items():
        if isinstance(value, Mapping):
            parts |= _parts(value, f"{under}{name}.")
        else:
            parts[under + name] = list(value) if isinstance(value, tuple) else value
    return parts


def _digest(prompt: str) -> bytes:
    """The hash of a prompt in JSON, kept instead of the prompt to save memory."""
    return sha256(prompt.encode("ascii")).digest()
