"""A conftest.py whose fixture replaces the detector."""

import pytest

from pytest_factorfair.domain import Detection, Face


class Own:
    def __init__(self):
        self.identity = {"detector": "own"}

    def read(self, pictures, attributes):
        groups = {attribute.name: attribute.groups[0] for attribute in attributes}
        face = Face(groups, dict.fromkeys(groups, 1.0), (0, 0, 1, 1))
        return tuple(Detection((face,)) for _ in pictures)


@pytest.fixture
def factorfair_detector():
    return Own()
