"""A merge that is killed after its second chunk of pictures."""

import os
import signal

from pytest_factorfair.commands.cli import main
from pytest_factorfair.store import upkeep
from pytest_factorfair.store.pictures import Folder

upkeep.CHUNK, adopt, calls = 2, Folder.adopt, []


def adopted(self, folder, lines, *, link):
    adopt(self, folder, lines, link=link)
    calls.append(lines)
    if len(calls) == 2:
        os.kill(os.getpid(), signal.SIGKILL)


Folder.adopt = adopted
main(["merge", "merged", "shard1", "shard2"])
