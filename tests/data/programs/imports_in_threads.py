"""A conftest.py that notes which of our modules other threads than the main one import."""

import sys
import threading

imported = []


def note(event, arguments):
    if event != "import" or threading.current_thread() is threading.main_thread():
        return
    if arguments[0].startswith("pytest_factorfair"):
        imported.append(arguments[0])


sys.addaudithook(note)


def pytest_sessionfinish():
    print("imported by other threads:", imported)
