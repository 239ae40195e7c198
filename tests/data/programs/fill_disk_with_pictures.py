"""Stores pictures, of which one is too large for the disk."""

import resource
import sys

from pytest_factorfair.domain import Response
from pytest_factorfair.errors import StoreError
from pytest_factorfair.store import Store
from tests import keeping

png = bytes([137]) + b"PNG" + bytes([13, 10, 26, 10])
store = Store.open(sys.argv[1], patience=0.1)
keeping.put(store, "first", Response("", image=png + b"1"), model="m", prompt="p", repeat=0).result()
sys.dont_write_bytecode = True  # what is imported under the limit would be cached cut off
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))  # no file may grow beyond: as on a full disk
for size in (1, 400_000, 2):
    try:
        keeping.put(
            store, f"k{size}", Response("", image=png * size), model="m", prompt="p", repeat=0
        ).result()
    except StoreError as error:
        print(error)
store.close()
