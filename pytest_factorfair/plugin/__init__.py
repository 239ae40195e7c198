"""The hooks that pytest calls: options, cases, reports. They only delegate, and import nothing heavy."""

from __future__ import annotations

import os
from collections.abc import Generator
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from pytest_factorfair.config.options import GROUPS, MODEL, OPTIONS, PREFIX, SETTINGS
from pytest_factorfair.plugin import collection, hookspecs
from pytest_factorfair.plugin.keys import EXECUTION

pytest_plugins = ["pytest_factorfair.plugin.fixtures"]

if TYPE_CHECKING:
    from pathlib import Path


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options have no defaults here: ``settings.resolve`` must see which were given."""
    for title, options in GROUPS.items():
        group = parser.getgroup(f"factorfair: {title}")
        for option in options:
            arguments = {"dest": option.dest, "default": None, "help": option.about.replace("%", "%%")}
            if option.kind == "flag":
                group.addoption(option.flag, action="store_true", **arguments)
            elif option.repeatable:
                group.addoption(option.flag, action="append", metavar=option.metavar, **arguments)
            else:
                group.addoption(option.flag, metavar=option.form, **arguments)


def pytest_load_initial_conftests(args: list[str]) -> None:
    """Say where to write a setting that is typed like an option; pytest only calls it unrecognized."""
    settings = {option.flag: option for option in SETTINGS}
    for argument, following in pairwise([*args, ""]):
        flag, _, value = argument.partition("=")
        if (setting := settings.get(flag)) is not None:
            if setting.kind == "flag":
                value = value or "true"
            elif not value:
                value = following or setting.form
            toml = value if setting.kind in ("integer", "amount", "flag") else f'"{value}"'
            raise pytest.UsageError(
                f"{setting.key} is a setting: write {setting.key} = {toml} in [tool.factorfair] of "
                f"pyproject.toml, or set {setting.variable}={value}"
            )


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(hookspecs)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "factorfair(part, context, attribute, statistic, direction; for prompts for pictures: part, kind, "
        "category, subject, attribute, group): run the test only on matching checklist cases; each value is "
        "a text or a list of texts",
    )
    if config.option.help or config.option.version or config.option.markers:
        return
    if config.getoption(MODEL.dest, default=None) or os.environ.get(MODEL.variable):
        from pytest_factorfair.plugin import roles

        roles.start(config)
        return
    # Options of ini files (addopts) wait for a run that names a model; a typed one would do nothing.
    flags = {option.flag for option in OPTIONS}
    for argument in config.invocation_params.args:
        if (flag := str(argument).partition("=")[0]) in flags:
            raise pytest.UsageError(f"{flag}: no model is named; give {MODEL.flag}")
    # A misspelt FACTORFAIR_MODEL would leave out the run that was to gate a release, and stay green.
    if any(name.startswith(PREFIX) for name in os.environ):
        from pytest_factorfair.config import sources
        from pytest_factorfair.errors import InputError

        try:
            sources.check_variables(os.environ, strict=False)  # others are no concern of a run without us
            if MODEL.variable in os.environ:
                sources.check_no_gates(os.environ, config.rootpath)
        except InputError as error:
            raise pytest.UsageError(str(error)) from None


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close the run if the session never began; otherwise pytest_sessionfinish has closed it."""
    if execution := config.stash.get(EXECUTION, None):
        execution.close()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if isinstance(collector, pytest.Session) and report.passed and EXECUTION in collector.config.stash:
        collection.add_shipped_checks(collector, report)
    return report


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    return collection.shipped_module(module_path, parent)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if collection.ASSIGNMENT in metafunc.fixturenames:
        collection.parametrize(metafunc)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if EXECUTION in item.config.stash:
        from pytest_factorfair.plugin import roles

        roles.make_report(item, call, report)
    return report
