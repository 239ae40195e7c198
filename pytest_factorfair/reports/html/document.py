"""Rendering that all pages share: escaping templates, and a policy that only allows the page's own scripts.

    python -m pytest_factorfair.reports.html.document     writes assets/vega.js again

That file is the charting library that vl-convert (extra ``figures``) bundles, so that pages and printed
figures are drawn by the same code.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment

OWN = "pytest_factorfair.reports.html"
STYLE = "assets/page.css"
PART = "page.html"


def document(
    template: str, scripts: Sequence[str], values: Mapping[str, Any], *, parts: Sequence[str] = ()
) -> str:
    """Render a page; text from outside is escaped, and the page may not load anything.

    ``parts`` are packages that draw a part of the page; each has ``page.html``, a template of macros, and the
    script ``page.js``.
    """
    environment = templates(tuple(parts))
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


def fragment(template: str, values: Mapping[str, Any]) -> str:
    """Render a fragment for another page, such as a notebook, without styles and scripts."""
    return templates(()).get_template(template).render(**values)


@cache
def templates(parts: tuple[str, ...]) -> Environment:
    """The templates of all pages and of these parts; each is compiled once per process."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, PrefixLoader, StrictUndefined

    return Environment(
        loader=ChoiceLoader(
            [PackageLoader(OWN, "assets"), PrefixLoader({part: PackageLoader(part, ".") for part in parts})]
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _hash(text: str) -> str:
    """The source expression of a Content-Security-Policy that allows only this script or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _asset(package: str, path: str) -> str:
    text = files(package).joinpath(path).read_text(encoding="utf-8")
    return text.replace("</script", "<\\/script")


def main() -> None:
    """Write the charting library, with a first line that names its parts and licence."""
    import vl_convert as vlc

    bundle = vlc.javascript_bundle()  # type: ignore[call-arg]  # optional, but not in the stub
    versions = f"Vega {vlc.get_vega_version()}, Vega-Lite {vlc.get_vegalite_versions()[-1]}"
    line = f"/* {versions}, Vega-Embed {vlc.get_vega_embed_version()}; BSD-3-Clause, see NOTICE. */\n"
    (Path(__file__).parent / "assets" / "vega.js").write_text(line + bundle + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
