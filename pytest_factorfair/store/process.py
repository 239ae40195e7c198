"""Which process this is, and whether another one of this machine is still there."""

from __future__ import annotations

import os
import socket
from functools import cache
from pathlib import Path


@cache
def host() -> str:
    """This machine since its last start, and on Linux the space its process numbers belong to."""
    parts = [socket.gethostname()]
    try:
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip())
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    except OSError:
        pass  # not Linux
    return " ".join(parts)


def alive(pid: int) -> bool:
    """Whether a process of this host runs; one that was killed and is only a name still does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # somebody else's
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2]
    except OSError:
        return True
    return not state.strip().startswith("Z")
