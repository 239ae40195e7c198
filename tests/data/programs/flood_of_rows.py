"""Stores rows until it is killed, and prints the key of each that is committed."""

import os
import sys

from pytest_factorfair.domain import Response
from pytest_factorfair.store import Store
from tests import keeping

store = Store.open(sys.argv[1])
for row in range(10**9):
    done = keeping.put(store, f"k{row}", Response("A" * 700), model="m", prompt="p", repeat=row)
    done.add_done_callback(lambda _, row=row: os.write(1, b"k%d\n" % row))
    if row % 50 == 0:
        done.result()
