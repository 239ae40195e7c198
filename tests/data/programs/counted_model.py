"""Counts what each process is asked; who is asked the text in the file "poison" is killed. With a file "hold",
nobody answers, nor before as many processes were asked as "wanted" says."""

import os
import time
from pathlib import Path

HERE = Path(__file__).parent


def begun():
    return len(set((HERE / "begun").read_text().split()))


def ask(prompt):
    with (HERE / "begun").open("a") as file:
        file.write(f"{os.getpid()}\n")
    poison = HERE / "poison"
    if poison.exists() and poison.read_text() == prompt:
        os.kill(os.getpid(), 9)
    time.sleep(0.03)
    while (HERE / "hold").exists() or begun() < int((HERE / "wanted").read_text()):
        time.sleep(0.01)
    return "AB"[len(prompt) % 2] + "."


ask.factorfair_parallel = 4
