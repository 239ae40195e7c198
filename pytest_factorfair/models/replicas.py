"""A model asked in replicas: copies of it in the actors of a Ray cluster, by its own name."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.errors import Cause, InputError, ModelError, PictureError, RejectedRequestError
from pytest_factorfair.models import prices
from pytest_factorfair.models.cluster import Cluster, Replicas
from pytest_factorfair.models.pool import Order, Pool, Replica
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.store.bucket import shared
from pytest_factorfair.store.pictures import Picture, kept

PARALLEL = 32
"""Requests under way at a replica of a model that names no maximum."""


class ModelReplica(Replica):
    """One copy of a model."""

    async def ask(self, request: Request) -> Response | ModelError:
        """The response, or the error, as the model itself would return or raise it."""
        if self.problem:
            return self.unfit
        model: Model = self.copy
        try:
            return await model.ask(request)
        except ModelError as error:
            return error
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # noqa: BLE001  # a user's model may raise anything
            return RejectedRequestError(f"{type(error).__name__}: {error}", cause=Cause.raised(error))


class PictureKeeper:
    """A model that stores its pictures in the place of the controlling process, and answers with their names.

    Raises:
        InputError: the place is other storage here.
        StoreError: the place cannot be reached.
    """

    def __init__(self, build: Callable[[], Model], storage: str, mark: str) -> None:
        self._model = build()
        self._pictures = shared(storage)
        self.identity = self._model.identity
        self.endpoint = self._model.endpoint
        self.parallel = self._model.parallel
        self.close = self._model.close
        if self._pictures.check() != mark:
            raise InputError(f"{storage} is other storage there than for the controlling process")

    async def ask(self, request: Request) -> Response:
        response = await self._model.ask(request)
        if response.image is None:
            return response
        image = response.image

        def keep() -> Response:
            light = kept(response)
            self._pictures.keep([Picture(light.image_file, image, {})])
            return light

        with suppress(PictureError, OSError):  # the controlling process keeps it, or reports the error
            return await asyncio.to_thread(keep)
        return response


class ReplicatedModel(Pool[Response]):
    """The model of a spec; the engine repeats what loses its replica."""

    def __init__(self, local: Model, order: Order, cluster: Cluster, replicas: Replicas) -> None:
        super().__init__(ModelReplica, order, cluster, replicas, per_replica=local.parallel or PARALLEL)
        self.identity = local.identity
        self.endpoint = local.endpoint
        self.price = prices.of(local)

    def keep_pictures(self, storage: str, mark: str) -> None:
        """Have replicas store their pictures in a place with this mark; called before anything is asked."""
        self._order = replace(self._order, build=partial(PictureKeeper, self._order.build, storage, mark))
