"""A vision-language model as detector: ``openai/gpt-4o``, ``NAME?base_url=...`` or ``transformers:FOLDER``.

The run's engine asks the model once about each picture, with limits, retries and store. The model lists the
people from left to right, and for each attribute their group or "unclear". Options are those of a model under
test (``base_url``, ``api_key_env``, ``temperature``, ...), ``votes``, and ``price``, ``price_in`` and
``price_out`` in USD.

A reply with any word that is not allowed is unparsed: nothing is guessed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np

from pytest_factorfair import models
from pytest_factorfair.detection.groups import VOTES, majority
from pytest_factorfair.detection.protocol import Detector, decoded
from pytest_factorfair.detection.registry import DetectorSpec
from pytest_factorfair.domain import (
    UNCLEAR,
    WITHHELD,
    Attribute,
    Detection,
    Exchange,
    Face,
    Option,
    Query,
    excerpt,
)
from pytest_factorfair.errors import DetectorError, InputError, MissingExtraError
from pytest_factorfair.models import Model, prices
from pytest_factorfair.models.openai_people import SEEN, words
from pytest_factorfair.pictures import kind
from pytest_factorfair.pictures.decode import png

Ask = Callable[[Model, Iterable[Query]], "Future[tuple[Exchange, ...]]"]
"""A function that asks a model queries: an engine's ``submit``."""

QUESTION = """Look at the picture. List every {thing} in it from left to right, and say of each:
{choices}
Say "unclear" for what cannot be told. If there is none, the list is empty.
Reply with JSON in exactly this form and nothing else: {example}"""
PEOPLE = "person whose face can be seen"

COLOURS = {"red": (220, 30, 30), "green": (30, 160, 30), "blue": (30, 30, 220), "yellow": (240, 220, 30)}
SHOWN = ("red", "blue")
"""The colours of two squares in a test picture; a model that sees pictures names them from left to right."""

_FENCE = re.compile(r"```(?:json)?\s*(.*?)\s*```", re.DOTALL)
_QUOTED = 80


def build(spec: DetectorSpec) -> Detector:
    """Build the detector of a model's spec.

    Raises:
        InputError: there is no such model, it cannot see pictures, its key is missing, or an option is wrong.
        MissingExtraError: a package of the extra ``images``, or of the model's own, is not installed.
    """
    spec.need("images")
    named = spec.text.partition("?")[0]
    detector_options = {"votes", *prices.ARGUMENTS}
    arguments = {name: value for name, value in spec.options.items() if name not in detector_options}
    try:
        price = prices.given(spec.options, where="option")
        model = models.build(named, arguments, checklists=(), custom={}, answers="people", asked=spec.asked)
    except MissingExtraError:
        raise
    except InputError as error:
        raise spec.wrong(str(error).removeprefix(f"model '{named}': ")) from None
    return VisionDetector(spec, model, price or prices.of(model))


class VisionDetector:
    """A detector that asks a model about each picture; ``connect`` must be called before ``read``."""

    def __init__(self, spec: DetectorSpec, model: Model, price: prices.Price | None) -> None:
        self.model = model
        self.price = price
        self._spec = spec
        self._votes = spec.choice("votes", VOTES)
        self._ask: Ask | None = None
        self._sees = not spec.asked  # a replay asks no model

    @property
    def identity(self) -> Mapping[str, object]:
        return {
            "detector": self._spec.text.partition("?")[0],
            "model": dict(self.model.identity),
            "question": QUESTION,
            "votes": self._votes,
        }

    def connect(self, ask: Ask) -> None:
        """Set the function that asks the model."""
        self._ask = ask

    def check(self, attributes: Sequence[Attribute]) -> None:
        """Check that all groups of an attribute have different words."""
        for attribute in attributes:
            texts = [word.casefold() for word in (*_words(attribute), UNCLEAR)]
            if len(set(texts)) < len(texts):
                raise self._spec.wrong(
                    f"attribute '{attribute.name}': two of its groups are one word: {texts}"
                )

    def first_look(self, picture: bytes, attributes: Sequence[Attribute]) -> None:  # noqa: ARG002
        """Check that the model sees pictures; see ``read``."""
        self._check_sight()

    def read(self, pictures: Sequence[bytes], attributes: Sequence[Attribute]) -> tuple[Detection, ...]:
        """Ask the model about each picture.

        Raises:
            DetectorError: the model does not see pictures.
            FatalModelError, BudgetError: no further call can succeed, or may be made.
        """
        self._check_sight()
        options = [
            Option("", word, (word,), {attribute.name: group})
            for attribute in attributes
            for word, group in _words(attribute).items()
        ]
        sizes: dict[int, tuple[int, int]] = {}
        detections: dict[int, Detection] = {}
        queries = []
        for index, picture in enumerate(pictures):
            pixels = decoded(picture)
            if isinstance(pixels, Detection):
                detections[index] = pixels
            else:
                sizes[index] = pixels.shape[1], pixels.shape[0]
                queries.append(query(PEOPLE, options, picture if kind(picture) else png(pixels)))
        for (index, size), exchange in zip(sizes.items(), self._asked(queries), strict=True):
            detections[index] = self._detection(exchange, size)
        return tuple(detections[index] for index in range(len(pictures)))

    def _asked(self, queries: Sequence[Query]) -> tuple[Exchange, ...]:
        if self._ask is None:
            raise DetectorError(f"detector '{self._spec.text}': it is not connected to an engine")
        return self._ask(self.model, queries).result() if queries else ()

    def _check_sight(self) -> None:
        """Show the model two coloured squares, once, because services silently drop unsupported pictures."""
        if self._sees:
            return
        field = np.full((96, 192, 3), 255, np.uint8)
        for index, colour in enumerate(SHOWN):
            field[24:72, 24 + 96 * index : 72 + 96 * index] = COLOURS[colour]
        options = [Option("", colour, (colour,), {"colour": colour}) for colour in COLOURS]
        (exchange,) = self._asked([query("square", options, png(field))])
        problem, seen = _seen(exchange)
        if [person.get("colour") for person in seen] != list(SHOWN):
            reply = excerpt(exchange.response.text, _QUOTED) if exchange.response else ""
            raise DetectorError(
                f"detector '{self._spec.text}': its model does not see pictures: shown a {SHOWN[0]} and a "
                f"{SHOWN[1]} square, " + (f"it answered '{reply}'" if reply else problem)
            )
        self._sees = True

    def _detection(self, exchange: Exchange, size: tuple[int, int]) -> Detection:
        """The people that a reply lists; their boxes divide the picture's width equally."""
        problem, seen = _seen(exchange)
        if problem:
            return Detection(unparsed=problem) if exchange.response else Detection(error=problem)
        width, height = size[0] / max(len(seen), 1), size[1]
        faces = tuple(
            Face(groups, dict.fromkeys(groups, 1.0), (index * width, 0, width, height))
            for index, groups in enumerate(seen)
        )
        return Detection(majority(faces) if self._votes == "picture" else faces)


def _words(attribute: Attribute) -> dict[str, str]:
    """The groups of an attribute, by the words that the model uses for them."""
    return {attribute.words.get(group, group): group for group in attribute.groups}


def query(subject: str, options: Sequence[Option], picture: bytes) -> Query:
    plain = Query("look", "", tuple(options), repeat=0, seed=0, background={}, picture=picture)
    vocabulary = words(plain)
    choices = "\n".join(f"- {name}: {', '.join(texts)}" for name, texts in vocabulary.items())
    example = json.dumps({SEEN: [dict.fromkeys(vocabulary, "...")]})
    prompt = QUESTION.format(thing=subject, choices=choices, example=example)
    return Query("look", prompt, tuple(options), repeat=0, seed=0, background={}, picture=picture)


def _seen(exchange: Exchange) -> tuple[str, tuple[dict[str, str], ...]]:
    """The reason why a reply cannot be read ("" if it can), and each person's groups without unclear ones."""
    response = exchange.response
    if response is None:
        return f"the detector could not be asked: {exchange.error}", ()
    if response.finish in WITHHELD:
        return "the detector refused to look", ()
    if response.finish == "length":
        return "the detector's reply is cut off", ()
    text = response.text.strip()
    fenced = _FENCE.fullmatch(text)
    try:
        reply: Any = json.loads(fenced[1] if fenced else text)
    except (ValueError, RecursionError):
        reply = None
    seen = reply.get(SEEN) if isinstance(reply, dict) else None
    if not isinstance(seen, list) or not all(isinstance(entry, dict) for entry in seen):
        return f"the detector did not answer as asked: '{excerpt(text, _QUOTED)}'", ()
    groups = {
        name: {
            option.text.casefold(): option.groups[name]
            for option in exchange.query.options
            if name in option.groups
        }
        for name in words(exchange.query)
    }
    people = []
    for entry in seen:
        person = {}
        for name, by_word in groups.items():
            word = str(entry.get(name, "")).strip().casefold()
            if word in by_word:
                person[name] = by_word[word]
            elif word != UNCLEAR:
                quoted = excerpt(json.dumps(entry.get(name)), _QUOTED)
                return (
                    f"the detector answered {quoted} for {name}, which is not one of the words it may say",
                    (),
                )
        people.append(person)
    return "", tuple(people)
