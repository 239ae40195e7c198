"""Adds fifty long lines to a manifest that others write too."""

import sys
from pathlib import Path

from pytest_factorfair.store.pictures import Folder, Picture, file_of

pictures, worker = Folder(Path(sys.argv[1])), sys.argv[2]
sys.stdin.readline()  # all start together
png = bytes([137]) + b"PNG" + bytes([13, 10, 26, 10])
for number in range(50):
    name = file_of(png + b"same")
    pictures.keep([Picture(name, png + b"same", {"key": f"{worker}-{number}", "prompt": "long " * 2000})])
