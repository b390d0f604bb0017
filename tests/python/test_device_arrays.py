"""Arrays on GPUs as inputs and outputs of sessions, by DLPack, on GPUs that are simulated (tests/conformance/cuda)."""

import asyncio
import ctypes
import os
import unittest

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from tests.e2e.test_cuda_plugin import PLUGIN, ROWS, products
from tests.python import support  # noqa: F401  (makes the package importable)
from tests.support import EndToEnd

import shardrt  # isort: skip

CODES = {"i": 0, "f": 2}
MOST_FAULTS = 64  # bytes in which kernels say that their data are wrong


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]  # fmt: skip


class Copies(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ("to_device", "to_host", "across")]


class Gpus:
    """What a framework has of the GPUs that the plugin simulates."""

    def __init__(self):
        self.library = ctypes.CDLL(str(PLUGIN))
        self.library.simulatedCallerAllocate.restype = ctypes.c_void_p
        self.library.simulatedCallerAllocate.argtypes = [ctypes.c_int, ctypes.c_size_t]
        self.library.simulatedCallerFree.argtypes = [ctypes.c_int, ctypes.c_void_p]
        self.library.simulatedCallerRead.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
        self.library.simulatedCallerWrite.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
        self.library.simulatedCallerSetLater.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]

    def copies(self):
        copies = Copies()
        self.library.simulatedCallerCopies(ctypes.byref(copies))
        return np.array([copies.to_device, copies.to_host, copies.across])


class GpuArray:
    """A tensor of another framework in memory of a GPU. What fills it runs in a stream of its own, which the stream that
    __dlpack__ names is made to wait for."""

    def __init__(self, gpus, values, device=0, strides=None, kind=2):
        self.gpus, self.device, self.kind, self.streams = gpus, device, kind, []
        self.dtype, self.shape, self.strides = values.dtype, values.shape, strides
        count = 1 + sum((n - 1) * s for n, s in zip(values.shape, strides)) if strides else values.size
        self.memory = np.full(count, 77, values.dtype)
        self.address = gpus.library.simulatedCallerAllocate(device, self.memory.nbytes)
        self.late = None
        self.set(values)

    def __del__(self):
        self.gpus.library.simulatedCallerFree(self.device, self.address)

    def _view(self):
        steps = [s * self.dtype.itemsize for s in self.strides] if self.strides else None
        return np.ndarray(self.shape, self.dtype, self.memory, strides=steps)

    def set(self, values):
        self._view()[...] = values
        self.gpus.library.simulatedCallerWrite(self.address, self.memory.ctypes.data, self.memory.nbytes)

    def set_later(self, values):
        """In its stream."""
        self.set(np.full_like(values, 0))
        self._view()[...] = values
        self.late = self.memory.copy()

    def numpy(self):
        self.gpus.library.simulatedCallerRead(self.address, self.memory.ctypes.data, self.memory.nbytes)
        return self._view().copy()

    def __dlpack_device__(self):
        return self.kind, self.device

    def __dlpack__(self, *, stream=None):
        self.streams.append(stream)
        if self.late is not None and stream == 1:
            self.gpus.library.simulatedCallerSetLater(self.device, self.address, self.late.ctypes.data, self.late.nbytes)
        rank = len(self.shape)
        strides = (ctypes.c_int64 * rank)(*self.strides) if self.strides else None
        self.tensor = DLTensor(self.address, self.kind, self.device, rank, CODES[self.dtype.kind], self.dtype.itemsize * 8, 1,
                               (ctypes.c_int64 * rank)(*self.shape), strides)  # fmt: skip
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.tensor), b"dltensor", None)


@unittest.skipUnless(PLUGIN.exists(), "the CUDA plugin was not built")
class DeviceArrays(EndToEnd):
    def setUp(self):
        super().setUp()
        before = os.environ.get("SHARDC_BACKENDS")
        os.environ["SHARDC_BACKENDS"] = str(PLUGIN.parent)
        self.addCleanup(os.environ.pop if before is None else os.environ.__setitem__, "SHARDC_BACKENDS", *[before] * (before is not None))
        self.gpus, self.random, self.model = Gpus(), np.random.default_rng(3), products()
        onnx.save(self.model, self.folder / "model.onnx")
        self.reference = ReferenceEvaluator(self.model)

    def open(self, tp, device="cuda", flags=()):
        artifact = self.compile(self.folder / "model.onnx", tp, "--kernels", "reference", *flags, to="-".join(map(str, (tp, *flags))))
        session = shardrt.Session(artifact, device=device)
        self.addCleanup(session.close)
        return session

    def ids(self):
        return self.random.integers(-ROWS, ROWS, (3, 5))

    def assert_expected(self, ids, wide, y):
        for got, expected in zip((wide, y), self.reference.run(None, {"ids": ids}), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)

    def outputs(self, ids, device=0, strides=None):
        wide, y = (np.zeros_like(value) for value in self.reference.run(None, {"ids": ids}))
        return {"wide": GpuArray(self.gpus, wide, device, strides), "y": GpuArray(self.gpus, y, device)}

    def test_nothing_goes_through_the_host(self):
        for tp, *flags in ((1,), (2,), (1, "--pp", 2), (1, "--dp", 2)):
            session = self.open(tp, flags=flags)
            ids = GpuArray(self.gpus, self.ids())
            for strides in (None, (200, 40, 2), (1, 3, 15)):
                out = self.outputs(ids.numpy(), strides=strides)
                for turn in range(4):
                    with self.subTest(tp=tp, flags=flags, strides=strides, turn=turn):
                        values = self.ids()
                        ids.set_later(values)
                        before = self.gpus.copies()
                        returned = session.run({"ids": ids}, out=out)
                        to_device, to_host, across = self.gpus.copies() - before
                        self.assertIs(returned["y"], out["y"])
                        self.assert_expected(values, out["wide"].numpy(), out["y"].numpy())
                        self.assertEqual(to_device, 0)
                        self.assertLessEqual(to_host, MOST_FAULTS)
                        self.assertGreater(across, 0)
            self.assertEqual(set(ids.streams), {1}, "the legacy default stream of CUDA")

    def test_arrays_on_the_host_beside_them(self):
        session, values = self.open(2), self.ids()
        out = self.outputs(values, device=1)
        session.run({"ids": values}, out=out)
        self.assert_expected(values, out["wide"].numpy(), out["y"].numpy())
        ids = GpuArray(self.gpus, values, device=1, kind=13)
        got = session.run({"ids": ids})
        self.assert_expected(values, got["wide"], got["y"])
        y = np.zeros_like(got["y"])
        got = asyncio.run(session.run_async({"ids": ids}, out={"y": y, "wide": out["wide"]}))
        self.assertIs(got["y"], y)
        self.assert_expected(values, out["wide"].numpy(), y)

    def test_what_is_bound_once(self):
        session, ids = self.open(2), GpuArray(self.gpus, self.ids(), strides=(1, 3))
        out = self.outputs(ids.numpy())
        binding = session.bind({"ids": ids}, out)
        for _ in range(4):
            ids.set(values := self.ids())
            binding.run()
            self.assert_expected(values, out["wide"].numpy(), out["y"].numpy())
        with self.assertRaisesRegex(shardrt.InvalidArgument, "input 'ids' is given twice"):
            binding.run({"ids": ids})

    def test_mistakes(self):
        values = self.ids()
        with self.assertRaisesRegex(shardrt.InvalidArgument, r"input 'ids' is on device \(2, 0\), expected memory of the host, where"):
            self.open(1, "host").run({"ids": GpuArray(self.gpus, values)})
        session, out = self.open(1), self.outputs(values)
        with self.assertRaisesRegex(shardrt.InvalidArgument, "is int32, expected int64"):
            session.run({"ids": GpuArray(self.gpus, values.astype(np.int32))})
        with self.assertRaisesRegex(shardrt.InvalidArgument, "output 'y' is float64, expected float32"):
            session.run({"ids": values}, out={"y": GpuArray(self.gpus, np.zeros((15, 8)))})
        with self.assertRaisesRegex(shardrt.InvalidArgument, "bound to memory for float32"):
            session.run({"ids": values}, out={"y": GpuArray(self.gpus, np.zeros((15, 9), np.float32))})
        with self.assertRaisesRegex(TypeError, r"input 'ids' is on device \(10, 0\), expected memory of the host"):
            session.run({"ids": GpuArray(self.gpus, values, kind=10)})
        # An error of a kernel, which has read it where it is.
        with self.assertRaisesRegex(shardrt.InvalidArgument, "Gather.*an index is outside of its dim"):
            session.run({"ids": GpuArray(self.gpus, values + 1000)}, out=out)
        session.run({"ids": GpuArray(self.gpus, values)}, out=out)
        self.assert_expected(values, out["wide"].numpy(), out["y"].numpy())


if __name__ == "__main__":
    unittest.main()
