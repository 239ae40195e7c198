"""How much of this package an ordinary run of text loads: modules and lines, by room.

python -m benchmarks.loaded     runs `sim:stereotyped` with the recommended gates and a report
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

PACKAGE = "pytest_factorfair"
RUN = f"""
import sys, pytest
pytest.main(["-q", "--factorfair-model=sim:stereotyped", "--factorfair-gate=default"])
with open("loaded", "w") as file:
    for name, module in sorted(sys.modules.items()):
        if name.split(".")[0] == "{PACKAGE}":
            print(name, module.__file__, file=file)
"""


def main() -> None:
    with TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-c", RUN], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        loaded = [line.split(maxsplit=1) for line in Path(folder, "loaded").read_text().splitlines()]
    modules, lines = Counter[str](), Counter[str]()
    for name, path in loaded:
        room = name.removeprefix(PACKAGE).split(".")[1:]
        label = ".".join(room[: 2 if room[:1] == ["benchmarks"] else 1]) or PACKAGE
        modules[label] += 1
        lines[label] += len(Path(path).read_text(encoding="utf-8").splitlines())
    for label, count in lines.most_common():
        print(f"{label:26}{modules[label]:5} modules {count:7,} lines")
    print(f"{'all':26}{modules.total():5} modules {lines.total():7,} lines")


if __name__ == "__main__":
    main()
