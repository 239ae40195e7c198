"""One of several hosts that fill a store together: NAME, seconds its clock is ahead, and the run as JSON."""

import asyncio
import errno
import hashlib
import json
import os
import sys
import time
from pathlib import Path

from pytest_factorfair import process, run
from pytest_factorfair.domain import Response
from pytest_factorfair.errors import BudgetError, StoreError
from pytest_factorfair.pictures.cards import paint

name, ahead, order = sys.argv[1], float(sys.argv[2]), json.loads(sys.argv[3])
process.host = lambda: name
clock = time.time
time.time = lambda: clock() + ahead
draws, room = order.pop("draws", False), order.pop("room", 10**9)
asked = open("asked", "a", buffering=1)
fsync = os.fsync


def full(file):
    global room
    room -= 1
    if room < 0:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    fsync(file)


os.fsync = full


class Model:
    identity, endpoint, parallel = {"provider": "test", "model": "m"}, "here", 8

    async def ask(self, request):
        while not Path("go").exists():  # all hosts have begun
            await asyncio.sleep(0.01)
        key = hashlib.sha256(repr((request.prompt, request.repeat, request.seed)).encode()).hexdigest()
        asked.write(f"{name} {key}\n")
        if draws:
            return Response("", image=paint({"race": 1, "gender": 1}, seed=int(key[:8], 16)))
        return Response("A.")

    async def close(self):
        pass


try:
    run({"m": Model()}, report=name, **order)
except (BudgetError, StoreError) as error:
    print(error)
