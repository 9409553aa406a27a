#!/usr/bin/env python3
"""What torch does on this GPU, to stand beside ingot's figures of the same run.

Limits (streaming read, dense bf16 and fp8 products) and Llama shapes with made-up bf16 weights: a decode
step compiled into a CUDA graph, and prefill. The step is what gpt-fast does: static KV cache, one
torch.compile of the whole step, argmax inside.

    torch_peer.py [--shape 1b --shape 8b] [--device cuda]     one JSON object on stdout
"""
import argparse
import json
import math
import statistics
import sys
import time

import torch
import torch.nn.functional as F

# name: hidden, ffn, layers, heads, KV heads, vocabulary
SHAPES = {
    "tiny": (256, 768, 2, 4, 2, 1024),
    "1b": (2048, 8192, 16, 32, 8, 128256),
    "8b": (4096, 14336, 32, 32, 8, 128256),
}


class Llama(torch.nn.Module):
    def __init__(self, shape, batch, context, device):
        super().__init__()
        hidden, ffn, layers, heads, kv_heads, vocabulary = shape
        self.heads, self.kv_heads, self.head_dim = heads, kv_heads, hidden // heads
        width = (heads + 2 * kv_heads) * self.head_dim

        def made(*sizes):
            return torch.nn.Parameter(torch.randn(*sizes, device=device, dtype=torch.bfloat16) * 0.02, requires_grad=False)

        self.embedding = made(vocabulary, hidden)
        self.blocks = torch.nn.ModuleList()
        for _ in range(layers):
            block = torch.nn.Module()
            block.qkv, block.out = made(width, hidden), made(hidden, heads * self.head_dim)
            block.gate_up, block.down = made(2 * ffn, hidden), made(hidden, ffn)
            block.norms = torch.nn.Parameter(torch.ones(2, hidden, device=device, dtype=torch.bfloat16), requires_grad=False)
            for name in ("keys", "values"):
                block.register_buffer(name, torch.zeros(batch, kv_heads, context, self.head_dim, device=device, dtype=torch.bfloat16))
            self.blocks.append(block)
        inverse = 10000.0 ** (-torch.arange(0, self.head_dim, 2, device=device, dtype=torch.float32) / self.head_dim)
        angles = torch.arange(context, device=device, dtype=torch.float32)[:, None] * inverse
        self.register_buffer("cosines", angles.cos().to(torch.bfloat16))
        self.register_buffer("sines", angles.sin().to(torch.bfloat16))
        self.register_buffer("places", torch.arange(context, device=device))

    def rotate(self, x, positions):
        first, second = x.chunk(2, dim=-1)
        cosine, sine = self.cosines[positions][:, None], self.sines[positions][:, None]  # [T, 1, D/2]
        cosine, sine = cosine.transpose(0, 1), sine.transpose(0, 1)                      # [1, T, D/2]
        return torch.cat((first * cosine - second * sine, second * cosine + first * sine), dim=-1)

    def forward(self, ids, positions):
        """ids [B, T], positions [T] -> ids of the most likely next tokens [B, 1]"""
        batch, tokens = ids.shape
        x = F.embedding(ids, self.embedding)
        mask = self.places[None, :] <= positions[:, None]
        for block in self.blocks:
            n = F.rms_norm(x, (x.shape[-1],), block.norms[0], 1e-5)
            qkv = F.linear(n, block.qkv).view(batch, tokens, -1, self.head_dim).transpose(1, 2)
            q, k, v = qkv.split([self.heads, self.kv_heads, self.kv_heads], dim=1)
            q, k = self.rotate(q, positions), self.rotate(k, positions)
            block.keys.index_copy_(2, positions, k)
            block.values.index_copy_(2, positions, v)
            attended = F.scaled_dot_product_attention(q, block.keys, block.values, attn_mask=mask, enable_gqa=True)
            x = x + F.linear(attended.transpose(1, 2).reshape(batch, tokens, -1), block.out)
            n = F.rms_norm(x, (x.shape[-1],), block.norms[1], 1e-5)
            gate, up = F.linear(n, block.gate_up).chunk(2, dim=-1)
            x = x + F.linear(F.silu(gate) * up, block.down)
        return F.linear(x[:, -1:], self.embedding).argmax(dim=-1)


def timed(device, work, repeats, runs=5):
    """Seconds of one `work`: median of `runs`, each of `repeats` on end."""
    seconds = []
    for _ in range(runs + 1):  # the first warms up
        if device == "cuda":
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            for _ in range(repeats):
                work()
            end.record()
            torch.cuda.synchronize()
            seconds.append(begin.elapsed_time(end) / 1e3 / repeats)
        else:
            start = time.perf_counter()
            for _ in range(repeats):
                work()
            seconds.append((time.perf_counter() - start) / repeats)
    return statistics.median(seconds[1:])


def limits(device):
    size = 1 << (32 if device == "cuda" else 22)
    source = torch.empty(size // 4, device=device, dtype=torch.float32).normal_()
    result = {"read_gb_per_s": size / timed(device, source.sum, 5) / 1e9}
    del source
    n = 8192 if device == "cuda" else 256
    a, b = (torch.randn(n, n, device=device, dtype=torch.bfloat16) for _ in range(2))
    result["bf16_tflops"] = 2 * n**3 / timed(device, lambda: a @ b, 10) / 1e12
    try:
        one = torch.ones((), device=device)
        a8, b8 = a.to(torch.float8_e4m3fn), b.to(torch.float8_e4m3fn).t()
        work = lambda: torch._scaled_mm(a8, b8, scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
        result["fp8_tflops"] = 2 * n**3 / timed(device, work, 10) / 1e12
    except (RuntimeError, TypeError, AttributeError) as error:
        result["fp8_error"] = str(error).splitlines()[0]
    return result


def decode(device, shape, batch, depth):
    model = Llama(shape, batch, depth + 64, device)
    positions = torch.tensor([depth], device=device)
    ids = torch.full((batch, 1), 5, device=device)
    step = torch.compile(model, mode="max-autotune-no-cudagraphs", fullgraph=True) if device == "cuda" else model
    with torch.inference_mode():
        if device != "cuda":
            return timed(device, lambda: step(ids, positions), 2)
        for _ in range(3):
            step(ids, positions)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            ids.copy_(step(ids, positions))
        return timed(device, graph.replay, 50)


def prefill(device, shape, tokens):
    model = Llama(shape, 1, tokens, device)
    ids, positions = torch.full((1, tokens), 5, device=device), torch.arange(tokens, device=device)
    step = torch.compile(model, fullgraph=True) if device == "cuda" else model
    with torch.inference_mode():
        return timed(device, lambda: step(ids, positions), 3)


def products(shape):
    """Multiplications of weights for one token, the head left out."""
    hidden, ffn, layers, heads, kv_heads, _ = shape
    head_dim = hidden // heads
    return layers * hidden * ((heads + 2 * kv_heads) * head_dim + heads * head_dim + 3 * ffn)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", action="append", choices=SHAPES)
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    device = options.device
    torch.manual_seed(1)
    result = {"torch": torch.__version__, "device": torch.cuda.get_device_name() if device == "cuda" else device, "limits": limits(device), "shapes": {}}
    for name in options.shape or ["1b", "8b"]:
        shape = SHAPES[name]
        weights = 2 * (products(shape) + shape[0] * shape[5])
        entry = result["shapes"][name] = {"weight_bytes": weights}
        cases = [(1, 128), (8, 128), (64, 128), (1, 8192)] if device == "cuda" else [(1, 16)]
        for batch, depth in cases:
            key = f"decode_batch{batch}_depth{depth}"
            try:
                seconds = decode(device, shape, batch, depth)
                entry[key] = {"us_per_step": seconds * 1e6, "tokens_per_s": batch / seconds, "weight_gb_per_s": weights / seconds / 1e9}
            except RuntimeError as error:
                entry[key] = {"error": str(error).splitlines()[0]}
            print(f"{name} {key}: {entry[key]}", file=sys.stderr)
            torch._dynamo.reset()
        for tokens in [512, 2048] if device == "cuda" else [32]:
            seconds = prefill(device, shape, tokens)
            entry[f"prefill{tokens}"] = {"tokens_per_s": tokens / seconds, "tflops": 2 * products(shape) * tokens / seconds / 1e12}
            print(f"{name} prefill{tokens}: {entry[f'prefill{tokens}']}", file=sys.stderr)
            torch._dynamo.reset()
    json.dump(result, sys.stdout, indent=1)
    print()
    return 0 if all(math.isfinite(v) for v in result["limits"].values() if isinstance(v, float)) else 1


if __name__ == "__main__":
    sys.exit(main())
