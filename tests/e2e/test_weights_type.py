"""Weights that the compiler quantises (--weights-type), against ONNX Runtime on the model with the same weights, rounded by
NumPy alone: whichever ranks have which part, no number of them depends on it."""

import json
import logging
import re
import shutil
import subprocess
import sys
import unittest

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.support import EndToEnd, data_sets, model_file, program, read_outputs


def has_onnxruntime():
    return subprocess.run([sys.executable, "-c", "import onnxruntime"], capture_output=True).returncode == 0


def furthest_of(block):
    """Of each column the number that is furthest from 0; of two the one above."""
    least, most = np.minimum(block.min(axis=-2, keepdims=True), 0), np.maximum(block.max(axis=-2, keepdims=True), 0)
    return np.where(most >= -least, most, least)


def rounded(weights, stored, group):
    """[k, n] as it comes back, by the definition."""
    if stored == "bf16":
        return weights.astype(ml_dtypes.bfloat16).astype(np.float32)
    if stored == "f8E4M3FN":
        scale = np.abs(weights).max(axis=0, keepdims=True) / np.float32(448)
        scale = np.where(scale == 0, np.float32(1), scale)
        return (weights / scale).astype(ml_dtypes.float8_e4m3fn).astype(np.float32) * scale
    bits, result = int(stored[1:]), np.empty_like(weights)
    for begin in range(0, len(weights), group):
        block = weights[begin : begin + group]
        furthest = furthest_of(block)
        scale = furthest / np.float32(-(2 ** (bits - 1)))
        scale = np.where(scale == 0, np.float32(1), scale)
        result[begin : begin + group] = np.clip(np.rint(block / scale), -(2 ** (bits - 1)), 2 ** (bits - 1) - 1) * scale
    return result


def listed(text):
    """What the compiler says that it quantises: name -> type, is it [n, k], group."""
    entries = re.search(r"onnx\.quantized = \[(.*?)\}\]", text)[1]
    pattern = r'group = (\d+) .*?name = "([^"]*)".*?stored = (\w+), transposed = (\w+)'
    return {name: (stored, transposed == "true", int(group)) for group, name, stored, transposed in re.findall(pattern, entries)}


def with_rounded_weights(model, weights):
    """The model, whose products read the rounded weights; what looks rows up goes on reading its own."""
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    for name, (stored, is_transposed, group) in weights.items():
        values = numpy_helper.to_array(tensors[name])
        matrix = values.T if is_transposed else values
        matrix = rounded(matrix.astype(np.float32), stored, group).astype(values.dtype)
        made = numpy_helper.from_array(np.ascontiguousarray(matrix.T if is_transposed else matrix), name + "_rounded")
        model.graph.initializer.append(made)
        for node in model.graph.node:
            if node.op_type != "Gather":
                for i, operand in enumerate(node.input):
                    if operand == name:
                        node.input[i] = name + "_rounded"
    return model


class WeightsType(EndToEnd):
    def expected(self, name, kind, data_set):
        import onnxruntime

        text = self.run_ok("shardc", model_file(name), "--weights-type", kind, "--to", "imported")
        model = with_rounded_weights(onnx.load(model_file(name)), listed(text))
        file = self.folder / "rounded.onnx"
        onnx.save(model, file)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3  # it tells of weights that nobody reads any more
        session = onnxruntime.InferenceSession(str(file), options)
        inputs = [numpy_helper.to_array(onnx.load_tensor(data_set / f"input_{i}.pb")) for i in range(len(session.get_inputs()))]
        return session.run(None, {port.name: value for port, value in zip(session.get_inputs(), inputs, strict=True)})

    def outputs(self, model, inputs, *flags):
        artifact, out = self.folder / "model.shard", self.folder / "out"
        self.run_ok("shardc", model, "-o", artifact, *flags)
        shutil.rmtree(out, ignore_errors=True)
        self.run_ok("shardrun", artifact, "--inputs", inputs, "--outputs", out, "--check-replicas")
        return read_outputs(out), json.loads((artifact / "manifest.json").read_text())

    @unittest.skipUnless(has_onnxruntime(), "onnxruntime is not installed")
    def test_products_read_what_numpy_rounds(self):
        """BERT's are MatMul, GPT-2's Gemm and a head that is tied to the table of embeddings, Llama's head is a product alone."""
        plans = (["--tp", 1], ["--tp", 2], ["--tp", 4, "--sp"], ["--tp", 2, "--pp", 2], ["--tp", 2, "--weights", "copy"])
        for name in ("bert-ts-op17", "gpt2-dynamo-op20", "llama-dynamo-op18"):
            data_set = data_sets(name)[0]
            for kind in ("int8", "int4", "int4:16", "fp8", "bf16"):
                expected = self.expected(name, kind, data_set)
                own = read_outputs(data_set)
                for plan in plans:
                    with self.subTest(model=name, type=kind, plan=plan):
                        found, manifest = self.outputs(model_file(name), data_set, "--weights-type", kind, *plan)
                        self.assertEqual(manifest["tolerance"], "quant")
                        for a, b, c in zip(found, expected, own, strict=True):
                            limit = np.max(np.abs(b))
                            self.assertLess(np.max(np.abs(a - b)) / limit, 2e-5)
                            self.assertGreater(np.max(np.abs(a - c)) / limit, 1e-4, "nothing was rounded")

    @unittest.skipUnless(has_onnxruntime(), "onnxruntime is not installed")
    def test_codes_are_those_of_onnxruntimes_quantizer(self):
        """MatMulNBits that it makes of the same two products, 4 bits and then 8, compiled, compute the same bits."""
        from onnxruntime.quantization.matmul_nbits_quantizer import DefaultWeightOnlyQuantConfig, MatMulNBitsQuantizer

        logging.getLogger("onnxruntime.quantization.matmul_nbits_quantizer").setLevel(logging.WARNING)
        rng = np.random.default_rng(5)
        a, b = rng.standard_normal((128, 96)).astype(np.float32), rng.standard_normal((96, 80)).astype(np.float32)
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["x", "a"], ["h"], "first"), helper.make_node("MatMul", ["h", "b"], ["y"], "second")],
            "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 128])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 80])],
            [numpy_helper.from_array(a, "a"), numpy_helper.from_array(b, "b")])  # fmt: skip
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
        onnx.save(model, self.folder / "model.onnx")
        for bits, others in ((4, ["second"]), (8, ["first_Q4"])):
            config = DefaultWeightOnlyQuantConfig(block_size=32, is_symmetric=True, bits=bits)
            quantizer = MatMulNBitsQuantizer(model, algo_config=config, nodes_to_exclude=others)
            quantizer.process()
            model = quantizer.model.model
        self.assertEqual([node.op_type for node in model.graph.node], ["MatMulNBits"] * 2)
        onnx.save(model, self.folder / "theirs.onnx")
        np.savez(self.folder / "in.npz", x=rng.standard_normal((7, 128)).astype(np.float32))
        (expected,), _ = self.outputs(self.folder / "theirs.onnx", self.folder / "in.npz")
        (found,), _ = self.outputs(self.folder / "model.onnx", self.folder / "in.npz", "--weights-type", "int4")
        self.assertLess(np.max(np.abs(found - expected)) / np.max(np.abs(expected)), 1e-6)

    def test_groups_that_no_rank_has_whole(self):
        """3 heads of 24 features in groups of 32, and an odd number of features, of which two share a byte."""
        rng = np.random.default_rng(3)
        for k, n, flags in ((72, 80, ["--pin", "a=1:tp", "--pin", "b=0:tp"]), (73, 80, [])):
            a, b = rng.standard_normal((80, k)).astype(np.float32), rng.standard_normal((k, n)).astype(np.float32)
            graph = helper.make_graph(
                [helper.make_node("MatMul", ["x", "a"], ["h"]), helper.make_node("Relu", ["h"], ["r"]), helper.make_node("MatMul", ["r", "b"], ["y"])],
                "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 80])],
                [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", n])],
                [numpy_helper.from_array(a, "a"), numpy_helper.from_array(b, "b")])  # fmt: skip
            model = self.folder / "model.onnx"
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), model)
            x = rng.standard_normal((5, 80)).astype(np.float32)
            np.savez(self.folder / "in.npz", x=x)
            expected = np.maximum(x @ rounded(a, "i4", 32), 0) @ rounded(b, "i8", 32)
            for tp in (1, 2, 3):
                with self.subTest(k=k, tp=tp):
                    (found,), _ = self.outputs(model, self.folder / "in.npz", "--tp", tp, "--weights-type", "int4")
                    self.assertLess(np.max(np.abs(found - expected)) / np.max(np.abs(expected)), 1e-5)

    def test_experts_that_are_kept_one_by_one(self):
        """Of one the weights are in two parts, and of one they are zeros."""
        rng = np.random.default_rng(6)
        experts, hidden, inner = 4, 64, 96
        ups, downs = (rng.standard_normal((experts, *dims)).astype(np.float32) for dims in ((inner, hidden), (hidden, inner)))
        ups[2] = downs[2] = 0
        head = rng.standard_normal((hidden, 80)).astype(np.float32)
        tensors, nodes = [numpy_helper.from_array(head, "head"), numpy_helper.from_array(np.zeros((), np.float32), "zero")], []
        for kind, stack in (("up", ups), ("down", downs)):
            names = [f"{kind}{e}" for e in range(experts)]
            for e, name in enumerate(names):
                if e == 2:
                    tensors.append(numpy_helper.from_array(np.array(stack[:1].shape, np.int64), f"{name}.dims"))
                    nodes.append(helper.make_node("Expand", ["zero", f"{name}.dims"], [name]))
                elif e == 1:
                    parts = np.split(stack[e : e + 1], [32], axis=1)
                    tensors += [numpy_helper.from_array(part, f"{name}.{i}") for i, part in enumerate(parts)]
                    nodes.append(helper.make_node("Concat", [f"{name}.0", f"{name}.1"], [name], axis=1))
                else:
                    tensors.append(numpy_helper.from_array(stack[e : e + 1], name))
            nodes.append(helper.make_node("Concat", names, [kind], axis=0))
        nodes.append(helper.make_node("MoE", ["x", "scores", "up", "", "down"], ["m"], domain="com.microsoft", activation_type="relu", k=2))
        nodes.append(helper.make_node("MatMul", ["m", "head"], ["y"]))
        ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["rows", size]) for name, size in (("x", hidden), ("scores", experts))]
        graph = helper.make_graph(nodes, "g", ports, [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 80])], tensors)
        opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
        model = self.folder / "model.onnx"
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), model)
        x, scores = rng.standard_normal((9, hidden)).astype(np.float32), rng.standard_normal((9, experts)).astype(np.float32)
        np.savez(self.folder / "in.npz", x=x, scores=scores)
        shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        chosen = np.argsort(-scores, axis=1)[:, :2]
        for kind, stored, last in (("int8", "i8", "i8"), ("int4", "i4", "i8"), ("fp8", "f8E4M3FN", "f8E4M3FN"), ("bf16", "bf16", "bf16")):
            mixed = np.zeros_like(x)
            for row in range(len(x)):
                for e in chosen[row]:
                    inside = np.maximum(x[row] @ rounded(ups[e].T, stored, 32), 0)
                    mixed[row] += shares[row, e] * (inside @ rounded(downs[e].T, stored, 32))
            expected = mixed @ rounded(head, last, 32)
            for flags in (["--tp", 1], ["--tp", 2], ["--tp", 2, "--ep", 2], ["--tp", 3, "--weights", "copy"]):
                with self.subTest(type=kind, plan=flags):
                    (found,), _ = self.outputs(model, self.folder / "in.npz", "--weights-type", kind, *flags)
                    self.assertLess(np.max(np.abs(found - expected)) / np.max(np.abs(expected)), 1e-5)
            said = self.run_ok("shardc", model, "--weights-type", kind, "--to", "imported")
            self.assertIn('"up0.bf16"' if kind == "bf16" else f'"up0.experts.{kind}"', said)

    def test_half_precision_keeps_its_scales_in_it(self):
        rng = np.random.default_rng(4)
        for element, dtype, limit in ((TensorProto.FLOAT16, np.float16, 2e-3), (TensorProto.BFLOAT16, ml_dtypes.bfloat16, 1.6e-2)):
            w = rng.standard_normal((64, 96)).astype(dtype)
            graph = helper.make_graph(
                [helper.make_node("Cast", ["x"], ["h"], to=element), helper.make_node("MatMul", ["h", "w"], ["p"]),
                 helper.make_node("Cast", ["p"], ["y"], to=TensorProto.FLOAT)],
                "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 64])],
                [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 96])],
                [numpy_helper.from_array(w, "w")])  # fmt: skip
            model = self.folder / "model.onnx"
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), model)
            x = rng.standard_normal((5, 64)).astype(dtype).astype(np.float32)
            np.savez(self.folder / "in.npz", x=x)
            wide = w.astype(np.float32)
            scale = (furthest_of(wide.reshape(2, 32, 96)) / np.float32(-128)).astype(dtype).astype(np.float32)
            codes = np.clip(np.rint(wide.reshape(2, 32, 96) / scale), -128, 127)
            expected = x @ (codes * scale).astype(dtype).astype(np.float32).reshape(64, 96)
            with self.subTest(type=dtype):
                (found,), _ = self.outputs(model, self.folder / "in.npz", "--weights-type", "int8", "--tp", 2)
                self.assertLess(np.max(np.abs(found - expected)) / np.max(np.abs(expected)), limit)

    def test_artifacts_have_no_need_of_the_model(self):
        """But for what was not quantised: it is told by its manifest, and with copies each rank has its part alone."""
        name = "llama-dynamo-op18"
        artifact = self.compile(model_file(name), 2, "--weights-type", "int4", "--weights", "copy")
        self.assertFalse((artifact / "quantized.bin").exists())
        own = self.compile(model_file(name), 2, "--weights", "copy", to="own.shard")
        sizes = [sum(f.stat().st_size for f in (folder / "weights").iterdir()) for folder in (artifact, own)]
        self.assertLess(sizes[0], sizes[1] / 2)
        other = self.compile(model_file(name), 2, "--weights-type", "int4", to="reference.shard")
        files = {file["path"]: file for file in json.loads((other / "manifest.json").read_text())["files"]}
        self.assertEqual(files["quantized.bin"]["root"], "artifact")
        self.assertEqual(files["quantized.bin"]["bytes"], (other / "quantized.bin").stat().st_size)

    def test_memory_is_that_of_the_weights(self):
        """No rank has the numbers of a whole weight beside what it has of the file; kernels may arrange codes, not numbers."""
        name, sizes = "llama-dynamo-op18", {}
        for kind in ("none", "bf16", "fp8", "int8", "int4"):
            artifact = self.compile(model_file(name), 2, *(["--weights-type", kind] if kind != "none" else []))
            stats = self.folder / "stats.json"
            self.run_ok("shardrun", artifact, "--inputs", data_sets(name)[0], "--stats-json", stats)
            rank = json.loads(stats.read_text())["ranks"][0]
            sizes[kind] = rank["weight_bytes"] + rank["arranged_bytes"]
            self.assertEqual(rank["loaded_bytes"], 0, kind)
        self.assertLess(sizes["bf16"], 0.6 * sizes["none"])
        for less, more in (("int4", "int8"), ("int8", "none"), ("fp8", "int8")):
            self.assertLess(sizes[less], sizes[more])

    def test_verify_tells_the_error_of_each_output(self):
        errors = {}
        for kind in ("bf16", "int8", "int4"):
            done = program("shardc", "verify", model_file("bert-ts-op17"), "--tp", 2, "--weights-type", kind, "--json")
            self.assertEqual(done.returncode, 0, done.stderr)
            for request in json.loads(done.stdout)["requests"]:
                (output,) = request["own_weights"]["outputs"]
                errors.setdefault(kind, []).append(output["rms"])
        self.assertLess(max(errors["bf16"]), min(errors["int8"]))
        self.assertLess(max(errors["int8"]), min(errors["int4"]))

    def test_what_cannot_be_quantised_is_told(self):
        for flags, said in (
            (["--weights-type", "int3"], "int3: expected int4, int8, fp8 or bf16"),
            (["--weights-type", "fp8:32"], "fp8:32: only int4 and int8 have groups"),
            (["--weights-type", "int4:33"], "int4:33: expected groups of 16, 32, 64, 128 or 256"),
            (["--weights-type", "int4", "--emit", "annotated-onnx"], "writes the model as it is"),
        ):
            done = program("shardc", model_file("bert-ts-op17"), "-o", self.folder / "x", *flags)
            self.assertEqual((done.returncode, said in done.stderr), (2, True), done.stderr)
        done = program("shardc", model_file("llama-genai-int4"), "-o", self.folder / "x", "--weights-type", "int8")
        self.assertEqual(done.returncode, 3)
        self.assertIn("has weights that are quantised already", done.stderr)

    def test_weights_that_are_no_numbers(self):
        w = np.ones((64, 64), np.float32)
        w[3, 5] = np.inf
        graph = helper.make_graph(
            [helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 64])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 64])], [numpy_helper.from_array(w, "w")])  # fmt: skip
        model = self.folder / "model.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), model)
        done = program("shardc", model, "-o", self.folder / "x", "--weights-type", "int8")
        self.assertEqual(done.returncode, 4)
        self.assertIn("weight 'w' has infinite numbers", done.stderr)
        self.assertFalse((self.folder / "x").exists())

    def save(self, nodes, given, result, tensors):
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, given)],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, result)], tensors)  # fmt: skip
        model = self.folder / "model.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), model)
        return model

    def test_numbers_that_are_too_large(self):
        w = np.ones((64, 64), np.float32)
        w[0, 0] = 3.4e38
        model = self.save([helper.make_node("MatMul", ["x", "w"], ["y"])], ["rows", 64], ["rows", 64], [numpy_helper.from_array(w, "w")])
        done = program("shardc", model, "-o", self.folder / "x", "--weights-type", "bf16")
        self.assertEqual(done.returncode, 4)
        self.assertIn("weight 'w' has numbers that are too large for bf16", done.stderr)
        self.assertFalse((self.folder / "x").exists())

    def test_a_beta_of_nothing(self):
        tensors = [numpy_helper.from_array(np.ones((64, 8), np.float32), "w"), numpy_helper.from_array(np.full(8, np.nan, np.float32), "c")]
        model = self.save([helper.make_node("Gemm", ["x", "w", "c"], ["y"], beta=0.0)], [2, 64], [2, 8], tensors)
        self.assertTrue(np.isfinite(self.outputs_of(model, np.ones((2, 64), np.float32))).all())

    def test_two_weights_at_one_place(self):
        """Of other dims: they are other matrices."""
        numbers = np.random.default_rng(2).normal(size=8192).astype(np.float32)
        (self.folder / "both.bin").write_bytes(numbers.tobytes())
        tensors = []
        for name, dims in (("w", (64, 128)), ("v", (128, 64))):
            tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=dims, data_location=TensorProto.EXTERNAL)
            for key, said in (("location", "both.bin"), ("offset", "0"), ("length", str(numbers.nbytes))):
                tensor.external_data.add(key=key, value=said)
            tensors.append(tensor)
        nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("MatMul", ["h", "v"], ["y"])]
        model = self.save(nodes, ["rows", 64], ["rows", 64], tensors)
        x = np.random.default_rng(3).normal(size=(3, 64)).astype(np.float32)
        expected = x @ numbers.reshape(64, 128) @ numbers.reshape(128, 64)
        self.assertLess(np.abs(self.outputs_of(model, x) - expected).max(), 0.02 * np.abs(expected).max())

    def outputs_of(self, model, x):
        (self.folder / "input").mkdir()
        (self.folder / "input/input_0.pb").write_bytes(numpy_helper.from_array(x, "x").SerializeToString())
        self.run_ok("shardc", model, "-o", self.folder / "x.shard", "--weights-type", "int8")
        self.run_ok("shardrun", self.folder / "x.shard", "--inputs", self.folder / "input", "--outputs", self.folder / "out")
        return read_outputs(self.folder / "out")[0]

    def test_a_plan_is_of_one_import(self):
        plan, model = self.folder / "plan.json", model_file("bert-ts-op17")
        self.run_ok("shardc", model, "--tp", 2, "--weights-type", "int4", "--save-plan", plan)
        self.run_ok("shardc", model, "--load-plan", plan, "--weights-type", "int4", "-o", self.folder / "same.shard")
        for flags, said in (([], "no --weights-type"), (["--weights-type", "int4:64"], "--weights-type int4:64")):
            done = program("shardc", model, "--load-plan", plan, *flags, "-o", self.folder / "other.shard")
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"was made with --weights-type int4:32, and this is with {said}", done.stderr)

    def test_explain_tells_what_became_smaller(self):
        said = self.run_ok("shardc", model_file("bert-ts-op17"), "--tp", 2, "--weights-type", "int4", "--explain")
        self.assertRegex(said, r"--weights-type int4: \d+ weights of products take 0\.1\d of their bytes")


if __name__ == "__main__":
    unittest.main()
