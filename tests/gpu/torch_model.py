#!/usr/bin/env python3
"""Llama shapes in compiled torch: what a careful user gets on this GPU. Prints one JSON object per line, at once.

A decode step is built as in gpt-fast: static KV cache, one torch.compile of the whole step in a CUDA graph
(mode="reduce-overhead"), argmax inside. A compilation takes tens of seconds, so this is a separate script, to run
after run.py (whose peers.py compiles nothing).

    torch_model.py [--shape 1b] [--batch 1,64] [--depth 128] [--prefill 2048] [--device cuda]
"""
import argparse
import json
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
            return torch.nn.Parameter(torch.randn(*sizes, device=device, dtype=torch.bfloat16) * 0.02,
                                      requires_grad=False)

        self.embedding = made(vocabulary, hidden)
        self.blocks = torch.nn.ModuleList()
        for _ in range(layers):
            block = torch.nn.Module()
            block.qkv, block.out = made(width, hidden), made(hidden, heads * self.head_dim)
            block.gate_up, block.down = made(2 * ffn, hidden), made(hidden, ffn)
            block.norms = torch.nn.Parameter(torch.ones(2, hidden, device=device, dtype=torch.bfloat16),
                                             requires_grad=False)
            for name in ("keys", "values"):
                block.register_buffer(
                    name, torch.zeros(batch, kv_heads, context, self.head_dim, device=device, dtype=torch.bfloat16))
            self.blocks.append(block)
        inverse = 10000.0**(-torch.arange(0, self.head_dim, 2, device=device, dtype=torch.float32) / self.head_dim)
        angles = torch.arange(context, device=device, dtype=torch.float32)[:, None] * inverse
        self.register_buffer("cosines", angles.cos().to(torch.bfloat16))
        self.register_buffer("sines", angles.sin().to(torch.bfloat16))
        self.register_buffer("places", torch.arange(context, device=device))

    def rotate(self, x, positions):
        first, second = x.chunk(2, dim=-1)
        cosine, sine = self.cosines[positions][:, None], self.sines[positions][:, None]  # [T, 1, D/2]
        cosine, sine = cosine.transpose(0, 1), sine.transpose(0, 1)  # [1, T, D/2]
        return torch.cat((first * cosine - second * sine, second * cosine + first * sine), dim=-1)

    def forward(self, ids, positions):
        """Maps ids [B, T] and positions [T] to the ids of the most probable next tokens [B, 1]."""
        batch, tokens = ids.shape
        x = F.embedding(ids, self.embedding)
        mask = self.places[None, :] <= positions[:, None]
        for block in self.blocks:
            n = F.rms_norm(x, (x.shape[-1], ), block.norms[0], 1e-5)
            qkv = F.linear(n, block.qkv).view(batch, tokens, -1, self.head_dim).transpose(1, 2)
            q, k, v = qkv.split([self.heads, self.kv_heads, self.kv_heads], dim=1)
            q, k = self.rotate(q, positions), self.rotate(k, positions)
            block.keys.index_copy_(2, positions, k)
            block.values.index_copy_(2, positions, v)
            attended = F.scaled_dot_product_attention(q, block.keys, block.values, attn_mask=mask, enable_gqa=True)
            x = x + F.linear(attended.transpose(1, 2).reshape(batch, tokens, -1), block.out)
            n = F.rms_norm(x, (x.shape[-1], ), block.norms[1], 1e-5)
            gate, up = F.linear(n, block.gate_up).chunk(2, dim=-1)
            x = x + F.linear(F.silu(gate) * up, block.down)
        return F.linear(x[:, -1:], self.embedding).argmax(dim=-1)


def timed(device, work, repeats, runs=5):
    """Seconds per call of `work`: the median of `runs`, each of `repeats` consecutive calls."""
    seconds = []
    for _ in range(runs + 1):  # the first run is a warm-up
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


def put(**fields):
    print(json.dumps(fields), flush=True)


def decode(device, shape, batch, depth):
    """Seconds per step."""
    model = Llama(shape, batch, depth + 64, device)
    positions, ids = torch.tensor([depth], device=device), torch.full((batch, 1), 5, device=device)
    step = torch.compile(model, mode="reduce-overhead", fullgraph=True) if device == "cuda" else model
    with torch.inference_mode():
        for _ in range(3):
            step(ids, positions)
        return timed(device, lambda: step(ids, positions), 50 if device == "cuda" else 2)


def prefill(device, shape, tokens):
    """Seconds per prompt."""
    model = Llama(shape, 1, tokens, device)
    ids, positions = torch.full((1, tokens), 5, device=device), torch.arange(tokens, device=device)
    step = torch.compile(model, fullgraph=True) if device == "cuda" else model
    with torch.inference_mode():
        return timed(device, lambda: step(ids, positions), 3)


def weight_bytes(shape):
    hidden, ffn, layers, heads, kv_heads, vocabulary = shape
    head_dim = hidden // heads
    return 2 * (layers * hidden *
                ((heads + 2 * kv_heads) * head_dim + heads * head_dim + 3 * ffn) + hidden * vocabulary)


def numbers(text):
    return [int(number) for number in text.split(",") if number]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shape", action="append", choices=SHAPES)
    parser.add_argument("--batch", type=numbers, default=[1, 64])
    parser.add_argument("--depth", type=int, default=128, help="positions in the KV before")
    parser.add_argument("--prefill", type=numbers, default=[2048])
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    device, failed = options.device, 0
    torch.manual_seed(1)
    put(torch=torch.__version__, device=torch.cuda.get_device_name() if device == "cuda" else device)
    for name in options.shape or ["1b"]:
        shape = SHAPES[name]
        for kind, count in [
                *(("decode", batch) for batch in options.batch), *(("prefill", tokens) for tokens in options.prefill)
        ]:
            begin = time.perf_counter()
            try:
                seconds = decode(device, shape, count, options.depth) if kind == "decode" else prefill(
                    device, shape, count)
            except RuntimeError as error:
                put(model=name, **{kind: count}, error=str(error).splitlines()[0])
                failed = 1
                continue
            figures = {"us": seconds * 1e6, "tokens_per_s": count / seconds}
            if kind == "decode":
                figures["weight_gb_s"] = weight_bytes(shape) / seconds / 1e9
            put(model=name, **{kind: count}, **figures, seconds_in_all=round(time.perf_counter() - begin, 1))
            torch._dynamo.reset()
    return failed


if __name__ == "__main__":
    sys.exit(main())
