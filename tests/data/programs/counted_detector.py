"""Reads code cards, and counts the pictures that each process is given. The first to find a file named after
a signal gets the signal."""

import os
import signal
from contextlib import suppress
from pathlib import Path

from pytest_factorfair.detection import build

HERE = Path(__file__).parent


class Detector:
    def __init__(self):
        self.sim = build("sim", custom={})
        self.identity = self.sim.identity
        self.check = self.sim.check

    def read(self, pictures, attributes):
        with (HERE / "begun").open("a") as file:
            file.write(f"{os.getpid()}\n" * len(pictures))
        for fault in (signal.SIGKILL, signal.SIGSTOP):
            with suppress(FileNotFoundError):
                (HERE / fault.name).unlink()
                os.kill(os.getpid(), fault)
        return self.sim.read(pictures, attributes)
