"""pytest started by another program, which prints what has changed in its process."""

import atexit
import gc
import signal
import sys

import pytest


def state():
    handlers = {number: signal.getsignal(number) for number in signal.valid_signals()}
    return gc.isenabled(), gc.get_threshold(), gc.get_freeze_count(), gc.callbacks[:], handlers


def register(function, *arguments, **named):
    callers.append(sys._getframe(1).f_globals["__name__"])
    return registered(function, *arguments, **named)


class Plugin:
    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self):
        *others, handlers = state()
        during.append(
            (*others, began[-1] | {number: handlers[number] for number in handlers.keys() - CANCELLING})
        )

    def pytest_sessionfinish(self):
        during.append(state())
        finders.extend(finder for finder in sys.meta_path if finder not in before)


CANCELLING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}  # while a model is asked, they end the run
callers, during, finders, before = [], [], [], list(sys.meta_path)
registered, atexit.register = atexit.register, register
gc.unfreeze()  # what the tests' fork server froze: the number of these objects falls
gc.set_threshold(int(sys.argv[2]), 11, 12)
began = state()
arguments = ["-s", "-p", "no:faulthandler", *sys.argv[3:]]
assert pytest.main([sys.argv[1], *arguments], plugins=[Plugin()]) == 0
print()
print("as before:", [seen == began for seen in (*during, state())])
print("finders:", [type(finder).__module__ for finder in finders])
print("exit callbacks:", [caller for caller in callers if caller.startswith("pytest_factorfair")])
