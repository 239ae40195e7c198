"""Stores so many rows once all processes have begun."""

import sys

from pytest_factorfair.domain import Response
from pytest_factorfair.store import Store
from tests import keeping

url, worker, rows = sys.argv[1], sys.argv[2], int(sys.argv[3])
sys.stdin.readline()  # all start together
with Store.open(url) as store:
    waiting = [
        keeping.put(store, f"{worker}-{row}", Response("A" * 700), model="m", prompt="p", repeat=row)
        for row in range(rows)
    ]
    for done in waiting:
        done.result()
print("done")
