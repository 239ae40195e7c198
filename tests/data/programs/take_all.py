"""Takes calls from a run's limits until none is granted, and prints their number."""

import sys

from pytest_factorfair.domain import CallRequest, Ceilings, Grant
from pytest_factorfair.store import Store
from pytest_factorfair.store.sharing.limits import SharedLimits

url, session, calls, cost, max_calls = sys.argv[1:]
ceilings = Ceilings(calls=int(calls) or None, cost=float(cost) or None)
with Store.open(url) as store:
    limits, taken = SharedLimits.join(store, ceilings, run="", session=session), 0
    request = CallRequest("here", float(cost) * 0.6, 0.0, lambda number: 1.0)
    while taken < int(max_calls) and isinstance(limits.take(request).result(), Grant):
        taken += 1
    print(taken, flush=True)
    if cost != "0":
        import os

        os._exit(0)  # with calls in flight
    limits.close()
