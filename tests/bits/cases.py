"""The cases of the bit list: models × options × devices. Cases marked `long` run only with --long."""
from dataclasses import dataclass

EMULATOR = "cuda-emulator:sm_90a"
QUANTIZED = ("int8", "int4-g32", "int4-g64", "int4-g128", "fp8")
GGUF = ("q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "q4_k", "q5_k", "q6_k", "q2_k", "q3_k", "iq4_nl", "iq4_xs")
FLOATS = ("llama3-tied", "llama-biases-sharded", "llama-old-config", "mistral-window", "gemma3-layer-types", "gemma3-old-config",
          "llama", "llama-odd", "mistral", "gemma3-shape", "llama-seed", "gptneox-old-config",
          "gptneox-sequential-tied", "lfm2-old-config", "lfm2-biases-untied", "olmo3-windows", "cohere2-layer-types",
          "hunyuan-untied", "apertus-old-config", "qwen3moe-old-config", "gpt-oss-old-config",
          "ernie4_5-moe-old-config", "qwen2moe-dense-layer")  # models with float matrices
MIXED = ("gemma3-gguf-mixed", "lfm2-gguf-mixed")  # with some bf16 matrices among others


@dataclass(frozen=True)
class Case:
    model: str
    options: tuple = ()  # options of `ingot compile`
    long: bool = False
    emulator: bool = False

    @property
    def name(self):
        words = [word.removeprefix("--") for word in self.options if word not in ("--target", "--quantize", "--precision", EMULATOR)]
        return " ".join([*(["emulator:"] if self.emulator else []), self.model, *words])

    @property
    def by_level(self):
        """bf16 matrices are multiplied by fma at avx2, by vdpbf16ps at avx512, in tiles at amx: the only kind
        whose bits differ by level."""
        exact = "exact" in self.options
        return self.model in (*FLOATS, *MIXED) and not exact and not self.emulator and "--quantize" not in self.options


def cpu():
    for model in ("llama3-tied", "llama-biases-sharded", "llama-old-config", "mistral-window", "gemma3-layer-types", "gemma3-old-config",
                  "llama-gguf-mixed", "gemma3-gguf-mixed", "gptneox-old-config", "gptneox-sequential-tied", "gptneox-gguf-mixed",
                  "lfm2-old-config", "lfm2-biases-untied", "lfm2-gguf-mixed", "olmo3-windows", "cohere2-layer-types",
                  "hunyuan-untied", "apertus-old-config", "qwen3moe-old-config", "gpt-oss-old-config", "ernie4_5-moe-old-config",
                  "qwen2moe-dense-layer"):
        yield Case(model)
        yield Case(model, ("--precision", "exact"))
    for model in ("llama", "gemma3-shape"):
        yield Case(model)
        for kv in ("f32", "bf16", "int8", "int4"):
            yield Case(model, ("--quantize", "int8", "--kv", kv))
        for kind in QUANTIZED:
            yield Case(model, ("--quantize", kind), long=model != "llama")
    for kind in ("int8", "int4-g64", "fp8"):
        yield Case("llama-odd", ("--quantize", kind))
        yield Case("llama-odd", ("--quantize", kind, "--precision", "exact"), long=kind == "int8")
    yield Case("mistral", ("--quantize", "int8"))
    yield Case("mistral", ("--quantize", "int8", "--kv", "int8"))
    yield Case("gptneox-old-config", ("--quantize", "int8"))
    for kind in ("int8", "int4-g32"):
        for model in ("lfm2-old-config", "qwen3moe-old-config", "gpt-oss-old-config"):
            yield Case(model, ("--quantize", kind))
    yield Case("llama-seed", ("--quantize", "int4-g64"))
    for kind in GGUF:
        yield Case(f"gguf-{kind}")
        yield Case(f"gguf-{kind}", ("--precision", "exact"), long=True)
    yield Case("smollm2")
    for kv in ("int8", "int4"):
        yield Case("smollm2", ("--kv", kv))
    yield Case("gemma3")
    # Cases not covered above: formats whose matrices end inside a block, and caches with windows.
    for model in ("gemma3-layer-types", "llama-biases-sharded"):
        for kind in QUANTIZED:
            yield Case(model, ("--quantize", kind), long=True)
    for model in ("mistral-window", "gemma3-old-config"):
        for kv in ("f32", "bf16"):
            yield Case(model, ("--kv", kv), long=True)
    for model in ("llama-odd", "mistral"):
        yield Case(model, long=True)
        for kv in ("f32", "bf16", "int8"):
            yield Case(model, ("--quantize", "int4-g32", "--kv", kv), long=True)


def emulator():
    def on(model, *options):
        return Case(model, ("--target", EMULATOR, *options), emulator=True)

    yield on("llama3-tied")
    yield on("llama", "--quantize", "int8", "--kv", "fp8")
    yield on("gptneox-old-config")
    yield on("lfm2-old-config")
    yield on("gpt-oss-old-config")
    yield on("qwen3moe-old-config", "--quantize", "int8")


def cases():
    return [*cpu(), *emulator()]
