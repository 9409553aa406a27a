"""Runs engines that Ingot compiled from transformer checkpoints.

    with ingot.Engine("smollm2.ingot") as engine:
        print(engine.generate("The capital of France is", max_tokens=20).text)

Every function may be called from any thread. Engine.generate() and chat() block. Engine.stream() yields pieces as
they arrive. agenerate() and astream() do the same for asyncio.

If the compiler is installed too, a checkpoint is compiled on first use: ingot.Engine("model.gguf"). For more
options, ingot.compile("model.gguf", quantize="int8") returns the path of an engine.
"""
from ._compiler import compile
from ._engine import Engine
from ._library import IngotError, load_library, version
from ._requests import Answer, Choice, Logprob, LogitsRow, ModelInfo, Piece, Stats

__version__ = "0.1.0"

__all__ = [
    "Answer",
    "Choice",
    "Engine",
    "IngotError",
    "LogitsRow",
    "Logprob",
    "ModelInfo",
    "Piece",
    "Stats",
    "compile",
    "load_library",
    "version",
]
