"""Converts a folder with safetensors to an f16 GGUF with llama.cpp's own converter, without a tokenizer.

The converter comes with the source distribution of llama-cpp-python:
  pip download llama-cpp-python==0.3.36 --no-deps --no-binary :all: && tar xf llama_cpp_python-0.3.36.tar.gz
and then `use("llama_cpp_python-0.3.36/vendor/llama.cpp")`, before anything else imports the gguf package: the
converter needs the one in its own folder.
"""
import json
import logging
import sys

import torch


def use(llama_cpp):
    sys.path[:0] = [str(llama_cpp), str(llama_cpp / "gguf-py")]


def every_kind(of):
    for kind in of.__subclasses__():
        yield kind
        yield from every_kind(kind)


def convert(folder, out):
    import conversion
    import gguf
    logging.disable(logging.WARNING)
    architecture = json.loads((folder / "config.json").read_text())["architectures"][0]
    model = conversion.get_model_class(architecture)
    for kind in every_kind(conversion.TextModel):
        kind.set_vocab = lambda self: None  # there is none
    with torch.inference_mode():
        model(folder, gguf.LlamaFileType.MOSTLY_F16, out, eager=True, model_name="tiny").write()
    logging.disable(logging.NOTSET)
