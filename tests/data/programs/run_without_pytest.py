"""A run that is not pytest's, in the main thread or in another one."""

import signal
import sys
import threading

from pytest_factorfair import run


def ask():
    run(
        "hosted_vllm/m",
        checklist="small.yaml",
        samples="24,objective=4",
        max_connections=4,
        model_arg={"base_url": sys.argv[1], "price_in": "1", "price_out": "1"},
    )


if sys.argv[2] == "thread":
    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join()
try:
    ask()
except KeyboardInterrupt as error:
    print(error, signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)
