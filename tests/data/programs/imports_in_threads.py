"""A conftest.py that writes which of our modules other threads than the main one import in its process."""

import os
import sys
import threading
from pathlib import Path

imported = []


def note(event, arguments):
    if event != "import" or threading.current_thread() is threading.main_thread():
        return
    if arguments[0].startswith("pytest_factorfair"):
        imported.append(arguments[0])


sys.addaudithook(note)


def pytest_sessionfinish():
    process = os.environ.get("PYTEST_XDIST_WORKER", "controller")
    Path(f"imported-by-threads-of-{process}").write_text("\n".join(imported))
