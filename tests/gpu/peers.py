#!/usr/bin/env python3
"""Measures torch and triton on this GPU without compiling a model, kernel by kernel: one JSON object per line.

The shapes are those of our engines' kernels, and weights are random bf16. Every time is
that of a CUDA graph that cycles through enough copies of its weights that none stay in the
L2 cache, as with the layers of a model and in `ingot bench-kernels`.

    peers.py [--only limits|products|fp8|attention|gemv] [--shape 8b] [--device cuda]
"""
import argparse
import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F

# hidden, ffn, heads, KV heads, vocabulary
SHAPES = {"8b": (4096, 14336, 32, 8, 128256), "1b": (2048, 8192, 32, 8, 128256), "tiny": (256, 768, 4, 2, 1024)}
TOKENS = (1, 8, 32, 64, 128, 256, 512, 2048)
COLD = 256 << 20  # minimum bytes of weights per graph; the largest L2 has 60 MB
REPEATS = 7


def put(**fields):
    print(json.dumps(fields), flush=True)


def products(shape):
    """{kernel: (rows, K)}, with projections joined as in the engine's kernels."""
    hidden, ffn, heads, kv_heads, vocabulary = SHAPES[shape]
    head = hidden // heads
    return {
        "qkv": ((heads + 2 * kv_heads) * head, hidden), "o": (hidden, heads * head), "gate_up": (2 * ffn, hidden),
        "down": (hidden, ffn), "head": (vocabulary, hidden)
    }


class Device:
    def __init__(self, name):
        self.name, self.cuda = name, name == "cuda"
        self.cold = COLD if self.cuda else 1

    def random(self, *sizes):
        return torch.randn(*sizes, device=self.name, dtype=torch.float32 if len(sizes) == 1 else torch.bfloat16)

    def copies(self, make):
        """As many copies as make up `cold` bytes, at most 64."""
        first = make()
        size = max(1, first.numel() * first.element_size())
        return [first, *(make() for _ in range(min(64, -(-self.cold // size)) - 1))]

    def seconds(self, calls):
        """The time per call: the median of replays of a graph of all `calls`."""
        for call in calls:
            call()  # warm-up, outside the graph
        replay = lambda: [call() for call in calls]
        if self.cuda:
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                kept = [call() for call in calls]  # noqa: F841: keeps the graph's memory alive
            replay = graph.replay
        found = []
        for _ in range(REPEATS + 1):
            found.append(self.once(replay))
        return statistics.median(found[1:]) / len(calls)

    def once(self, work):
        if not self.cuda:
            start = time.perf_counter()
            work()
            return time.perf_counter() - start
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        work()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) / 1e3


def figures(seconds, size, operations):
    return {"us": seconds * 1e6, "gb_s": size / seconds / 1e9, "tflops": operations / seconds / 1e12}


# -------------------------------------------------------------------- measurements


def limits(device, _):
    """Dense products of GPU-friendly sizes, with random numbers, because zeros are faster."""
    n = 8192 if device.cuda else 256
    a, b = device.random(n, n), device.random(n, n)
    seconds = device.seconds([lambda: a @ b] * 5)
    put(limit="bf16", n=n, tflops=2 * n**3 / seconds / 1e12)
    one = torch.ones((), device=device.name)
    a8, b8 = a.to(torch.float8_e4m3fn), b.to(torch.float8_e4m3fn).t()
    seconds = device.seconds(
        [lambda: torch._scaled_mm(a8, b8, scale_a=one, scale_b=one, out_dtype=torch.bfloat16)] * 5)
    put(limit="fp8", n=n, tflops=2 * n**3 / seconds / 1e12)


def bf16_products(device, shape):
    for kernel, (rows, k) in products(shape).items():
        weights = device.copies(lambda: device.random(rows, k))
        for tokens in TOKENS if kernel != "head" else TOKENS[:6]:
            x = device.random(tokens, k)
            seconds = device.seconds([lambda w=w: torch.mm(x, w.t()) for w in weights])
            put(peer="torch.mm",
                shape=shape,
                kernel=kernel,
                tokens=tokens,
                **figures(seconds, 2 * rows * k, 2 * rows * k * tokens))


def fp8_products(device, shape):
    one = torch.ones((), device=device.name)
    for kernel, (rows, k) in products(shape).items():
        if kernel == "head":
            continue
        weights = device.copies(lambda: device.random(rows, k).to(torch.float8_e4m3fn))
        for tokens in (tokens for tokens in TOKENS if tokens >= 32):
            x = device.random(tokens, k).to(torch.float8_e4m3fn)
            calls = [
                lambda w=w: torch._scaled_mm(x, w.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
                for w in weights
            ]
            put(peer="torch._scaled_mm",
                shape=shape,
                kernel=kernel,
                tokens=tokens,
                **figures(device.seconds(calls), rows * k, 2 * rows * k * tokens))


def attention(device, shape):
    """SDPA with torch's own choice of kernel: prompts (causal), and one query per sequence over a context."""
    hidden, _, heads, kv_heads, _ = SHAPES[shape]
    head = hidden // heads
    for tokens in (2048, 8192) if device.cuda else (16, ):
        q, k, v = (device.random(1, count, tokens, head) for count in (heads, kv_heads, kv_heads))
        seconds = device.seconds(
            [lambda: F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)] * 3)
        put(peer="torch sdpa",
            shape=shape,
            kernel="attention",
            tokens=tokens,
            context=tokens,
            **figures(seconds, 4 * kv_heads * head * tokens, 2 * heads * head * tokens * tokens))
    for batch, context in ((1, 1024), (1, 8192), (32, 1024), (8, 8192)) if device.cuda else ((2, 16), ):
        q = device.random(batch, heads, 1, head)
        pairs = device.copies(lambda: device.random(2, batch, kv_heads, context, head))
        calls = [
            lambda pair=pair: F.scaled_dot_product_attention(q, pair[0], pair[1], enable_gqa=True) for pair in pairs
        ]
        size, operations = 4 * batch * kv_heads * head * context, 4 * batch * heads * head * context
        put(peer="torch sdpa",
            shape=shape,
            kernel="attention",
            tokens=batch,
            context=context,
            **figures(device.seconds(calls), size, operations))


def gemv(device, shape):
    """One token: a short triton kernel compared with a library."""
    from triton_gemv import CHOICES, multiply
    for kernel, (rows, k) in products(shape).items():
        weights = device.copies(lambda: device.random(rows, k))
        x, best = device.random(k).to(torch.bfloat16), None
        wanted = (weights[0].float() @ x.float())
        for choice in CHOICES:
            found = multiply(weights[0], x, choice).float()
            error = float((found - wanted).norm() / wanted.norm())
            if not error < 1e-2:
                put(peer="triton gemv", shape=shape, kernel=kernel, choice=choice, error=f"off by {error:.3g}")
                continue
            seconds = device.seconds([lambda w=w: multiply(w, x, choice) for w in weights])
            if best is None or seconds < best[0]:
                best = seconds, choice
        if best:
            put(peer="triton gemv",
                shape=shape,
                kernel=kernel,
                tokens=1,
                choice=best[1],
                **figures(best[0], 2 * rows * k, 2 * rows * k))


WORK = {"limits": limits, "products": bf16_products, "gemv": gemv, "fp8": fp8_products, "attention": attention}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=WORK)
    parser.add_argument("--shape", action="append", choices=SHAPES)
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    device, failed = Device(options.device), 0
    torch.manual_seed(1)
    put(torch=torch.__version__, device=torch.cuda.get_device_name() if device.cuda else device.name)
    for shape in options.shape or ["8b", "1b"]:
        for name in options.only or list(WORK)[1:]:  # limits only if requested by name
            if name == "limits" and shape != (options.shape or ["8b"])[0]:
                continue  # they have no shape, so once is enough
            try:
                with torch.inference_mode():
                    WORK[name](device, shape)
            except (RuntimeError, TypeError, AttributeError, ImportError, NotImplementedError,
                    ValueError) as error:  # the operation does not exist
                put(peer=name, shape=shape, error=(str(error).strip() or type(error).__name__).splitlines()[0])
                failed = 1
            if device.cuda:
                torch.cuda.empty_cache()
    return failed


if __name__ == "__main__":
    sys.exit(main())
