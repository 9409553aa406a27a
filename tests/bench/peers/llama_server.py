"""llama.cpp's own C++ server on a checkpoint: llama_server.py MODEL.gguf PORT SEQUENCES POSITIONS_OF_EACH   (needs the
package xllamacpp)"""
import os
import sys
import time

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path, params.port = sys.argv[1], int(sys.argv[2])
params.n_parallel = int(sys.argv[3])
params.n_ctx = int(sys.argv[4]) * params.n_parallel
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = os.cpu_count()
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
while True:
    time.sleep(60)
