"""Stores pictures until it is killed, and prints the key of each that is committed."""

import os
import sys

from pytest_factorfair.domain import Response
from pytest_factorfair.store import Store
from tests import keeping

store, worker = Store.open(sys.argv[1]), sys.argv[2]
png = bytes([137]) + b"PNG" + bytes([13, 10, 26, 10])
for number in range(10**9):
    key = f"{worker}-{number}"
    image = png + key.encode() * 2000
    done = keeping.put(store, key, Response("", image=image), model="m", prompt="p", repeat=number)
    done.add_done_callback(lambda _, key=key: os.write(1, key.encode() + b"\n"))
    if number % 20 == 0:
        done.result()
