"""Stores responses until the disk is full, and prints the error."""

import resource
import sys

from pytest_factorfair.domain import Response
from pytest_factorfair.errors import StoreError
from pytest_factorfair.store import Store
from tests import keeping

store = Store.open(sys.argv[1], patience=0.1)
sys.dont_write_bytecode = True  # what is imported under the limit would be cached cut off
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))  # no file may grow beyond: as on a full disk
for number in range(10_000):
    try:
        keeping.put(store, f"k{number}", Response("A" * 700), model="m", prompt="p", repeat=0).result()
    except StoreError as error:
        print(number, error, sep="\n")
        break
try:
    store.claim(["other"]).result()
except StoreError as error:
    print(error)
store.close()
