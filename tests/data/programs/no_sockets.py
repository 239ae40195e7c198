"""A conftest.py that lets no socket be opened."""

import socket

import pytest


@pytest.fixture(autouse=True, scope="session")
def no_sockets():
    def refuse(*arguments):
        raise AssertionError("a socket was opened")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", refuse)
        patch.setattr(socket.socket, "connect_ex", refuse)
        patch.setattr(socket, "getaddrinfo", refuse)
        yield
