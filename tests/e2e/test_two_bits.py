"""Weights of 2 bits: packed once and multiplied as they are, against their definition in NumPy, and against ONNX Runtime."""

import itertools
import json
import os
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.support import EndToEnd, program, read_outputs, rounds_quantised_weights

PROCESSORS = ("baseline", "avx2", "avx-vnni", "avx512", "avx512-vnni", "avx512-bf16", None)


def packed(fields):
    """Rows of fields, four a byte, the lowest bits first; rows end with a whole byte."""
    fields = np.pad(fields, [(0, 0), (0, -fields.shape[1] % 4)]).reshape(fields.shape[0], -1, 4).astype(np.uint8)
    return np.bitwise_or.reduce(fields << np.array([0, 2, 4, 6], np.uint8), axis=2)


class Weights:
    """Of a MatMulNBits: tensors, and the numbers that they stand for."""

    def __init__(self, name, k, n, block, zeros, bias, rng):
        blocks = -(-k // block)
        fields = rng.integers(0, 4, (n, blocks * block))
        scales = rng.uniform(0.5, 1.5, (n, blocks)).astype(np.float32) * np.float32(1 / np.sqrt(k))
        offsets = np.full((n, blocks), 2.0, np.float32)
        values = {f"{name}_w": packed(fields).reshape(n, blocks, block // 4), f"{name}_s": scales}
        if zeros == "fields":
            offsets = rng.integers(0, 4, (n, blocks))
            values[f"{name}_z"] = packed(offsets)
        elif zeros == "numbers":
            offsets = rng.uniform(0, 3, (n, blocks)).astype(np.float32)
            values[f"{name}_z"] = offsets
        self.bias = rng.standard_normal(n).astype(np.float32) if bias else np.zeros(n, np.float32)
        if bias:
            values[f"{name}_b"] = self.bias
        inputs = [f"{name}_w", f"{name}_s", f"{name}_z" if zeros else "", "", f"{name}_b" if bias else ""]
        while not inputs[-1]:
            inputs.pop()
        self.tensors = [numpy_helper.from_array(value, key) for key, value in values.items()]
        self.inputs, self.attributes = inputs, {"K": k, "N": n, "bits": 2, "block_size": block}
        each = np.repeat(offsets, block, axis=1), np.repeat(scales, block, axis=1)
        self.numbers = ((fields - each[0].astype(np.float64)) * each[1])[:, :k].T

    def node(self, x, y, level):
        return helper.make_node("MatMulNBits", [x, *self.inputs], [y], name=y, domain="com.microsoft", accuracy_level=level, **self.attributes)


class TwoBits(EndToEnd):
    def save(self, nodes, tensors, inputs, outputs, opset=21):
        value = helper.make_tensor_value_info
        graph = helper.make_graph(nodes, "bits", [value(*i) for i in inputs], [value(*o) for o in outputs], tensors)
        file = self.folder / "model.onnx"
        opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10 if opset < 25 else 13), file)
        return file

    def mlp(self, block, zeros, bias, level=0, k=96, wide=320, n=40):
        """Two products, of which tp splits the columns of one and the rows of the other."""
        rng = np.random.default_rng(block)
        up, down = Weights("up", k, wide, block, zeros, bias, rng), Weights("down", wide, n, block, zeros, bias, rng)
        nodes = [up.node("x", "a", level), helper.make_node("Relu", ["a"], ["h"], name="h"), down.node("h", "y", level)]
        file = self.save(nodes, up.tensors + down.tensors, [("x", TensorProto.FLOAT, ["rows", k])], [("y", TensorProto.FLOAT, ["rows", n])])
        x = rng.standard_normal((21, k)).astype(np.float32)
        return file, x, np.maximum(x @ up.numbers + up.bias, 0) @ down.numbers + down.bias

    def found(self, file, x, *flags, processor=None, name="x"):
        artifact, out = self.folder / "model.shard", self.folder / "out"
        self.run_ok("shardc", file, "-o", artifact, *flags)
        np.savez(self.folder / "in.npz", **{name: x})
        env = {**os.environ, "SHARDC_PROCESSOR": processor} if processor else None
        done = program("shardrun", artifact, "--inputs", self.folder / "in.npz", "--outputs", out, env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        return read_outputs(out)[0]

    def assert_near(self, found, expected, error):
        self.assertEqual(found.shape, expected.shape)
        self.assertLessEqual(np.abs(found - expected).max(), error * np.abs(expected).max())

    def test_every_block_and_zero_point(self):
        for block, zeros, bias in itertools.product((16, 32, 64, 128, 256), (None, "fields", "numbers"), (False, True)):
            file, x, expected = self.mlp(block, zeros, bias)
            for tp in (1, 2, 4):
                with self.subTest(block=block, zeros=zeros, bias=bias, tp=tp):
                    self.assert_near(self.found(file, x, "--tp", tp), expected, 2e-6)

    def test_features_that_end_within_a_block(self):
        for block, k in ((16, 20), (32, 100), (128, 300), (64, 67)):
            for zeros in (None, "fields"):
                file, x, expected = self.mlp(block, zeros, False, k=k)
                with self.subTest(block=block, k=k, zeros=zeros):
                    for rows in (1, 21):
                        self.assert_near(self.found(file, x[:rows], "--tp", 2), expected[:rows], 2e-6)

    def test_fewer_bits_of_activations(self):
        """accuracy_level 4, --compute int8, which is the same, and --compute bf16, which only processors that are fast with it round to."""
        rounds_to_bf16 = rounds_quantised_weights()
        for block, zeros in ((32, None), (64, "fields"), (16, "numbers")):
            exact, x, expected = self.mlp(block, zeros, True)
            for flags in (["--compute", "bf16"], ["--compute", "int8"], ["--compute", "int8", "--tp", 2], ["--compute", "bf16", "--tp", 2]):
                with self.subTest(block=block, zeros=zeros, flags=flags):
                    found, rounds = self.found(exact, x, *flags), rounds_to_bf16 or "int8" in flags
                    self.assert_near(found, expected, 2e-2 if rounds else 2e-6)
                    if rounds:
                        self.assertGreater(np.abs(found - expected).max(), 1e-5, "nothing was rounded")
            asked = self.found(exact, x, "--compute", "int8")
            file, x, _ = self.mlp(block, zeros, True, level=4)
            np.testing.assert_array_equal(self.found(file, x), asked)
            # A row has the same bits beside others.
            for row in (0, 20):
                np.testing.assert_array_equal(self.found(file, x[row : row + 1]), asked[row : row + 1])

    def test_every_processor(self):
        for level in (0, 4):
            file, x, expected = self.mlp(32, "fields", True, level)
            for processor in PROCESSORS:
                with self.subTest(level=level, processor=processor):
                    self.assert_near(self.found(file, x, "--kernels", "reference", processor=processor), expected, 2e-2 if level else 2e-6)

    def test_weights_stay_as_small_as_the_file_has_them(self):
        file, x, _ = self.mlp(32, "fields", False)
        text = self.run_ok("shardc", file, "--to", "lowered", "-o", "-")
        self.assertRegex(text, r'rt.weight "up_w" .* length 7680 ui2 ')
        self.assertNotIn("BitShift", text)
        # Ranks' own weights, too: each has a half of each matrix.
        artifact = self.folder / "copied.shard"
        self.run_ok("shardc", file, "-o", artifact, "--tp", 2, "--weights", "copy")
        np.savez(self.folder / "in.npz", x=x)
        self.run_ok("shardrun", artifact, "--inputs", self.folder / "in.npz", "--outputs", self.folder / "out")
        np.testing.assert_array_equal(read_outputs(self.folder / "out")[0], self.found(file, x, "--tp", 2))
        self.assertEqual(json.loads((artifact / "manifest.json").read_text())["tolerance"], "quant")

    def test_files_of_ranks_have_bytes(self):
        """Which other runtimes slice and gather."""
        import onnxruntime

        for block, zeros, k in ((32, "fields", 96), (16, None, 67)):
            file, x, expected = self.mlp(block, zeros, True, k=k)
            folder = self.folder / f"ranks-{block}"
            self.run_ok("shardc", file, "--tp", 1, "--emit", "onnx", "-o", folder)
            (found,) = onnxruntime.InferenceSession(str(folder / "rank-0.onnx")).run(None, {"x": x})
            self.assert_near(found, expected, 2e-6)

    def test_as_onnxruntime_computes(self):
        import onnxruntime

        for block, zeros, level in itertools.product((16, 32, 128), (None, "fields"), (0, 4)):
            file, x, _ = self.mlp(block, zeros, False, level)
            (expected,) = onnxruntime.InferenceSession(str(file)).run(None, {"x": x})
            with self.subTest(block=block, zeros=zeros, level=level):
                self.assert_near(self.found(file, x), expected, 2e-2 if level else 1e-5)

    def test_rows_of_a_table(self):
        rng = np.random.default_rng(3)
        for zeros in (False, True):
            rows, blocks, block = 9, 3, 16
            fields, offsets = rng.integers(0, 4, (rows, blocks * block)), rng.integers(0, 4, (rows, blocks)) if zeros else np.full((rows, blocks), 2)
            scales = rng.uniform(0.5, 1.5, (rows, blocks)).astype(np.float32)
            values = {"w": packed(fields), "s": scales} | ({"z": packed(offsets)} if zeros else {})
            node = helper.make_node("GatherBlockQuantized", ["w", "at", "s", *(["z"] if zeros else [])], ["y"], name="y", domain="com.microsoft", bits=2,
                                    block_size=block, quantize_axis=1)  # fmt: skip
            file = self.save([node], [numpy_helper.from_array(v, n) for n, v in values.items()], [("at", TensorProto.INT64, ["rows"])],
                             [("y", TensorProto.FLOAT, ["rows", blocks * block])])  # fmt: skip
            at = np.array([8, 0, 3, 3])
            numbers = (fields - np.repeat(offsets, block, axis=1)) * np.repeat(scales, block, axis=1)
            for tp in (1, 2):
                np.testing.assert_allclose(self.found(file, at, "--tp", tp, name="at"), numbers[at], rtol=1e-6)

    def test_types_of_onnx(self):
        """uint2 and int2 (opset 25), by rows or by columns, with a scale for each column or for blocks."""
        rng = np.random.default_rng(4)
        k, n = 64, 20
        for element, low, block, transposed in itertools.product((TensorProto.UINT2, TensorProto.INT2), (0,), (0, 16), (False, True)):
            signed = element == TensorProto.INT2
            fields = rng.integers(-2, 2, (k, n)) if signed else rng.integers(0, 4, (k, n))
            lies = fields.T if transposed else fields
            raw = packed((lies.reshape(1, -1) & 3)).tobytes()
            scales = rng.uniform(0.5, 1.5, (k // block if block else 1, n)).astype(np.float32)
            stored = scales.T if transposed else scales
            tensors = [helper.make_tensor("w", element, lies.shape, raw, raw=True), numpy_helper.from_array(np.ascontiguousarray(stored if block else stored.reshape(-1)), "s")]
            axis = (1 if transposed else 0) if block else (0 if transposed else 1)
            nodes = [helper.make_node("DequantizeLinear", ["w", "s"], ["d"], name="d", axis=axis, **({"block_size": block} if block else {}))]
            if transposed:
                nodes.append(helper.make_node("Transpose", ["d"], ["t"], name="t", perm=[1, 0]))
            nodes.append(helper.make_node("MatMul", ["x", nodes[-1].output[0]], ["y"], name="y"))
            file = self.save(nodes, tensors, [("x", TensorProto.FLOAT, ["rows", k])], [("y", TensorProto.FLOAT, ["rows", n])], opset=25)
            x = rng.standard_normal((5, k)).astype(np.float32)
            numbers = fields * (np.repeat(scales, block, axis=0) if block else scales)
            for tp in (1, 2):
                with self.subTest(element=element, block=block, transposed=transposed, tp=tp):
                    self.assert_near(self.found(file, x, "--tp", tp), x.astype(np.float64) @ numbers, 2e-6)


if __name__ == "__main__":
    unittest.main()
