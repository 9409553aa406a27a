"""A matrix times a vector as a short triton kernel: what little effort achieves on this GPU."""
import torch
import triton
import triton.language as tl

CHOICES = ((4, 1024, 4), (8, 512, 4), (16, 512, 8), (2, 2048, 4))  # rows per program, columns per iteration, warps


@triton.jit
def gemv_kernel(w, x, y, rows, k, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    sums = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for begin in range(0, k, COLUMNS):
        column = begin + tl.arange(0, COLUMNS)
        inside = (row[:, None] < rows) & (column[None, :] < k)
        weights = tl.load(w + row[:, None].to(tl.int64) * k + column[None, :], mask=inside, other=0.0).to(tl.float32)
        values = tl.load(x + column, mask=column < k, other=0.0).to(tl.float32)
        sums += weights * values[None, :]
    tl.store(y + row, tl.sum(sums, axis=1), mask=row < rows)


def multiply(w, x, choice):
    """Multiplies bf16 w [rows, K] by x [K]; the result is f32 [rows]."""
    rows, k = w.shape
    per_program, columns, warps = choice
    y = torch.empty(rows, device=w.device, dtype=torch.float32)
    gemv_kernel[(triton.cdiv(rows, per_program), )](w,
                                                    x,
                                                    y,
                                                    rows,
                                                    k,
                                                    ROWS=per_program,
                                                    COLUMNS=columns,
                                                    num_warps=warps)
    return y
