"""Makes one folder of a tiny checkpoint: random weights, its files, the logits of HF transformers, and a proof
that any error in reading it shows in the logits (`prove`)."""
import copy
import json
import pathlib
import shutil
import tempfile

import numpy as np
import safetensors.torch
import torch

from convert_gguf import convert

PROMPT = 45
SEEN = 1e-3  # minimum change of the logits that counts as visible: ten times the tests' tolerance
NOISE = 2e-5  # maximum change by f32 arithmetic
ROUGH = 0.45  # maximum change by bf16 arithmetic, in standard deviations: an undecided router causes more
EPS = ("rms_norm_eps", "norm_eps", "layer_norm_eps", "layer_norm_epsilon", "norm_epsilon")


def fill(model, seed, coarse_norms=False):
    """Fills in weights of a size that keeps logits near 1 and every path active; norms and biases are far from
    neutral. `coarse_norms`: norms stored without the 1 get values whose sum with 1 is exact in f16."""
    generator = torch.Generator().manual_seed(seed)
    owners = dict(model.named_modules())
    without_one = "Gemma" in type(model).__name__ or "Nemotron" in type(model).__name__  # their norms add the 1
    for name, parameter in model.named_parameters():
        noise = torch.randn(parameter.shape, generator=generator)
        owner = type(owners[name.rpartition(".")[0]]).__name__
        if name.endswith("bias"):
            parameter.data = noise * 0.3
        elif "Norm" in owner:
            parameter.data = noise * 0.3 if without_one else 1 + noise * 0.3
            if without_one and coarse_norms:
                parameter.data = torch.round(parameter.data * 512) / 512
        elif owner == "Conv1D":  # GPT-2's matrices are [in][out]
            parameter.data = noise * (1.5 / parameter.shape[0] ** 0.5)
        elif owner == "Conv1d":  # per channel: taps of similar size, so that a swap shows
            parameter.data = noise * 0.7
        elif parameter.dim() >= 2:  # also the experts' matrices
            parameter.data = noise * (1.5 / parameter.shape[-1] ** 0.5)
        else:  # sinks, activation parameters
            parameter.data = noise * 0.7
    for name, buffer in model.named_buffers():
        if name.endswith(("e_score_correction_bias", "expert_bias")):
            buffer.copy_(torch.randn(buffer.shape, generator=generator) * 0.2)
        elif name.endswith("act_fn.beta"):
            buffer.copy_(0.5 + torch.randn(buffer.shape, generator=generator) * 0.1)


def logits_of(model, ids):
    model.eval()
    with torch.no_grad():
        return model(ids, use_cache=False).logits[0]


def cast(model, dtype):
    for parameter in model.parameters():  # not the buffers: rope frequencies stay f32
        parameter.data = parameter.data.to(dtype)
    return model


def prove(name, cls, model, ids, expected, matters, unseen):
    """Raises if the logits would not show an error: in the row order of any tensor, or in one of the
    configuration changes listed in `matters`. Also raises if f32 is too coarse for the tests' tolerance."""
    def seen(logits, what):
        moved = (logits - expected).abs().max().item()
        assert moved > SEEN, f"{name}: {what} moves the logits by {moved:.1e}"
        return moved

    least = []
    for key, tensor in model.state_dict().items():
        if any(part in key for part in unseen):
            continue
        kept = tensor.clone()
        if tensor.numel() == 1:
            tensor.copy_(kept + 0.5)
        else:
            tensor.copy_(kept.flip(0 if tensor.shape[0] > 1 else -1))
        least.append(seen(logits_of(model, ids), key))
        tensor.copy_(kept)
    state = model.state_dict()
    tiny = [{key: 1e-6} for key in EPS if (getattr(model.config, key, None) or 0) >= 1e-3]
    for change in [*tiny, *matters]:
        config = copy.deepcopy(model.config)
        for key, value in change.items():
            setattr(config, key, value)
        other = cls(config).float()
        other.load_state_dict(state, strict=False)
        least.append(seen(logits_of(other, ids), change))
    exact = logits_of(cast(model, torch.float64), ids)
    noise = (exact - expected).abs().max().item()
    assert noise < NOISE, f"{name}: the arithmetic of f32 moves the logits by {noise:.1e}"
    rough = (logits_of(cast(model, torch.bfloat16), ids).float() - expected).abs().max() / expected.std()
    assert rough < ROUGH, f"{name}: bf16 moves the logits by {rough:.2f} of their deviation: another seed may not"
    print(f"{name}: a mistake moves logits by {min(least):.1e} or more, f32 by {noise:.1e}, "
          f"bf16 by {rough:.2f} of their deviation, which is {expected.std():.2f}", flush=True)


class Folders:
    def __init__(self, out, only=None, converts=False):
        self.out, self.only, self.converts = out, only, converts

    def wanted(self, name):
        return not self.only or name == self.only or name.startswith(self.only + "-")

    def fresh(self, name):
        folder = self.out / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def answer(self, folder, cls, model, vocab, seed, matters=(), unseen=()):
        ids = torch.randint(0, vocab, (1, PROMPT), generator=torch.Generator().manual_seed(seed))
        logits = logits_of(model, ids).float()
        np.save(folder / "expected.npy", logits.numpy())
        (folder / "ids.json").write_text(json.dumps(ids[0].tolist()) + "\n")
        prove(folder.name, cls, model, ids, logits, matters, unseen)

    def save(self, folder, cls, config, dtype, seed, shard="1GB", as_hub=True, coarse_norms=False):
        """`config` is a transformers config, or a dictionary that becomes config.json unchanged. as_hub=False
        uses the tensor names and expert stacks that transformers has in memory."""
        written = config if isinstance(config, dict) else None
        assert not written or written.get("torch_dtype", str(dtype)) in str(dtype), folder.name
        if written:
            plain = {key: value for key, value in written.items() if key != "quantization_config"}
            config = cls.config_class.from_dict(copy.deepcopy(plain))
        model = cls(config).float()
        fill(model, seed, coarse_norms)
        model.to(dtype).save_pretrained(folder, max_shard_size=shard, save_original_format=as_hub)
        (folder / "generation_config.json").unlink(missing_ok=True)
        if written:
            (folder / "config.json").write_text(json.dumps(written, indent=2) + "\n")

    def load(self, folder, cls):
        return cls.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager",
                                   experts_implementation="eager")

    def hf(self, name, cls, config, dtype, seed, shard="1GB", as_hub=True, stored=None, **proof):
        """Saves the model, loads it back as f32 and records its logits. `stored` modifies the file of weights."""
        if not self.wanted(name):
            return
        folder = self.fresh(name)
        self.save(folder, cls, config, dtype, seed, shard, as_hub)
        if stored:
            stored(folder / "model.safetensors")
        model = self.load(folder, cls)
        self.answer(folder, cls, model, model.config.get_text_config().vocab_size, seed, **proof)

    def packed(self, name, cls, config, dtype, seed, pack, gguf=False, **proof):
        """Quantised weights: `pack` changes the saved tensors and returns the numbers that they represent, which
        HF computes with. `gguf` also makes the GGUF with llama.cpp's converter."""
        if not self.wanted(name) or (gguf and not self.converts):
            return
        folder = self.fresh(name)
        with tempfile.TemporaryDirectory() as work:
            saved = pathlib.Path(work) / "tiny" if gguf else folder
            self.save(saved, cls, config, dtype, seed)
            (saved / "config.json").write_text(json.dumps({key: value for key, value in config.items()
                                                           if key != "quantization_config"}))
            model = self.load(saved, cls)
            tensors = safetensors.torch.load_file(saved / "model.safetensors")
            model.load_state_dict(pack(tensors), strict=False)
            safetensors.torch.save_file(tensors, saved / "model.safetensors", {"format": "pt"})
            (saved / "config.json").write_text(json.dumps(config, indent=2) + "\n")
            if gguf:
                convert(saved, folder / "model.gguf")
        self.answer(folder, cls, model, model.config.vocab_size, seed, **proof)

    def gguf(self, name, cls, config, write, seed, **proof):
        """`write` makes model.gguf and returns the state dict of its dequantised weights."""
        if not self.wanted(name):
            return
        folder = self.fresh(name)
        config._attn_implementation = "eager"
        model = cls(config).float()
        fill(model, seed)
        model.load_state_dict(write(folder / "model.gguf", config, model.state_dict(), seed))
        self.answer(folder, cls, model, config.vocab_size, seed, **proof)

    def converted(self, name, cls, config, seed, stored=None, **proof):
        """Makes model.gguf with llama.cpp's converter. The weights fit f16, so HF computes with those of the
        GGUF. `stored` modifies the file of weights that the converter reads."""
        if not self.wanted(name):
            return
        if not self.converts:
            print(f"{name}: left out, needs --llama-cpp")
            return
        folder = self.fresh(name)
        with tempfile.TemporaryDirectory() as work:
            saved = pathlib.Path(work) / "tiny"  # the GGUF contains the folder's name
            self.save(saved, cls, config, torch.float16, seed, coarse_norms=True)
            model = self.load(saved, cls)
            if stored:
                stored(saved / "model.safetensors")
            convert(saved, folder / "model.gguf")
        self.answer(folder, cls, model, model.config.get_text_config().vocab_size, seed, **proof)
