"""The documentation site: built strictly, whole, and nothing in it comes from another host."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
import yaml

from pytest_factorfair.config.options import OPTIONS

ROOT = Path(__file__).parents[2]
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "object": "data"}


class Loading(HTMLParser):
    """Collects the addresses that a browser fetches by itself for a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        links = tag == "link" and attributes.get("rel") != "canonical"
        self.addresses.append(str(attributes.get("href" if links else LOADED.get(tag, ""), "")))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("zensical", reason="the site is built with the extra docs")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, str(ROOT / "docs" / "site.py"), "build", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"


def test_nothing_is_loaded_from_another_host(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        loading = Loading()
        loading.feed(page.read_text(encoding="utf-8"))
        assert not [address for address in loading.addresses if re.match(r"(?i)([a-z]+:)?//", address)], page
    styles = [style.read_text(encoding="utf-8") for style in site.rglob("*.css")]
    assert styles
    assert not [style for style in styles if re.search(r"(?i)(url\(|@import)\s*['\"]?\s*(https?:)?//", style)]


def test_every_page_can_be_searched(site: Path) -> None:
    index = json.loads((site / "search.json").read_text(encoding="utf-8"))
    indexed = {entry["location"].partition("#")[0].strip("/") for entry in index["items"]}
    assert {page.stem for page in (ROOT / "docs").glob("*.md")} - {"index"} <= indexed


def test_the_tables_are_made_from_the_data(site: Path) -> None:
    """Nine labels of seven statistics differ; every option has a row."""
    truth = (site / "truth" / "index.html").read_text(encoding="utf-8")
    table = truth.split("<table>")[1].split("</table>")[0]
    rows = [re.findall(r"<td>(.*?)</td>", row) for row in table.split("<tr>")[2:]]
    assert len(rows) == 9
    assert len({row[0] for row in rows}) == 7
    assert "Homelessness Rate" in {row[0] for row in rows}
    figures = yaml.safe_load((ROOT / "checklists/statistics/us.yaml").read_text(encoding="utf-8"))
    assert all(f">{statistic['name']}<" in truth for statistic in figures["statistics"].values())
    assert "100,000 times Asian 35,152 / 21,386,914, Black 155,136 / 42,313,088" in truth
    assert truth.count("count, no denominator") == 4  # homelessness and COVID-19 by gender, in both tables
    assert "unless 61.2% or more of the population were Male" in truth
    page = (site / "options" / "index.html").read_text(encoding="utf-8")
    for option in OPTIONS:
        assert page.count(f'<a id="{option.name}"></a>') == 1
        assert option.key in page


def test_the_interface_is_documented(site: Path) -> None:
    page = (site / "api" / "index.html").read_text(encoding="utf-8")
    for name in ("run", "runs.progress.Progress", "scoring.s_fact", "scoring.tradeoff_distance", "gates.parse", "domain.Response",
                 "models.Model", "benchmarks.fact_or_fair.metrics.influence.influence", "gates.judge.judge", "benchmarks.load", "detection.protocol.Detector", "store.Store", "errors.FatalModelError"):  # fmt: skip
        assert re.search(rf"<code>pytest_factorfair\.{re.escape(name)}\b", page), name
    hooks = (site / "hooks" / "index.html").read_text(encoding="utf-8")
    assert "<code>pytest_factorfair_read_answer(" in hooks
