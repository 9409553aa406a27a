"""The subset of triton that triton_gemv.py calls: a kernel accepts its arguments and does nothing."""
import inspect


class jit:
    def __init__(self, function):
        self.names = list(inspect.signature(function).parameters)

    def __getitem__(self, grid):
        def call(*values, num_warps, **constants):
            assert [*self.names[:len(values)], *constants] == self.names and all(size > 0 for size in grid)

        return call


def cdiv(a, b):
    return -(-a // b)
