"""Specifications drawn as files, by vl-convert: without a browser, and without a network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from types import MappingProxyType

from pytest_factorfair.errors import MissingExtraError
from pytest_factorfair.reports.figures.style import Spec

VERSION = "6.1"
"""Of Vega-Lite: it is pinned, so that a figure stays as it is."""


def needed(what: str) -> None:
    """Look for the package that draws.

    Raises:
        MissingExtraError: it is missing; names the extra that brings it.
    """
    if find_spec("vl_convert") is None:
        raise MissingExtraError(what, "figures")


def to_svg(spec: Spec) -> bytes:
    import vl_convert  # 30 MB

    drawn: str = vl_convert.vegalite_to_svg(spec, vl_version=VERSION, allowed_base_urls=[])
    return drawn.encode("utf-8")


def to_pdf(spec: Spec) -> bytes:
    import vl_convert

    drawn: bytes = vl_convert.vegalite_to_pdf(spec, vl_version=VERSION, allowed_base_urls=[])
    return drawn


RENDERERS: Mapping[str, Callable[[Spec], bytes]] = MappingProxyType({"svg": to_svg, "pdf": to_pdf})
"""By the ending of the file."""
