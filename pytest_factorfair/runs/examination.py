"""Ask a model one question in every supported way, to find out what a run can expect of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import NamedTuple

from pytest_factorfair import models, reading
from pytest_factorfair.domain import (
    FILTERED,
    Answer,
    AnswerMode,
    Checklist,
    Exchange,
    Query,
    Usage,
    excerpt,
    listed,
    plural,
)
from pytest_factorfair.engine import Engine, Retry
from pytest_factorfair.errors import InputError, ModelError, PictureError
from pytest_factorfair.models import Factory, Model, prices
from pytest_factorfair.models.arguments import SAMPLING
from pytest_factorfair.models.openai_answers import QUESTIONS
from pytest_factorfair.models.protocol import LETTERS, deterministic
from pytest_factorfair.pictures.decode import decode
from pytest_factorfair.reading.outcomes import QUOTED
from pytest_factorfair.redaction import redacted, shown_url
from pytest_factorfair.store import Store

PATIENCE = 20.0
"""Seconds that retries of a call may wait."""

ENOUGH = 64
"""Tokens of a local model's reply: a base model, which never ends, writes as many as it may."""


class Observation(NamedTuple):
    """A finding about the model, in one line; ``fatal`` if a run could not test the model."""

    name: str
    finding: str
    fatal: bool = False


@dataclass
class Examination:
    """One question, asked of one model in every supported way; ``spent`` is the usage.

    ``custom`` are the user's own models, by scheme or spec. ``progress`` is told what is about to be asked.
    """

    spec: str
    arguments: Mapping[str, str]
    checklist: Checklist
    query: Query
    store: Store
    custom: Mapping[str, Factory]
    progress: Callable[[str], None] = lambda _: None
    spent: Usage = field(default_factory=Usage)
    _modes: tuple[AnswerMode, ...] = ()

    def observations(self) -> Iterator[Observation]:
        """The observations, in the order of the calls.

        Raises:
            InputError: the model does not exist, or lacks an argument or an extra.
        """
        model = self._model("text")
        url = getattr(model, "url", None)
        yield Observation("model", redacted(self.spec) + (f" at {shown_url(url)}" if url else ""))
        repeats = 1 if deterministic(model.identity) else 2
        self.progress("asking for a picture" if self.checklist.modality == "image" else "asking in words")
        started = time.monotonic()
        exchanges = self._asked(model, repeats)
        seconds = (time.monotonic() - started) / repeats
        lost = _lost(exchanges)
        if lost:
            yield Observation("reached", f"NO: {lost}", fatal=True)
            yield self._spending()
            return
        yield Observation("reached", f"yes, a reply took {seconds:.1f} s")
        self._modes = tuple(getattr(model, "modes", ()))
        yield from (self._picture if self.checklist.modality == "image" else self._reply)(exchanges[0])
        yield Observation("seed", _seeded(exchanges))
        # Also those that litellm's list rules out: the reason is shown.
        for answers in LETTERS if self.checklist.modality == "text" and hasattr(model, "modes") else ():
            yield Observation(answers, self._letter(answers))
        yield Observation("price", self._price(model))
        yield self._spending()

    def _spending(self) -> Observation:
        cost = "cost unknown" if self.spent.cost is None else f"${self.spent.cost:.4f}"
        return Observation("spent", f"{plural(self.spent.calls, 'call')}, {cost}")

    def _model(self, answers: AnswerMode) -> Model:
        left_out = {*prices.ARGUMENTS, *self._inapplicable(answers)}
        model_arguments = {name: value for name, value in self.arguments.items() if name not in left_out}
        if answers != "probabilities" and self.spec.startswith("transformers:"):
            model_arguments.setdefault("max_tokens", str(ENOUGH))
        return models.build(
            self.spec, model_arguments, checklists=(self.checklist,), custom=self.custom, answers=answers
        )

    def _inapplicable(self, answers: AnswerMode) -> tuple[str, ...]:
        """The user's arguments that a run for these answers would refuse."""
        if answers != "probabilities":
            return ()
        return tuple(name for name in self.arguments if name.partition(".")[0] in SAMPLING)

    def _asked(self, model: Model, repeats: int = 1, *, at_once: int = 1) -> tuple[Exchange, ...]:
        """Ask the question ``repeats`` times, each time with so many repeats ``at_once``.

        The exchanges are those of the first repeats; one with an error if that is impossible.
        """
        queries = [replace(self.query, repeat=repeat) for repeat in range(at_once)]
        with closing(Engine(self.store, reuse="none", retry=Retry(attempts=2, patience=PATIENCE))) as engine:
            try:
                asked = [engine.submit(model, queries).result() for _ in range(repeats)]
            except ModelError as error:
                cost = None if error.billable else 0.0
                self.spent += Usage(calls=engine.snapshot().asked, cost=cost)
                return (Exchange(self.query, "", None, error=str(error)),)
        self.spent += Usage.of(chain.from_iterable(asked))
        return tuple(exchanges[0] for exchanges in asked)

    def _reply(self, exchange: Exchange) -> Iterator[Observation]:
        """Whether the reply can be read, and follows the format."""
        answer = reading.answer(exchange, language=self.checklist.language)
        text = excerpt(exchange.response.text, QUOTED) if exchange.response else ""
        if answer.outcome == "answered":
            yield Observation("readable", f'yes: "{text}" is the answer {answer.letter}')
            asked = f'{{"answer": "{answer.letter}"}}'
            follows_format = exchange.response is not None and exchange.response.text.strip() == asked
            yield Observation(
                "format", "kept" if follows_format else f"not kept, it asks for {asked} and nothing else"
            )
        elif answer.outcome == "refused":
            yield Observation("readable", f'yes: "{text}" is {_refusal(answer)}')
        else:
            example = reading.example((answer,), (exchange,), reuse="none", modes=self._modes)
            remedy = f"; try: {example.remedy}" if example is not None else ""
            yield Observation("readable", f'NO: "{text}" ({answer.reason}){remedy}', fatal=True)

    def _picture(self, exchange: Exchange) -> Iterator[Observation]:
        """Whether the picture can be decoded."""
        response = exchange.response
        if response is None or not response.image_file:
            yield Observation("readable", "NO: there is no picture in its reply", fatal=True)
            return
        try:
            height, width, _ = decode(self.store.pictures.read(response.image_file)).shape
        except PictureError as error:
            yield Observation("readable", f"NO: {error}", fatal=True)
        else:
            yield Observation("readable", f"yes: a picture of {width} by {height} pixels")

    def _letter(self, answers: AnswerMode) -> str:
        """Whether the model can answer with a letter in this way."""
        self.progress(f"asking for {answers}")
        try:
            model = self._model(answers)
            # Several calls at once show how far probabilities depend on other calls.
            at_once = QUESTIONS if answers == "probabilities" and hasattr(model, "probes") else 1
            exchanges = self._asked(model, at_once=at_once)
        except InputError as error:
            return f"no: {error}"
        if lost := _lost(exchanges):
            return f"no: {lost}"
        answer = reading.answer(exchanges[0], answers=answers, language=self.checklist.language)
        if answer.outcome != "answered":
            outcome = f"{answer.outcome} ({answer.reason})"
            return f"no: {_refusal(answer) if answer.outcome == 'refused' else outcome}"
        if answer.probabilities:
            without = self._inapplicable(answers)
            leave_out = f"; leave out {listed(without)}" if without else ""
            letters = f"yes: the letters hold {sum(answer.probabilities):.1%} of the probability"
            change = answer.noise / 4  # the slope of a share of one half
            steady = f"; one of 0.5 changes by about {change:.4f} with other calls" if answer.noise else ""
            return f"{letters}{steady}{leave_out}"
        return f"yes: {answer.letter}"

    def _price(self, model: Model) -> str:
        modality = self.checklist.modality
        price = prices.given(self.arguments) or prices.of(model)
        if price is None:
            return f"unknown; {prices.remedy(modality)}"
        if price == prices.FREE:
            return "none"
        source = f" (of {price.source})" if price.source else ""
        if price.by_tokens:
            tokens = (
                f"${prices.MILLION * token_price:,.2f}" for token_price in (price.token_in, price.token_out)
            )
            return f"{' in and '.join(tokens)} out per million tokens{source}"
        return f"${price.answer:g} per {'picture' if modality == 'image' else 'answer'}{source}"


def _lost(exchanges: tuple[Exchange, ...]) -> str:
    """Why an answer is missing; empty if none is."""
    return next((exchange.error or "no response" for exchange in exchanges if exchange.response is None), "")


def _refusal(answer: Answer) -> str:
    """The words for a refused reply: a refusal of the model, or filtered by the provider."""
    if answer.reported_outcome == "filtered":
        return f"{FILTERED}, which counts as refused"
    return f"a refusal ({answer.reason})"


def _seeded(exchanges: tuple[Exchange, ...]) -> str:
    if len(exchanges) == 1:
        return "not needed: the temperature is 0"
    reply, repetition = (
        (exchange.response.text, exchange.response.image_file)
        for exchange in exchanges
        if exchange.response is not None
    )
    return f"two replies to one seed {'are the same' if reply == repetition else 'differ'}"
