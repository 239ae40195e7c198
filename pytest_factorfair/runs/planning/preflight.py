"""Checks before a call is paid: the folder of reports, the store, prices, hosts and replicas."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_factorfair import process
from pytest_factorfair.errors import InputError
from pytest_factorfair.models import prices
from pytest_factorfair.runs import replicas

if TYPE_CHECKING:
    from pytest_factorfair.config.settings import Settings
    from pytest_factorfair.runs.execution import Execution
    from pytest_factorfair.runs.run import Run


def check(execution: Execution) -> None:
    """Check that the run can be asked, stored and reported; hosts and replicas only if there are calls.

    Raises:
        InputError: reports cannot be written, there is nothing to replay, a price or host is unknown, or the
            cluster cannot be used.
        StoreError: the store cannot be opened or written, or the storage of pictures refuses them.
    """
    run, settings = execution.run, execution.run.settings
    check_report(settings, make=True)
    store = execution.store
    store.verify()
    if settings.reuse == "only":
        if store.empty:
            where = settings.where("reuse")
            raise InputError(f"{where}: {store.location} holds no answer; run once without reuse=only")
        return
    if run.modality == "image":
        mark = store.settle_pictures()
        for model in replicas.models_of(run) if mark else ():
            model.keep_pictures(store.pictures.location, mark)
    check_prices(run)
    if execution.outlook.calls and settings.folder is None:
        check_hosts(run)
        for model in replicas.models_of(run):
            model.connect()


def check_report(settings: Settings, *, make: bool) -> None:
    """Make sure that reports can be written; ``make`` their folder.

    Raises:
        InputError: they cannot be written.
    """
    folder = Path(settings.report)
    try:
        if make:
            process.make_folder(folder, ignored=False)
        existing_folder = next(ancestor for ancestor in (folder, *folder.parents) if ancestor.exists())
        with tempfile.TemporaryFile(dir=existing_folder):
            pass
    except OSError as error:
        where = f"{settings.where('report')} {settings.report}"
        raise InputError(f"{where}: cannot write there: {error.strerror}") from None


def check_prices(run: Run) -> None:
    """Make sure that a limit on USD can be kept.

    Raises:
        InputError: a price is unknown.
    """
    settings = run.settings
    if settings.ceilings.cost is None:
        return
    for spec, model in run.models.items():
        if run.price(model) is None:
            raise InputError(
                f"{settings.where('max-cost')}: the price of '{spec}' is unknown; "
                f"{prices.remedy(run.modality)}, or limit --factorfair-max-calls"
            )
    if run.looking is not None and run.looking.price is None:
        raise InputError(
            f"{settings.where('max-cost')}: the price of the detector '{settings.detector}' is "
            "unknown; add price_in=USD&price_out=USD (per million tokens) or price=USD (per picture), "
            "or limit --factorfair-max-calls"
        )


def check_hosts(run: Run) -> None:
    """Make sure that the services can be found.

    Raises:
        InputError: a host cannot be resolved.
    """
    asked = dict(run.models)
    if run.looking is not None:
        asked[run.settings.detector or ""] = run.looking.model
    # Only providers of services have a URL.
    services = {spec: url for spec, model in asked.items() if (url := getattr(model, "url", None))}
    if services:
        from pytest_factorfair.models.http_client import check_host

        for spec, url in services.items():
            check_host(spec, url)
