"""``factorfair bless``: make a report the baseline that later runs are compared with."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_factorfair.commands.common import Commands, read_hooks, say, write
from pytest_factorfair.errors import InputError

BASELINE = "factorfair-baseline.json.gz"
"""The default baseline; compressed, as it is committed: a report of preset ci (2 MB) shrinks to a tenth."""


def add(commands: Commands) -> None:
    """Add the command ``bless``; its exit code is 4 if the report cannot be a baseline."""
    parser = commands.add_parser(
        "bless",
        help="make a report the baseline of later runs",
        description="Make a report the baseline that later runs are compared with.",
    )
    parser.add_argument(
        "report",
        nargs="?",
        metavar="REPORT",
        help="the report (default: report.json in this project's report folder)",
    )
    parser.add_argument(
        "--to",
        metavar="FILE",
        help="the baseline file; compressed if its name ends with .gz "
        f"(default: the baseline in [tool.factorfair], else {BASELINE})",
    )
    parser.add_argument(
        "--despite-failures", action="store_true", help="also bless a report with failed gates"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    from pytest_factorfair.commands.compare import compare
    from pytest_factorfair.config import sources
    from pytest_factorfair.config.settings import DEFAULT_REPORT
    from pytest_factorfair.exports import evidence
    from pytest_factorfair.reports import json_report
    from pytest_factorfair.reports.files import as_baseline
    from pytest_factorfair.reports.tables import changes_text

    read_hooks()
    configured = {name: str(setting.value) for name, setting in sources.pyproject(Path.cwd()).items()}
    report = json_report.located(arguments.report or configured.get("report", DEFAULT_REPORT))
    target = Path(arguments.to or configured.get("baseline", BASELINE))
    with json_report.opened(report, name=report) as opened:
        if json_report.ANSWERS_IN in opened:
            raise InputError(
                f"{report}: too large to commit, with answers in {json_report.COMPRESSED}; keep both in "
                "a folder of their own, and name the report there as the baseline"
            )
        summary = json_report.summary(opened, [json_report.record(row) for row in opened["cases"]])
        if summary.incomplete:
            raise InputError(f"{report}: not judged ({summary.incomplete}): it cannot be a baseline")
        evidence.check(summary, opened, name=report)
    failed = dict.fromkeys(verdict.gate for verdict in summary.gates if verdict.judgement == "failed")
    if failed and not arguments.despite_failures:
        raise InputError(f"{report}: failed {', '.join(failed)}; to bless it anyway: --despite-failures")
    if target.is_dir():
        raise InputError(f"{target}: a folder; name a file in it")
    if target.exists():
        try:
            for succession in compare([str(target), report], baseline=True)[0].successions:
                for line in changes_text(succession).splitlines():
                    say(line)
        except InputError as error:  # a baseline that cannot be compared is replaced, too
            say(f"not compared with the previous baseline: {error}")
    content = json_report.content(report, name=report)
    write(target, as_baseline(content, target))
    say(f"{report} is now the baseline {target} ({target.stat().st_size / 1000:,.0f} kB): commit it")
    if "baseline" not in configured:
        say(f'and name it in pyproject.toml: [tool.factorfair] baseline = "{target}"')
