"""The subset of torch that peers.py calls: shapes are checked, nothing is computed."""
import contextlib
import time

__version__ = "stub"
float32, bfloat16, float8_e4m3fn = 4, 2, 1


class Tensor:
    def __init__(self, shape, dtype, norm=1.0):
        self.shape, self.dtype, self.device, self._norm = tuple(shape), dtype, "cuda", norm

    def numel(self):
        count = 1
        for size in self.shape:
            count *= size
        return count

    def element_size(self):
        return self.dtype

    def to(self, dtype):
        return Tensor(self.shape, dtype)

    def float(self):
        return self.to(float32)

    def t(self):
        return Tensor(self.shape[::-1], self.dtype)

    def norm(self):
        return self._norm

    def __getitem__(self, index):
        return Tensor(self.shape[1:], self.dtype)

    def __matmul__(self, other):
        assert self.shape[-1] == other.shape[0] and self.dtype == other.dtype, (self.shape, other.shape)
        return Tensor(self.shape[:-1] + other.shape[1:], self.dtype)

    def __sub__(self, other):
        assert self.shape == other.shape
        return Tensor(self.shape, self.dtype, 0.0)


def randn(*sizes, device, dtype):
    return Tensor(sizes, dtype)


def ones(sizes, device):
    return Tensor(sizes, float32)


def empty(*sizes, device, dtype):
    return Tensor(sizes, dtype)


def mm(a, b):
    return a @ b


def _scaled_mm(a, b, scale_a, scale_b, out_dtype):
    assert a.dtype == b.dtype == float8_e4m3fn and scale_a.shape == scale_b.shape == ()
    return (a @ b).to(out_dtype)


def manual_seed(seed):
    pass


inference_mode = contextlib.nullcontext


class cuda:
    capturing = False

    class CUDAGraph:
        def replay(self):
            pass

    @staticmethod
    @contextlib.contextmanager
    def graph(graph):
        cuda.capturing = True
        yield
        cuda.capturing = False

    class Event:
        def __init__(self, enable_timing):
            assert enable_timing

        def record(self):
            assert not cuda.capturing
            self.at = time.perf_counter()

        def elapsed_time(self, end):
            return max(1e-3, 1e3 * (end.at - self.at))

    @staticmethod
    def synchronize():
        assert not cuda.capturing

    @staticmethod
    def empty_cache():
        pass

    @staticmethod
    def get_device_name():
        return "a stub"
