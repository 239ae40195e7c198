"""Starts Python processes as forks of a process that has already imported what every run imports.

The tests start hundreds of Python processes: runs of pytest that end or are sent signals, workers of pytest-xdist,
programs that are killed. Most of the time of a new interpreter goes into imports. A run of the small checklist takes
2.6 CPU seconds in one and 0.7 as a fork; with two workers, 5.8 and 1.8.

`python()` is the path of a script that tests use in place of `sys.executable`. The script passes its arguments,
environment, working directory and standard files to a server, which all workers of pytest-xdist share. It forks, the fork
runs the command, and the script ends with the status of the fork. To a test, the two are one process: if the script is
killed, so is the fork; if the script leads a process group, so does the fork, and a signal to the script's group is
passed on; and the fork reports the script's parent as its own. `kill` and `family` take the script's number for the
fork's. Whatever a fork cannot do alike is left to a new interpreter: commands other than ``-m`` and ``-c``, and other
values of variables that Python reads at its start. Tests of start-up and of imports use `sys.executable`.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import os
import runpy
import selectors
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable
from contextlib import redirect_stdout, suppress
from functools import cache, cached_property, partial
from importlib import import_module, metadata
from importlib.metadata import EntryPoints, PackageMetadata, PackagePath
from io import StringIO
from pathlib import Path
from pkgutil import walk_packages
from types import ModuleType
from typing import Any, NamedTuple
from unittest import mock
from uuid import uuid4

import pytest

PRELOADED = (
    "aiohttp", "asyncio", "execnet", "jinja2", "numpy", "pydantic", "scipy.special", "sqlalchemy.dialects.sqlite", "yaml",
)  # fmt: skip
READ_AT_START = ("PYTHON", "LC_", "LANG", "OMP_")
"""Variables that Python or a library above reads only once: another value needs a process of its own.

A fork takes PYTHONPATH over: see `become`.
"""

OUTSIDE = ("FACTORFAIR_", "GITHUB_", "OPENAI_", "PYTEST_ADDOPTS", "PYTEST_XDIST")
"""Variables of a developer's shell or a CI job that must not reach the runs under test."""

SESSION = os.environ.get("PYTEST_XDIST_TESTRUNUID", uuid4().hex)
OWNER = os.getppid() if "PYTEST_XDIST_WORKER" in os.environ else os.getpid()
"""The server serves all workers of pytest-xdist, and ends with their controller."""

PROGRAM = """\
#!{python} -IS
import os, signal, socket, sys
arguments = sys.argv[2:] if sys.argv[1:2] == ["-u"] else sys.argv[1:]
others = dict(os.environ.items() - {environment!r})
others.pop("PYTHONPATH", None)
if arguments[:1] not in (["-c"], ["-m"]) or any(name.startswith({names!r}) for name in others):
    os.execv({python!r}, [{python!r}, *sys.argv[1:]])
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    socket.send_fds(server, [b"."], [0, 1, 2])
    words = [os.getcwd(), str(len(arguments)), *arguments, *(word for pair in os.environ.items() for word in pair)]
    request = chr(0).join(words).encode(errors="surrogateescape")
    server.sendall(b"%d\\n" % len(request) + request)
    replies = server.makefile()
    process = int(replies.readline())
    send = os.killpg if os.getpgrp() == os.getpid() else os.kill
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: send(process, number))
    status = int(replies.readline())
if status < 0:
    if status != -signal.SIGKILL:
        signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
sys.exit(status)
"""


class Installed(metadata.Distribution):
    """An installed distribution whose files are read once.

    Pytest reads those of all distributions in each run, in search of plugins and for its header. That is a quarter
    of a small run.
    """

    def __init__(self, distribution: metadata.Distribution) -> None:
        self._distribution = distribution

    def read_text(self, filename: str) -> str | None:
        return self._distribution.read_text(filename)

    def locate_file(
        self, path: str | os.PathLike[str]
    ) -> Any:  # a protocol that only type checkers can import
        return self._distribution.locate_file(path)

    @cached_property
    def metadata(self) -> PackageMetadata:
        return self._distribution.metadata

    @cached_property
    def entry_points(self) -> EntryPoints:
        return self._distribution.entry_points

    @cached_property
    def files(self) -> list[PackagePath] | None:
        return self._distribution.files


FIND = metadata.distributions


@cache
def _installed(folder: str) -> tuple[Installed, ...]:
    return tuple(map(Installed, FIND(path=[folder])))


def distributions(**context: Any) -> Iterable[metadata.Distribution]:
    """What `importlib.metadata.distributions` finds; what is installed with the interpreter stays as it is."""
    if context:
        yield from FIND(**context)
        return
    for folder in sys.path:
        installed = folder.startswith((sys.prefix, sys.base_prefix))
        yield from _installed(folder) if installed else FIND(path=[folder])


@cache
def environment() -> dict[str, str]:
    """The environment at the first call, without variables from outside."""
    return {name: value for name, value in os.environ.items() if not name.startswith(OUTSIDE)}


@cache
def python() -> str:
    """The path of the program, with a server; where forks cannot be watched, the interpreter's."""
    if not hasattr(os, "pidfd_open"):
        return sys.executable
    folder = Path(tempfile.gettempdir(), f"forkserver-{SESSION}")
    folder.mkdir(mode=0o700, exist_ok=True)
    program = folder / "python"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            _start(program)
    return str(program)


def _start(program: Path) -> None:
    address = program.with_name("socket")
    command = [sys.executable, __file__, str(address), str(program), str(OWNER)]
    reading, writing = os.pipe()
    files = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0), (os.POSIX_SPAWN_DUP2, writing, 1)]
    # An object of subprocess would warn at the end of this process that the server still runs.
    os.posix_spawn(sys.executable, command, environment(), file_actions=files)
    os.close(writing)
    with os.fdopen(reading, "rb") as printed:
        assert printed.readline() == b"ready\n"
    at_start = {pair for pair in environment().items() if pair[0].startswith(READ_AT_START)}
    program.write_text(
        PROGRAM.format(python=sys.executable, names=READ_AT_START, environment=at_start, address=str(address))
    )
    program.chmod(0o755)


def family(pid: int) -> list[int]:
    """A process, followed by those that it started; of each program, its fork."""
    root = _fork(pid)
    try:
        started = Path(f"/proc/{root}/task/{root}/children").read_text(encoding="ascii").split()
    except OSError:  # it has ended
        started = []
    return [root, *map(_fork, map(int, started))]


def kill(process: subprocess.Popen[Any]) -> None:
    """Kill a process or, if it is a program, its fork, and wait for the end of both."""
    os.kill(_fork(process.pid), signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL


def _fork(program: int) -> int:
    try:
        return int(Path(python()).with_name(str(program)).readlink().name)
    except OSError:  # another process, or a program that has not yet been served
        return program


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[1])
    except OSError:  # it has ended: as of an orphan, the parent is the first process
        return 1


class Request(NamedTuple):
    program: int
    """The process that sent it."""
    folder: str
    arguments: list[str]
    environment: dict[str, str]
    files: list[int]


def _received(connection: socket.socket) -> Request:
    _, files, _, _ = socket.recv_fds(connection, 1, 3)
    peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    with connection.makefile("rb") as sent:
        text = sent.read(int(sent.readline())).decode(errors="surrogateescape")
    folder, number, *words = text.split("\0")
    arguments, pairs = words[: int(number)], words[int(number) :]
    variables = dict(zip(pairs[::2], pairs[1::2], strict=True))
    return Request(struct.unpack("3i", peer)[0], folder, arguments, variables, files)


def serve(address: str, owner: int) -> Request:
    """Fork for each request until the owner ends. This returns in the forks, with what they are to run."""
    running: dict[int, tuple[int, Path, socket.socket]] = {}
    events, listener = selectors.DefaultSelector(), socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(64)
    events.register(listener, selectors.EVENT_READ)
    events.register(owned := os.pidfd_open(owner), selectors.EVENT_READ)
    os.write(1, b"ready\n")
    while True:
        key, _ = events.select()[0]  # the others come again
        if key.fd == owned:
            shutil.rmtree(Path(address).parent)
            sys.exit()
        elif key.fileobj is listener:
            connection, _ = listener.accept()
            request = _received(connection)
            process = os.fork()
            if not process:
                for inherited in (listener, connection, *(client for *_, client in running.values())):
                    inherited.close()
                for descriptor in (owned, *running):
                    os.close(descriptor)
                events.close()
                return request
            for descriptor in request.files:
                os.close(descriptor)
            kill = partial(os.kill, process)
            with suppress(ProcessLookupError):  # if the program was killed
                if os.getpgid(request.program) == request.program:
                    os.setpgid(process, process)
                    kill = partial(os.killpg, process)
            link = Path(address).with_name(str(request.program))
            link.symlink_to(str(process))
            with suppress(BrokenPipeError):
                connection.sendall(b"%d\n" % process)
            running[descriptor := os.pidfd_open(process)] = process, link, connection
            events.register(descriptor, selectors.EVENT_READ)
            events.register(connection, selectors.EVENT_READ, kill)
        elif key.data:  # the program sends no more: it was killed
            key.data(signal.SIGKILL)
            events.unregister(key.fd)
        else:
            process, link, connection = running.pop(key.fd)
            events.unregister(key.fd)
            os.close(key.fd)
            link.unlink()
            _, status = os.waitpid(process, 0)
            with connection, suppress(KeyError, BrokenPipeError):  # if the program was killed
                events.unregister(connection)
                connection.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))


def become(request: Request, program: str) -> None:
    """Run the command as an interpreter that was started with it."""
    for number, descriptor in enumerate(request.files):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin, sys.stdout = open(0), open(1, "w")  # noqa: SIM115  # of the process
    sys.stderr = open(2, "w", buffering=1, errors="backslashreplace")  # noqa: SIM115
    os.chdir(request.folder)
    os.environ.clear()
    os.environ.update(request.environment)
    sys.executable = program
    flag, command, *arguments = request.arguments
    sys.argv = [flag, *arguments]
    paths = request.environment.get("PYTHONPATH", "").split(os.pathsep)
    added = [str(Path(path).absolute()) for path in paths if path]
    sys.path[:1] = [request.folder if flag == "-m" else "", *added]
    # xdist.plugin copied the path for its workers when it was imported.
    import_module("xdist.plugin")._sys_path[:] = sys.path  # noqa: SLF001  # a process of its own has no other
    os.getppid = partial(_parent, request.program)
    status = 0
    try:
        run(flag, command)
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise
        status = end.code or 0
    leave(status)


def run(flag: str, command: str) -> None:
    if flag == "-m":
        if not hasattr(sys.modules.get(command), "__path__"):
            sys.modules.pop(command, None)  # runpy cannot run a module of ours that pytest's loader imported
        runpy.run_module(command, run_name="__main__", alter_sys=True)
    else:
        sys.modules["__main__"] = main = ModuleType("__main__")
        exec(compile(command, "<string>", "exec"), main.__dict__)  # noqa: S102  # what -c does


def leave(status: int) -> None:
    """End as an interpreter does, without destroying its modules one by one: most of the time of a small command."""
    threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001  # what an interpreter calls first
    atexit._run_exitfuncs()  # noqa: SLF001
    with suppress(OSError, ValueError):  # of a closed stream: the interpreter reports it
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status & 0xFF)
    sys.exit(status)


class Preload:
    """Imports our modules as pytest does: with the assertions of a plugin's modules rewritten."""

    def pytest_configure(self) -> None:
        package = import_module("pytest_factorfair")
        for module in walk_packages(package.__path__, "pytest_factorfair."):
            if not module.name.endswith("__main__"):
                import_module(module.name)


if __name__ == "__main__":
    os.chdir(Path(sys.argv[1]).parent)
    for name in PRELOADED:
        import_module(name)
    mock.patch("importlib.metadata.distributions", distributions).start()
    with redirect_stdout(StringIO()) as printed:
        failed = pytest.main(["--markers"], plugins=[Preload()])
    if failed:
        sys.exit(printed.getvalue())  # after what is on standard error
    from pytest_factorfair.benchmarks import reportings
    from pytest_factorfair.reports.html.document import templates

    pages = templates(tuple(reporting.assets for reporting in reportings() if reporting.assets))
    for name in pages.list_templates(extensions=["html"]):
        pages.get_template(name)  # compiled once: a tenth of a small run
    gc.freeze()  # the forks neither search nor copy what they share
    become(serve(sys.argv[1], int(sys.argv[3])), sys.argv[2])
