"""A conftest.py with a detector that sees nobody."""

from pytest_factorfair.domain import Detection


class House:
    def __init__(self, version):
        self.identity = {"detector": "house", "version": version}

    def check(self, attributes):
        pass

    def read(self, pictures, attributes):
        return tuple(Detection() for _ in pictures)


def pytest_factorfair_detectors(config):
    return {"house": lambda spec: House(spec.target)}
