"""The charting library of report.html, as it is shipped.

``python -m pytest_factorfair.reports.html.bundle`` updates it to the copy that vl-convert (extra
``figures``) bundles, so that the same code draws the page and the printed figures.
"""

from __future__ import annotations

from pathlib import Path

FILE = Path(__file__).parent / "assets" / "vega.js"


def main() -> None:
    """Write the bundle, with a first line that says what it is."""
    import vl_convert as vlc

    bundle = vlc.javascript_bundle()  # type: ignore[call-arg]  # its stub lacks the default: the whole
    versions = f"Vega {vlc.get_vega_version()}, Vega-Lite {vlc.get_vegalite_versions()[-1]}"
    line = f"/* {versions}, Vega-Embed {vlc.get_vega_embed_version()}; BSD-3-Clause, see NOTICE. */\n"
    FILE.write_text(line + bundle + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
