"""Checks before a call is paid: the folder of reports, the store, prices, hosts and replicas."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_factorfair import process
from pytest_factorfair.errors import InputError
from pytest_factorfair.models import prices

if TYPE_CHECKING:
    from pytest_factorfair.config.settings import Settings
    from pytest_factorfair.runs.run import Run
    from pytest_factorfair.store import Store


def check(run: Run, store: Store) -> None:
    """Check that the store can be used, and that a limit on USD can be kept.

    Raises:
        InputError: there is nothing to replay, or a price is unknown.
        StoreError: the store cannot be written, or the storage of pictures refuses them.
    """
    settings = run.settings
    store.verify()
    if settings.reuse == "only":
        if store.empty:
            where = settings.where("reuse")
            raise InputError(f"{where}: {store.location} holds no answer; run once without reuse=only")
        return
    if run.modality == "image":
        mark = store.settle_pictures()
        if mark and run.cluster is not None:
            for model in run.cluster.models:
                model.keep_pictures(store.pictures.location, mark)
    if problem := unpriced(run):
        raise InputError(problem)


def check_services(run: Run) -> None:
    """Make sure that the services can be found and the replicas used, in a run that will call them.

    Raises:
        InputError: a host cannot be resolved, or the cluster cannot be used.
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
    if run.cluster is not None:
        for model in run.cluster.models:
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


def unpriced(run: Run) -> str:
    """Why a limit on USD cannot be kept, and what to do: a price is unknown. Empty if it can."""
    settings = run.settings
    if settings.ceilings.cost is None or settings.reuse == "only":
        return ""
    or_calls = "or limit --factorfair-max-calls instead"
    for spec, model in run.models.items():
        if run.price(model) is None:
            return (
                f"{settings.where('max-cost')}: the price of '{spec}' is unknown; "
                f"{prices.remedy(run.modality)}, {or_calls}"
            )
    if run.looking is not None and run.looking.price is None:
        return (
            f"{settings.where('max-cost')}: the price of the detector '{settings.detector}' is unknown; "
            f"add price_in=USD&price_out=USD (per million tokens) or price=USD (per picture), {or_calls}"
        )
    return ""
