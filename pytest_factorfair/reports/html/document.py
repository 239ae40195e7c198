"""What all pages share: a template that escapes, and a policy under which only their own scripts act."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

OWN = "pytest_factorfair.reports.html"
STYLE = "assets/page.css"
PART = "page.html"


def document(
    template: str, scripts: Sequence[str], values: Mapping[str, Any], *, parts: Sequence[str] = ()
) -> str:
    """A page of these values; text from outside is escaped, and nothing may be fetched.

    ``parts`` are packages that draw a part of it: each has a template of macros and a script, ``page.html``
    and ``page.js``.
    """
    from jinja2 import ChoiceLoader, Environment, PackageLoader, PrefixLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader(
            [PackageLoader(OWN, "assets"), PrefixLoader({part: PackageLoader(part, ".") for part in parts})]
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    inside = [_asset(OWN, f"assets/{name}") for name in scripts]
    inside += [_asset(part, "page.js") for part in parts]
    style = _asset(OWN, STYLE)
    return environment.get_template(template).render(
        **values,
        parts=[environment.get_template(f"{part}/{PART}").module for part in parts],
        policy=(
            f"default-src 'none'; script-src {' '.join(map(_hash, inside))}; style-src {_hash(style)}; "
            "img-src data:; base-uri 'none'; form-action 'none'"
        ),
        scripts=inside,
        style=style,
    )


def _hash(text: str) -> str:
    """The source of a Content-Security-Policy that allows for just this script or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _asset(package: str, path: str) -> str:
    text = files(package).joinpath(path).read_text(encoding="utf-8")
    return text.replace("</script", "<\\/script")
