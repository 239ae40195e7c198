"""What all pages share: a template that escapes, and a policy under which only their own scripts act."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

STYLE = "page.css"


def document(template: str, scripts: tuple[str, ...], values: Mapping[str, Any]) -> str:
    """A page of these values; text from outside is escaped, and nothing may be fetched."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("pytest_factorfair.reports.html", "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    inside = [_asset(name) for name in scripts]
    return environment.get_template(template).render(
        **values, policy=_policy(inside), scripts=inside, style=_asset(STYLE)
    )


def _policy(scripts: list[str]) -> str:
    """A Content-Security-Policy under which nothing is fetched, and just these scripts and styles act."""
    ours = " ".join(map(_hash, scripts))
    return (
        f"default-src 'none'; script-src {ours}; style-src {_hash(_asset(STYLE))}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _asset(name: str) -> str:
    text = (files("pytest_factorfair.reports.html") / "assets" / name).read_text(encoding="utf-8")
    return text.replace("</script", "<\\/script")
