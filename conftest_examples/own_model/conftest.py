"""Your own model: a scheme for the command line, and the object that answers."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.errors import InputError
from pytest_factorfair.models import Factory, ModelSpec


class FirstOrLast:
    """Always picks the first or the last option; replace this with a call to your service."""

    endpoint = "house"
    parallel = None

    def __init__(self, target: str) -> None:
        if target not in ("first", "last"):
            raise InputError(f"house:{target}: expected house:first or house:last")
        self.target = target

    @property
    def identity(self) -> Mapping[str, object]:
        """Everything that can change an answer: part of the key under which answers are stored."""
        return {"provider": "house", "model": self.target}

    async def ask(self, request: Request) -> Response:
        letters = [letter for letter in "ABCD" if f"{letter}. " in request.prompt]
        letter = letters[0] if self.target == "first" else letters[-1]
        return Response(text=json.dumps({"answer": letter}), cost=0.0)

    async def close(self) -> None:
        pass


def house(spec: ModelSpec) -> FirstOrLast:
    return FirstOrLast(spec.target)


def pytest_factorfair_models() -> Mapping[str, Factory]:
    return {"house": house}
