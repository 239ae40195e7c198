"""A conftest.py with a model of its own."""

from pytest_factorfair.domain import Response


class House:
    endpoint, parallel, identity = "house", 1, {"provider": "house"}

    async def ask(self, request):
        return Response("#1")

    async def close(self):
        open("closed", "a").close()


def pytest_factorfair_models(config):
    return {"house": lambda spec: House()}
