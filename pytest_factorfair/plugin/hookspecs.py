"""Hooks for conftest.py files and other plugins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_factorfair.benchmarks import AnyBenchmark
    from pytest_factorfair.detection import Factory as DetectorFactory
    from pytest_factorfair.domain import Query, Reading, Response, Summary
    from pytest_factorfair.models import Factory


@pytest.hookspec
def pytest_factorfair_models(config: pytest.Config) -> Mapping[str, Factory]:
    """Add model providers: a mapping from a scheme, or a whole spec, to a factory.

    Called in every process of a run before a model is built. A factory gets the parsed
    ``ModelSpec`` and returns a ``Model``; it must be cheap and must not call the model::

        def pytest_factorfair_models(config):
            return {"intranet": lambda spec: IntranetModel(spec.target)}

        # pytest --factorfair-model=intranet:chat-7
    """
    raise NotImplementedError  # a specification is never called


@pytest.hookspec
def pytest_factorfair_detectors(config: pytest.Config) -> Mapping[str, DetectorFactory]:
    """Add detectors: a mapping from the word before the colon of a spec to a factory.

    Called in every process of a run before a picture is made; ``factorfair detector`` calls the hook of the
    current folder's conftest.py with None for ``config``. A factory gets the parsed ``DetectorSpec`` and
    returns a ``Detector``; it must be cheap: nothing is loaded before ``read``::

        def pytest_factorfair_detectors(config):
            return {"inhouse": lambda spec: InHouseDetector(spec.target)}

        # pytest --factorfair-model=diffusers:./pipeline --factorfair-detector=inhouse:v2
    """
    raise NotImplementedError  # a specification is never called


@pytest.hookspec
def pytest_factorfair_benchmarks(config: pytest.Config) -> Iterable[AnyBenchmark]:
    """Add benchmarks: objects of classes that derive from ``Benchmark``.

    Called in every process of a run before a checklist is read; console commands call the hook of the current
    folder's conftest.py with None for ``config``. Neither a benchmark nor one of its metrics may have a name
    that another one has::

        def pytest_factorfair_benchmarks():
            return [GreetingsBenchmark()]

        # pytest --factorfair-model=openai/gpt-4o --factorfair-checklist=hello.yaml
    """
    raise NotImplementedError  # a specification is never called


@pytest.hookspec(firstresult=True)
def pytest_factorfair_read_answer(response: Response, query: Query) -> Reading | None:
    """Read a model's reply before the built-in reader does; None leaves it to the next.

    A ``letter`` that the query does not offer is an error: the case fails in one line that names the hook.
    For models with a reply format of their own::

        def pytest_factorfair_read_answer(response, query):
            if response.text.startswith("CHOICE="):
                return Reading("answered", letter=response.text[7])
    """
    raise NotImplementedError  # a specification is never called


@pytest.hookspec
def pytest_factorfair_summary(config: pytest.Config, summary: Summary) -> None:
    """Use the finished summary: called once, in the controlling process, after the reports are written.

    An exception fails the run; the verdict and the reports stand::

        def pytest_factorfair_summary(config, summary):
            dashboard.send(summary.scores)
    """
    raise NotImplementedError  # a specification is never called
