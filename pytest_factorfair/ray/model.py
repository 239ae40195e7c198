"""A model that runs as replicas: copies in the actors of a Ray cluster, used like a single model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

from pytest_factorfair.config.sources import Replicas
from pytest_factorfair.domain import Request, Response
from pytest_factorfair.errors import Cause, InputError, ModelError, PictureError, RejectedRequestError
from pytest_factorfair.models import prices
from pytest_factorfair.models.protocol import Model
from pytest_factorfair.ray.cluster import Cluster
from pytest_factorfair.ray.pool import Pool, Replica, ReplicaSpec
from pytest_factorfair.store.pictures import Picture, shared, without_bytes

PARALLEL = 32
"""How many requests a replica takes at a time if its model sets no maximum."""


class ModelReplica(Replica):
    """One copy of a model."""

    async def ask(self, request: Request) -> Response | ModelError:
        """Ask the model; its error is returned, not raised."""
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
    """A wrapper of a model that stores its pictures in shared storage, and responds with their names.

    Raises:
        InputError: the path of the storage is another storage on this machine.
        StoreError: the storage cannot be reached.
    """

    def __init__(self, build: Callable[[], Model], storage: str, mark: str) -> None:
        self._model = build()
        self._pictures = shared(storage)
        self.identity = self._model.identity
        self.endpoint = self._model.endpoint
        self.parallel = self._model.parallel
        self.close = self._model.close
        if self._pictures.check() != mark:
            raise InputError(f"{storage} is not the storage that the controlling process uses")

    async def ask(self, request: Request) -> Response:
        response = await self._model.ask(request)
        if response.image is None:
            return response
        image = response.image

        def keep() -> Response:
            light = without_bytes(response)
            self._pictures.keep([Picture(light.image_file, image, {})])
            return light

        with suppress(PictureError, OSError):  # the controlling process stores it then, or reports the error
            return await asyncio.to_thread(keep)
        return response


class ReplicatedModel(Pool[Response]):
    """A model in replicas; the engine repeats requests that lost their replica."""

    def __init__(self, local: Model, spec: ReplicaSpec, cluster: Cluster, replicas: Replicas) -> None:
        super().__init__(ModelReplica, spec, cluster, replicas, per_replica=local.parallel or PARALLEL)
        self.identity = local.identity
        self.endpoint = local.endpoint
        self.price = prices.of(local)

    def keep_pictures(self, storage: str, mark: str) -> None:
        """Let replicas store pictures in the storage with this mark; call before the first request."""
        self._spec = replace(self._spec, build=partial(PictureKeeper, self._spec.build, storage, mark))
