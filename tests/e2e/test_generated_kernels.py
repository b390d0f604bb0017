"""Kernels that are generated for a model against the runtime's own, and against numpy in double precision."""

import os
import unittest
import warnings
from math import erf as erf_of_one

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.support import EndToEnd, program, read_outputs

TYPES = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16}
NUMPY = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
#            aligned, ragged, shorter than a vector, one, none
COLUMNS = (64, 256, 37, 129, 5, 1, 0)
ROWS = 3


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, name=outputs[0], **attributes)


def erf(x):
    return np.vectorize(erf_of_one, otypes=[np.float64])(x)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True, initial=-np.inf))
    return e / e.sum(-1, keepdims=True)


def rms(x, scale, epsilon=1e-5):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * scale


def layer_norm(x, scale, bias, epsilon=1e-5):
    centered = x - x.mean(-1, keepdims=True)
    return centered / np.sqrt((centered * centered).mean(-1, keepdims=True) + epsilon) * scale + bias


def prelu(x, slope):
    return np.where(x < 0, slope * x, x)


def softsign(x):
    return x / (1 + np.abs(x))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


# name: nodes over x [r, c], y [r, c], w [c], s [r, 1] that end in "out", and the same in numpy
FAMILIES = {
    "swish_mul": ([node("Sigmoid", ["x"], ["g"]), node("Mul", ["x", "g"], ["a"]), node("Mul", ["a", "y"], ["out"])],
                  lambda x, y, w, s: x * sigmoid(x) * y),
    "bias_gelu": ([node("Add", ["x", "w"], ["a"]), node("Gelu", ["a"], ["out"])],
                  lambda x, y, w, s: 0.5 * (x + w) * (1 + erf((x + w) / np.sqrt(2)))),
    "bias_gelu_tanh": ([node("Add", ["x", "w"], ["a"]), node("Gelu", ["a"], ["out"], approximate="tanh")],
                       lambda x, y, w, s: 0.5 * (x + w) * (1 + np.tanh(np.sqrt(2 / np.pi) * (
                           (x + w) + 0.044715 * (x + w) ** 3)))),
    "residual_rms": ([node("Add", ["x", "y"], ["a"]), node("RMSNormalization", ["a", "w"], ["out"], axis=-1)],
                     lambda x, y, w, s: rms(x + y, w)),
    "residual_layer_norm": ([node("Add", ["x", "y"], ["a"]),
                             node("LayerNormalization", ["a", "w", "w"], ["out"], axis=-1)],
                            lambda x, y, w, s: layer_norm(x + y, w, w)),
    "masked_softmax": ([node("Mul", ["x", "s"], ["a"]), node("Add", ["a", "y"], ["b"]),
                        node("Softmax", ["b"], ["out"], axis=-1)],
                       lambda x, y, w, s: softmax(x * s + y)),
    "where_greater": ([node("Greater", ["x", "y"], ["c"]), node("Where", ["c", "x", "w"], ["a"]),
                       node("Neg", ["a"], ["out"])],
                      lambda x, y, w, s: -np.where(x > y, x, w)),
    "activations": ([node("Relu", ["x"], ["a"]), node("LeakyRelu", ["y"], ["b"], alpha=0.25),
                     node("HardSigmoid", ["x"], ["c"]), node("HardSwish", ["y"], ["d"]), node("Tanh", ["x"], ["e"]),
                     node("Add", ["a", "b"], ["ab"]), node("Add", ["c", "d"], ["cd"]), node("Add", ["ab", "cd"], ["f"]),
                     node("Sub", ["f", "e"], ["out"])],
                    lambda x, y, w, s: np.maximum(x, 0) + np.where(y < 0, 0.25 * y, y) + np.clip(0.2 * x + 0.5, 0, 1)
                    + y * np.clip(y / 6 + 0.5, 0, 1) - np.tanh(x)),
    "choices": ([node("Min", ["x", "y"], ["a"]), node("Max", ["a", "w"], ["b"]), node("Clip", ["b", "low", "high"], ["c"]),
                 node("PRelu", ["c", "w"], ["d"]), node("Softsign", ["d"], ["e"]), node("Floor", ["x"], ["f"]),
                 node("Ceil", ["y"], ["g"]), node("Round", ["x"], ["h"]), node("Add", ["f", "g"], ["fg"]),
                 node("Add", ["fg", "h"], ["fgh"]), node("Add", ["e", "fgh"], ["out"])],
                lambda x, y, w, s: softsign(prelu(np.clip(np.maximum(np.minimum(x, y), w), -1, 1.5), w))
                + np.floor(x) + np.ceil(y) + np.round(x)),
    "normalised_by_hand": ([node("Mul", ["x", "x"], ["q"]), node("ReduceMax", ["q", "last"], ["m"], keepdims=1),
                            node("Add", ["m", "s"], ["ms"]), node("Abs", ["ms"], ["as"]), node("Sqrt", ["as"], ["r"]),
                            node("Reciprocal", ["r"], ["i"]), node("Exp", ["i"], ["e"]), node("Mul", ["x", "e"], ["p"]),
                            node("Div", ["p", "r"], ["out"])],
                           lambda x, y, w, s: x * np.exp(
                               1 / np.sqrt(np.abs((x * x).max(-1, keepdims=True, initial=-np.inf) + s))) / np.sqrt(
                               np.abs((x * x).max(-1, keepdims=True, initial=-np.inf) + s))),
}
TOLERANCE = {"f32": (2e-6, 2e-6), "f16": (2e-3, 2e-3), "bf16": (1.6e-2, 1.6e-2)}


def model_of(nodes, kind):
    element = TYPES[kind]
    value = helper.make_tensor_value_info
    inputs = [value("x", element, ["r", "c"]), value("y", element, ["r", "c"]), value("w", element, ["c"]),
              value("s", element, ["r", 1])]
    last = numpy_helper.from_array(np.array([-1], np.int64), "last")
    bounds = [numpy_helper.from_array(np.array(v, NUMPY[kind]), n) for n, v in (("low", -1), ("high", 1.5))]
    graph = helper.make_graph(nodes, "rows", inputs, [value("out", element, ["r", "c"])], [last, *bounds])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
    onnx.checker.check_model(model)
    return model


def make_inputs(kind, columns, seed):
    random = np.random.default_rng(seed)
    shapes = ((ROWS, columns), (ROWS, columns), (columns,), (ROWS, 1))
    return [(2 * random.standard_normal(shape)).astype(NUMPY[kind]) for shape in shapes]


class GeneratedKernels(EndToEnd):
    def write(self, arrays):
        folder = self.folder / "data"
        folder.mkdir(exist_ok=True)
        for i, array in enumerate(arrays):
            tensor = numpy_helper.from_array(array)
            (folder / f"input_{i}.pb").write_bytes(tensor.SerializeToString())
        return folder

    def outputs(self, artifact, data):
        out = self.folder / "out"
        for old in out.glob("*"):
            old.unlink()
        self.run_ok("shardrun", artifact, "--inputs", data, "--outputs", out)
        return read_outputs(out)[0]

    def test_families_over_shapes_and_types(self):
        for name, (nodes, function) in FAMILIES.items():
            for kind in TYPES:
                file = self.folder / f"{name}-{kind}.onnx"
                onnx.save(model_of(nodes, kind), file)
                fused = self.compile(file, 1, to="fused.shard")
                own = self.compile(file, 1, "--kernels", "reference", to="own.shard")
                self.assertTrue((fused / "kernels/x86-64-v4.so").exists())
                self.assertFalse((own / "kernels").exists())
                for columns in COLUMNS:
                    with self.subTest(name=name, kind=kind, columns=columns):
                        self.check(function, kind, columns, fused, own)

    def check(self, function, kind, columns, fused, own):
        arrays = make_inputs(kind, columns, seed=columns)
        data = self.write(arrays)
        found, reference = self.outputs(fused, data), self.outputs(own, data)
        self.assertEqual((found.shape, found.dtype), (reference.shape, reference.dtype))
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):  # of means of nothing
            exact = function(*(a.astype(np.float64) for a in arrays))
        relative, absolute = TOLERANCE[kind]
        np.testing.assert_allclose(found.astype(np.float64), exact, relative, absolute)
        np.testing.assert_allclose(found.astype(np.float64), reference.astype(np.float64), 3 * relative, 3 * absolute)

    def test_means_of_known_size(self):
        """Rounded once, after the division: subnormal halves and what cancels show it."""
        nodes = [node("ReduceMean", ["x", "last"], ["m"]), node("Sub", ["x", "m"], ["d"]), node("Mul", ["d", "d"], ["q"]),
                 node("ReduceMean", ["q", "last"], ["v"]), node("Add", ["v", "y"], ["e"]), node("Sqrt", ["e"], ["r"]),
                 node("Div", ["d", "r"], ["out"])]
        for kind in TYPES:
            for columns in (7, 8, 64):
                with self.subTest(kind=kind, columns=columns):
                    model = model_of(nodes, kind)
                    for given in (*model.graph.input, *model.graph.output):
                        for dim in given.type.tensor_type.shape.dim:
                            if dim.dim_param == "c":
                                dim.dim_value = columns
                    model.graph.output.append(helper.make_tensor_value_info("m", TYPES[kind], [None, 1]))
                    onnx.save(model, self.folder / "mean.onnx")
                    arrays = make_inputs(kind, columns, seed=columns)
                    arrays[1] = abs(arrays[1]) + NUMPY[kind](0.5)
                    found = self.outputs(self.compile(self.folder / "mean.onnx", 1), self.write(arrays))
                    x, y = (a.astype(np.float64) for a in arrays[:2])
                    d = x - x.mean(-1, keepdims=True)
                    exact = d / np.sqrt((d * d).mean(-1, keepdims=True) + y)
                    np.testing.assert_allclose(found.astype(np.float64), exact, *(2 * t for t in TOLERANCE[kind]))

    def test_rows_of_nothing(self):
        for op, nothing in (("ReduceSum", 0), ("ReduceMax", -np.inf)):
            for dims in ((2, 0), (0,), (0, 3)):
                with self.subTest(op, dims=dims):
                    value = helper.make_tensor_value_info
                    last = numpy_helper.from_array(np.array([-1], np.int64), "last")
                    nodes = [node("Abs", ["x"], ["a"]), node(op, ["a", "last"], ["out"], keepdims=0)]
                    graph = helper.make_graph(nodes, "rows", [value("x", TensorProto.FLOAT, dims)],
                                              [value("out", TensorProto.FLOAT, dims[:-1])], [last])
                    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10),
                              self.folder / "nothing.onnx")
                    found = self.outputs(self.compile(self.folder / "nothing.onnx", 1),
                                         self.write([np.zeros(dims, np.float32)]))
                    np.testing.assert_array_equal(found, np.full(dims[:-1], nothing, np.float32))

    def test_special_values(self):
        """Infinities, NaN and subnormal numbers as numpy has them."""
        special = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-40, -1e-40, 88.7, 89.5, -87.5, -103.5, -120, 5, -5, 0.6, 20]
        x = np.array([special + special[::-1] + special[:7]] * ROWS, np.float32)
        columns = x.shape[1]
        arrays = [x, np.ones_like(x), np.zeros(columns, np.float32), np.ones((ROWS, 1), np.float32)]
        functions = {"Exp": np.exp, "Tanh": np.tanh, "Erf": erf, "Sigmoid": sigmoid, "Relu": lambda x: np.where(
            x < 0, 0, x), "Softmax": softmax, "Reciprocal": lambda x: 1 / x}
        for op, function in functions.items():
            with self.subTest(op=op):
                file = self.folder / "special.onnx"
                onnx.save(model_of([node(op, ["x"], ["a"]), node("Mul", ["a", "y"], ["out"])], "f32"), file)
                found = self.outputs(self.compile(file, 1), self.write(arrays))
                with np.errstate(all="ignore"):
                    np.testing.assert_allclose(found, function(x.astype(np.float64)).astype(np.float32), 1e-6, 1e-45)

    def test_functions_are_exact_to_some_ulp(self):
        x = np.concatenate([np.linspace(-104, 89, 100_000), np.linspace(-6, 6, 100_000),
                            np.geomspace(1e-30, 4, 1000)]).astype(np.float32)
        x = np.stack([x, -x, np.flip(x)])
        arrays = [x, np.ones_like(x), np.zeros(x.shape[1], np.float32), np.ones((ROWS, 1), np.float32)]
        for op, function in {"Exp": np.exp, "Tanh": np.tanh, "Erf": erf}.items():
            with self.subTest(op=op), np.errstate(all="ignore"):
                file = self.folder / "function.onnx"
                onnx.save(model_of([node(op, ["x"], ["a"]), node("Mul", ["a", "y"], ["out"])], "f32"), file)
                found = self.outputs(self.compile(file, 1), self.write(arrays))
                exact = function(x.astype(np.float64))
                finite = np.abs(exact) < np.finfo(np.float32).max
                ulp = np.spacing(np.abs(exact[finite]).astype(np.float32)).astype(np.float64)
                self.assertLess((np.abs(found[finite] - exact[finite]) / ulp).max(), 3)
                self.assertTrue(np.all(found[~finite] == np.inf))

    def test_what_jumps_sees_rounded_numbers(self):
        """A comparison and a floor of halves, in the kernel that computes them or in the next, are of the same bits."""
        nodes = [node("Add", ["x", "y"], ["a"]), node("Mul", ["a", "x"], ["p"]), node("Less", ["p", "w"], ["l"]),
                 node("Floor", ["a"], ["f"]), node("Where", ["l", "f", "y"], ["out"])]
        for kind in ("f16", "bf16"):
            with self.subTest(kind=kind):
                to = NUMPY[kind]
                steps = np.arange(-120, 121).astype(to)
                x, y = (np.ascontiguousarray(part) for part in np.broadcast_arrays(steps, (steps / to(512))[:, None]))
                # On the edge: equal to the rounded product in most places, below the exact one in many.
                w = ((x + y) * x)[7]
                arrays = [x, y, w, np.ones((len(x), 1), to)]
                with np.errstate(over="ignore"):
                    expected = np.where((x + y) * x < w, np.floor(x + y), y)
                file = self.folder / f"jumps-{kind}.onnx"
                onnx.save(model_of(nodes, kind), file)
                for flags in ([], ["--kernels", "reference"]):
                    found = self.outputs(self.compile(file, 1, *flags), self.write(arrays))
                    np.testing.assert_array_equal(found.astype(np.float32), expected.astype(np.float32))

    def test_each_result_is_rounded(self):
        """A chain of halves has the bits that its ops would store one by one, so that a later comparison gives the same."""
        nodes = [node("Add", ["x", "y"], ["a"]), node("Add", ["a", "w"], ["b"]), node("Mul", ["b", "x"], ["c"]),
                 node("Sub", ["c", "y"], ["d"]), node("Neg", ["d"], ["out"])]
        for kind in ("f16", "bf16"):
            with self.subTest(kind=kind):
                arrays = make_inputs(kind, 1000, seed=5)
                x, y, w, _ = arrays
                file = self.folder / f"chain-{kind}.onnx"
                onnx.save(model_of(nodes, kind), file)
                found = self.outputs(self.compile(file, 1), self.write(arrays))
                np.testing.assert_array_equal(found.view(np.uint16), (-((x + y + w) * x - y)).view(np.uint16))

    def test_threads_do_not_change_a_bit(self):
        nodes, _ = FAMILIES["swish_mul"]
        file = self.folder / "model.onnx"
        onnx.save(model_of(nodes, "f32"), file)
        artifact = self.compile(file, 1)
        data = self.write(make_inputs("f32", 100_003, 1))
        whole = self.outputs(artifact, data)
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, {min(before)})  # what it starts has one core, and so one thread
        try:
            single = self.outputs(artifact, data)
        finally:
            os.sched_setaffinity(0, before)
        np.testing.assert_array_equal(whole.view(np.uint32), single.view(np.uint32))

    def test_the_same_model_gives_the_same_bytes(self):
        nodes, _ = FAMILIES["residual_rms"]
        file = self.folder / "model.onnx"
        onnx.save(model_of(nodes, "f32"), file)
        first, second = self.compile(file, 1, to="a.shard"), self.compile(file, 1, to="b.shard")
        for target in ("x86-64-v3", "x86-64-v4"):
            name = f"kernels/{target}.so"
            self.assertEqual((first / name).read_bytes(), (second / name).read_bytes())


class DamagedKernels(EndToEnd):
    def setUp(self):
        super().setUp()
        file = self.folder / "model.onnx"
        onnx.save(model_of(FAMILIES["swish_mul"][0], "f32"), file)
        self.artifact = self.compile(file, 1)

    def fails(self, pattern):
        done = program("shardrun", self.artifact, "--inputs", self.folder)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertRegex(done.stderr, pattern)

    def test_another_byte(self):
        file = self.artifact / "kernels/x86-64-v3.so"
        content = bytearray(file.read_bytes())
        content[len(content) // 2] ^= 1
        file.write_bytes(content)
        self.fails(r"x86-64-v3\.so is damaged: its hash does not match; copy the artifact again")

    def test_no_file(self):
        (self.artifact / "kernels/x86-64-v4.so").unlink()
        self.fails(r"kernels/x86-64-v4\.so.*copy the artifact again")


class UntrustedKernels(EndToEnd):
    def setUp(self):
        super().setUp()
        self.file = self.folder / "model.onnx"
        nodes, function = FAMILIES["swish_mul"]
        onnx.save(model_of(nodes, "f32"), self.file)
        arrays = make_inputs("f32", 37, 3)
        for i, array in enumerate(arrays):
            (self.folder / f"input_{i}.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())
        self.exact = function(*(array.astype(np.float64) for array in arrays))

    def test_what_needs_them_is_refused(self):
        artifact = self.compile(self.file, 1)
        done = program("shardrun", artifact, "--inputs", self.folder, "--no-kernels")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertRegex(done.stderr, "needs its own native code.*rows_.*compile the model with --kernels reference")

    def test_the_runtimes_own_kernels_do_the_same(self):
        artifact = self.compile(self.file, 1, "--kernels", "reference")
        self.assertFalse(list(artifact.glob("kernels/*")))
        self.run_ok("shardrun", artifact, "--inputs", self.folder, "--no-kernels", "--outputs", self.folder / "out")
        (found,) = read_outputs(self.folder / "out")
        np.testing.assert_allclose(found, self.exact, rtol=1e-5, atol=1e-6)


if __name__ == "__main__":
    unittest.main()
