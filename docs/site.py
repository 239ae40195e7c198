"""The documentation site: the pages of ``docs/``, and pages of the repository beside them.

python docs/site.py build [FOLDER]    writes it to ``FOLDER/site``, by default ``build/docs/site``
python docs/site.py serve             shows it

The pages are laid out in ``FOLDER/pages``: links to files of the repository become links to their pages.
"""

from __future__ import annotations

import posixpath
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
RECIPES = (
    "own_model",
    "wrapped_model",
    "own_application",
    "own_detector",
    "own_assertion",
    "own_checklist",
    "own_benchmark",
    "offline_engine",
    "notebook",
    "ci_gates",
)
PAGES = {
    "checklists/README.md": "checklist_format.md",
    "conftest_examples/README.md": "recipes/index.md",
    **{f"conftest_examples/{name}/README.md": f"recipes/{name}.md" for name in RECIPES},
    "CHANGELOG.md": "changelog.md",
}
"""Pages of the repository, and their paths in the site."""

LANGUAGES = {".py": "python", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml"}

_CODE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?\)")


def lay_out(folder: Path) -> None:
    """Write all pages of the site, with what they show, into an empty folder."""
    shutil.copytree(ROOT / "docs", folder, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    for uri, origin in {**{path.name: f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")},
                        **{uri: origin for origin, uri in PAGES.items()}}.items():  # fmt: skip
        target = folder / uri
        target.parent.mkdir(exist_ok=True)
        target.write_text(_page(origin, uri), encoding="utf-8")


def _page(origin: str, uri: str) -> str:
    """A page with the links of the site; the files of a recipe are appended."""
    path = ROOT / origin
    parts = _CODE.split(path.read_text(encoding="utf-8"))
    parts[::2] = (
        _LINK.sub(lambda match: f"]({_linked(match[1], origin, uri)}{match[2] or ''})", prose)
        for prose in parts[::2]
    )
    recipe = path.parent.parent.name == "conftest_examples"
    return "".join(parts) + "".join(_listings(path.parent) if recipe else ())


def _linked(target: str, origin: str, uri: str) -> str:
    """A link of a page as the site needs it."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(origin), target))
    source = next((name for name in (path, f"{path}/README.md") if name in PAGES), None)
    page = PAGES[source] if source else path.removeprefix("docs/")
    if not source and not path.startswith("docs/"):
        sys.exit(f"{origin}: it links to {path}, which is not part of the site")
    return posixpath.relpath(page, posixpath.dirname(uri) or ".")


def _listings(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in LANGUAGES:
            code = path.read_text(encoding="utf-8").rstrip()
            name = path.relative_to(folder).as_posix()
            yield f"\n## {name}\n\n```{LANGUAGES[path.suffix]}\n{code}\n```\n"


def main(command: str, folder: str = "build/docs") -> int:
    """Build or serve the site; a warning fails a build."""
    root = ROOT / folder
    shutil.rmtree(root, ignore_errors=True)
    lay_out(root / "pages")
    shutil.copy(ROOT / "mkdocs.yml", root)
    strict = ["--strict"] if command == "build" else []
    return subprocess.call([sys.executable, "-m", "zensical", command, *strict], cwd=root)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
