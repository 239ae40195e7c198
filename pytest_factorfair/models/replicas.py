"""A model asked in replicas: copies of it in the actors of a Ray cluster, by its own name."""

from __future__ import annotations

from pytest_factorfair.domain import Request, Response
from pytest_factorfair.errors import Cause, ModelError, RejectedRequestError
from pytest_factorfair.models import prices
from pytest_factorfair.models.cluster import Cluster, Replicas
from pytest_factorfair.models.pool import Order, Pool, Replica
from pytest_factorfair.models.protocol import Model

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
        except (Exception, SystemExit) as error:  # noqa: BLE001  # a user's model may raise anything
            return RejectedRequestError(f"{type(error).__name__}: {error}", cause=Cause.raised(error))


class ReplicatedModel(Pool):
    """The model of a spec; the engine repeats what loses its replica."""

    def __init__(self, local: Model, order: Order, cluster: Cluster, replicas: Replicas) -> None:
        super().__init__(ModelReplica, order, cluster, replicas, each=local.parallel or PARALLEL)
        self.identity = local.identity
        self.endpoint = local.endpoint
        self.price = prices.of(local)

    async def ask(self, request: Request) -> Response:
        response: Response = await super().ask(request)
        return response
