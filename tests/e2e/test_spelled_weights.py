"""Quantised weights that a model spells out (Cast, Sub, Mul, layouts): read as they are stored, against NumPy."""

import itertools
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.support import EndToEnd, read_outputs

N, GROUPS, BLOCK = 96, 6, 32
K = GROUPS * BLOCK
FLOATS = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16}


class Spelled:
    """A weight [k, n] as ops make it: nodes, tensors and what it is."""

    def __init__(self, name, layout, zero, scale, element, floats, rng):
        self.name, self.nodes, self.tensors, self.floats = name, [], [], floats
        shape = {"rows": [N, K], "columns": [K, N], "groups": [N, GROUPS, BLOCK], "tall": [GROUPS, BLOCK, N], "nibbles": [N, K]}[layout]
        along = {"one": [1] * len(shape), "each": {"columns": [1, N], "tall": [1, 1, N]}.get(layout, [N] + [1] * (len(shape) - 1))}
        along["blocks"] = {"groups": [N, GROUPS, 1], "tall": [GROUPS, 1, N]}.get(layout)
        along["same blocks"] = {"groups": [1, GROUPS, 1], "tall": [GROUPS, 1, 1]}.get(layout)
        kind = np.uint8 if layout == "nibbles" else np.dtype(element)
        low, high = (0, 16) if layout == "nibbles" else (np.iinfo(kind).min, np.iinfo(kind).max + 1)
        q = rng.integers(low, high, shape).astype(kind)
        numbers = q.astype(np.float64)
        at = self.packed(q) if layout == "nibbles" else self.tensor("q", q)
        at = self.node("Cast", [at], to=FLOATS[floats])
        if zero == "number":
            middle = (low + high) // 2
            at = self.node("Sub", [at, self.tensor("z", np.array(middle, floats))])
            numbers -= middle
        elif zero:
            z = rng.integers(low, high, along[zero]).astype(kind)
            at = self.node("Sub", [at, self.node("Cast", [self.tensor("z", z)], to=FLOATS[floats])])
            numbers -= z
        if scale:
            s = (rng.uniform(0.5, 1.5, along[scale]) / 2000).astype(floats)
            at = self.node("Mul", [at, self.tensor("s", s)] if rng.integers(2) else [self.tensor("s", s), at])
            numbers = (numbers * s).astype(floats).astype(np.float64)
        if len(shape) == 3:
            flat = [K, N] if layout == "tall" else [N, K]
            at = self.node("Reshape", [at, self.tensor("flat", np.array(flat))])
            numbers = numbers.reshape(flat)
        if layout not in ("columns", "tall"):
            at = self.node("Transpose", [at], perm=[1, 0])
            numbers = numbers.T
        self.value, self.numbers = at, numbers

    def tensor(self, name, value):
        self.tensors.append(numpy_helper.from_array(value, f"{self.name}_{name}"))
        return self.tensors[-1].name

    def node(self, kind, inputs, **attributes):
        result = f"{self.name}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [result], name=result, **attributes))
        return result

    def packed(self, q):
        """Two of four bits in a byte, taken apart by the model."""
        both = self.tensor("q", (q[:, 0::2] | q[:, 1::2] << 4).astype(np.uint8))
        low = self.node("BitwiseAnd", [both, self.tensor("low", np.array(15, np.uint8))])
        high = self.node("BitShift", [both, self.tensor("four", np.array([4], np.uint8))], direction="RIGHT")
        last = self.tensor("last", np.array([-1]))
        halves = [self.node("Unsqueeze", [half, last]) for half in (low, high)]
        pairs = self.node("Concat", halves, axis=2)
        return self.node("Reshape", [pairs, self.tensor("whole", np.array([N, K]))])


class SpelledWeights(EndToEnd):
    def model(self, weight, gemm=None):
        """By a MatMul, or a Gemm with these attributes and a bias of as many threes as there are columns."""
        dims = [("x", [K, "rows"] if gemm and gemm.get("transA") else ["rows", K]), ("y", ["rows", N])]
        x, y = (helper.make_tensor_value_info(name, FLOATS[weight.floats], sizes) for name, sizes in dims)
        product = helper.make_node("MatMul", ["x", weight.value], ["y"], name="y")
        tensors = [*weight.tensors]
        if gemm is not None:
            value = weight.node("Transpose", [weight.value], perm=[1, 0]) if gemm.get("transB") else weight.value
            product = helper.make_node("Gemm", ["x", value, "bias"], ["y"], name="y", **gemm)
            tensors.append(numpy_helper.from_array(np.full(N, 3, weight.floats), "bias"))
        graph = helper.make_graph([*weight.nodes, product], "spelled", [x], [y], tensors)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), self.folder / "model.onnx")
        return self.folder / "model.onnx"

    def assert_product(self, weight, *flags, gemm=None):
        file, artifact, out = self.model(weight, gemm), self.folder / "model.shard", self.folder / "out"
        text = self.run_ok("shardc", file, "--to", "lowered", *flags)
        self.assertTrue("MatMulDequantized" in text and 'rt.call "MatMul"' not in text and 'rt.call "Gemm"' not in text)
        self.run_ok("shardc", file, "-o", artifact, *flags)
        x = np.random.default_rng(3).standard_normal((5, K)).astype(weight.floats)
        np.savez(self.folder / "in.npz", x=np.ascontiguousarray(x.T) if gemm and gemm.get("transA") else x)
        self.run_ok("shardrun", artifact, "--inputs", self.folder / "in.npz", "--outputs", out)
        (found,) = read_outputs(out)
        expected = x.astype(np.float64) @ weight.numbers
        if gemm is not None:
            expected = gemm.get("alpha", 1) * expected + 3 * gemm.get("beta", 1)
        error = 2e-6 if weight.floats == "float32" else 2e-3
        self.assertLessEqual(np.abs(found - expected).max(), error * np.abs(expected).max())

    def test_forms(self):
        rng = np.random.default_rng(1)
        zeros, scales = (None, "number", "each", "blocks"), (None, "one", "each", "blocks", "same blocks")
        for layout, zero, scale in itertools.product(("rows", "columns", "groups", "tall", "nibbles"), zeros, scales):
            has_groups = layout in ("groups", "tall")
            if not has_groups and (zero == "blocks" or "blocks" in (scale or "")):
                continue
            # Zero points of blocks have scales of theirs.
            if zero == "blocks" and scale != "blocks" or zero == "each" and scale in ("blocks", "same blocks"):
                continue
            element = ("int8", "uint8")[rng.integers(2)]
            floats = ("float32", "float32", "float16")[rng.integers(3)]
            with self.subTest(layout=layout, zero=zero, scale=scale, element=element, floats=floats):
                flags = [(), ("--tp", "2"), ("--tp", "3"), ("--bitwise", "--tp", "2")][rng.integers(4)]
                self.assert_product(Spelled("w", layout, zero, scale, element, floats, rng), *flags)

    def test_gemm(self):
        rng = np.random.default_rng(2)
        attributes = ({}, {"transB": 1}, {"transA": 1, "beta": 0.5}, {"transB": 1, "alpha": 2.0, "beta": 0.0})
        for layout, gemm, flags in itertools.product(("rows", "columns", "groups"), attributes, ((), ("--tp", "2"))):
            with self.subTest(layout=layout, gemm=gemm, flags=flags):
                self.assert_product(Spelled("w", layout, "number", "each", "uint8", "float32", rng), *flags, gemm=gemm)

    def test_scaled_gemm_of_16_bits(self):
        """What is scaled before it is rounded may not fit beside its scale."""
        weight = Spelled("w", "rows", "number", "each", "uint8", "float16", np.random.default_rng(6))
        self.assertIn('rt.call "Gemm"', self.run_ok("shardc", self.model(weight, {"alpha": 0.5}), "--to", "lowered"))

    def test_tables_are_looked_up_as_they_are_stored(self):
        """Behind DequantizeLinear or spelled, also where the table is a product's weight, of scales in any place."""
        rng = np.random.default_rng(8)
        size, wide = 400, 96
        ids = rng.integers(-size, size, (2, 7))
        for scale, zero, flags in itertools.product(("one", "rows", "columns", "blocks"), (False, True), ((), ("--tp", "2"), ("--tp", "3"))):
            q = rng.integers(-128, 128, (size, wide)).astype(np.int8)
            dims = {"one": [], "rows": [size], "columns": [wide], "blocks": [size, 3]}[scale]
            s = (rng.uniform(0.5, 1.5, dims) / 500).astype(np.float32)
            z = rng.integers(-9, 9, dims).astype(np.int8) if zero else np.zeros(dims, np.int8)
            along = {"rows": lambda p: p[:, None], "blocks": lambda p: np.repeat(p, 32, axis=1)}.get(scale, lambda p: p)
            table = ((q - along(z).astype(np.float64)) * along(s)).astype(np.float32)
            tensors = [numpy_helper.from_array(v, n) for n, v in (("q", q), ("s", s), *([("z", z)] if zero else []))]
            how = {"axis": 1, "block_size": 32} if scale == "blocks" else {"axis": 0 if scale == "rows" else 1}
            nodes = [
                helper.make_node("DequantizeLinear", [t.name for t in tensors], ["w"], **how),
                helper.make_node("Gather", ["w", "ids"], ["e"]),
                helper.make_node("Transpose", ["w"], ["t"], perm=[1, 0]),
                helper.make_node("MatMul", ["e", "t"], ["y"]),
            ]
            value = helper.make_tensor_value_info
            inputs = [value("ids", TensorProto.INT64, ["b", "n"])]
            outputs = [value("e", TensorProto.FLOAT, None), value("y", TensorProto.FLOAT, None)]
            graph = helper.make_graph(nodes, "table", inputs, outputs, tensors)
            file = self.folder / "model.onnx"
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), file)
            with self.subTest(scale=scale, zero=zero, flags=flags):
                text = self.run_ok("shardc", file, "--to", "lowered", *flags)
                self.assertTrue(("MatMulDequantized" in text or "MatMulQuantized" in text) and 'rt.call "MatMul"' not in text)
                self.run_ok("shardc", file, "-o", self.folder / "model.shard", *flags)
                np.savez(self.folder / "in.npz", ids=ids)
                out = self.folder / "out"
                self.run_ok("shardrun", self.folder / "model.shard", "--inputs", self.folder / "in.npz", "--outputs", out, "--check-replicas")
                rows, product = read_outputs(out)
                np.testing.assert_array_equal(rows, table[ids])
                expected = table[ids].astype(np.float64) @ table.T.astype(np.float64)
                self.assertLessEqual(np.abs(product - expected).max(), 2e-6 * np.abs(expected).max())

    def test_scales_that_nearly_fit_stay_floats(self):
        """Zero points of blocks beside one scale for all, which DequantizeLinear does not have."""
        weight = Spelled("w", "groups", "blocks", "each", "uint8", "float32", np.random.default_rng(5))
        file = self.model(weight)
        self.assertTrue('rt.call "MatMul"' in self.run_ok("shardc", file, "--to", "lowered"))


if __name__ == "__main__":
    unittest.main()
