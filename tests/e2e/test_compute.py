"""Products in fewer bits than the model has (--compute), against ONNX Runtime in the model's own types."""

import json
import subprocess
import sys
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.support import EndToEnd, data_sets, model_file, program, read_outputs, rounds_quantised_weights

MODELS = ["bert-ts-op17", "gpt2-dynamo-op20", "llama-dynamo-op18", "vit-ts-static-op17"]


def has_onnxruntime():
    return subprocess.run([sys.executable, "-c", "import onnxruntime"], capture_output=True).returncode == 0


class Compute(EndToEnd):
    def outputs(self, model, data_set, *flags):
        artifact, out = self.folder / "model.shard", self.folder / "out"
        self.run_ok("shardc", model, "-o", artifact, *flags)
        self.run_ok("shardrun", artifact, "--inputs", data_set, "--outputs", out)
        return read_outputs(out), json.loads((artifact / "manifest.json").read_text())

    def test_bf16_is_near_what_the_model_computes(self):
        """The data beside the models is of other engines. What is rounded to 8 bits errs by some 2^-9 of itself."""
        for name in MODELS:
            for tp in (1, 2):
                with self.subTest(model=name, tp=tp):
                    data_set = data_sets(name)[0]
                    found, manifest = self.outputs(model_file(name), data_set, "--tp", tp, "--compute", "bf16")
                    self.assertEqual(manifest["tolerance"], "quant")
                    for a, b in zip(found, read_outputs(data_set), strict=True):
                        error = np.max(np.abs(a - b)) / np.max(np.abs(b))
                        self.assertLess(error, 2e-2)
                        self.assertGreater(error, 1e-4, "nothing was rounded")

    def test_bf16_of_quantised_weights(self):
        """Beside the same file in its own types; steps of one row, which decode as many weights, among them."""
        (exact, _), (level4, _) = self.accuracies("llama-genai-int4")
        data_set = data_sets("llama-genai-int4")[0]
        own, _ = self.outputs(exact, data_set)
        for tp in (1, 2):
            found, manifest = self.outputs(exact, data_set, "--tp", tp, "--compute", "bf16")
            self.assertEqual(manifest["tolerance"], "quant")
            for a, b in zip(found, own, strict=True):
                self.assertLess(np.max(np.abs(a - b)) / np.max(np.abs(b)), 2e-2)
            if rounds_quantised_weights():
                self.assertTrue(any(np.max(np.abs(a - b)) / np.max(np.abs(b)) > 1e-4 for a, b in zip(found, own)))
        said, _ = self.outputs(level4, data_set)
        stays, _ = self.outputs(level4, data_set, "--compute", "bf16")
        for a, b in zip(said, stays, strict=True):
            np.testing.assert_array_equal(a, b, "what the file lets be rounded to 8 bits is not rounded otherwise")

    def test_int8_is_what_accuracy_level_4_says(self):
        """To the bit, of the same file without such levels."""
        (exact, _), (level4, _) = self.accuracies("llama-genai-int4")
        data_set = data_sets("llama-genai-int4")[0]
        for tp in (1, 2):
            said, _ = self.outputs(level4, data_set, "--tp", tp)
            asked, manifest = self.outputs(exact, data_set, "--tp", tp, "--compute", "int8")
            own, _ = self.outputs(exact, data_set, "--tp", tp)
            self.assertEqual(manifest["tolerance"], "quant")
            for a, b in zip(said, asked, strict=True):
                np.testing.assert_array_equal(a, b)
            self.assertTrue(any(np.any(a != b) for a, b in zip(own, asked, strict=True)))

    @unittest.skipUnless(has_onnxruntime(), "onnxruntime is not installed")
    def test_int8_of_weights_with_a_scale_for_each_column(self):
        """DequantizeLinear of int8, before a product, in place of MatMulNBits; blocks of 32 and whole columns. The other engine
        rounds activations itself where it may optimise."""
        import onnxruntime

        as_it_is = onnxruntime.SessionOptions()
        as_it_is.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL

        rng = np.random.default_rng(1)
        for block, k in ((32, 128), (0, 192)):
            weights = rng.integers(-127, 128, (k, 80)).astype(np.int8)
            scales = rng.uniform(1e-3, 1e-2, (k // block, 80) if block else 80).astype(np.float32)
            attributes = {"axis": 0, "block_size": block} if block else {"axis": 1}
            graph = helper.make_graph(
                [helper.make_node("DequantizeLinear", ["w", "s"], ["n"], **attributes), helper.make_node("MatMul", ["x", "n"], ["y"])],
                "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", k])],
                [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 80])],
                [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(scales, "s")])  # fmt: skip
            model = self.folder / "model.onnx"
            onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), model)
            x = rng.standard_normal((7, k)).astype(np.float32)
            np.savez(self.folder / "in.npz", x=x)
            (expected,) = onnxruntime.InferenceSession(str(model), as_it_is).run(None, {"x": x})
            for tp in (1, 2):
                (found,), _ = self.outputs(model, self.folder / "in.npz", "--tp", tp, "--compute", "int8")
                error = np.max(np.abs(found - expected)) / np.max(np.abs(expected))
                self.assertLess(error, 2e-2)
                self.assertGreater(error, 1e-4, "nothing was rounded")

    @unittest.skipUnless(has_onnxruntime(), "onnxruntime is not installed")
    def test_verify_tells_the_error(self):
        done = program("shardc", "verify", model_file("bert-ts-op17"), "--tp", 2, "--compute", "bf16", "--json",
                       "--against", "onnxruntime", "--python", sys.executable)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        for request in json.loads(done.stdout)["requests"]:
            (own,), (other,) = request["own_types"]["outputs"], request["onnxruntime"]["outputs"]
            self.assertGreater(own["largest_error"], 1e-4)
            self.assertAlmostEqual(own["largest_error"], other["largest_error"], delta=1e-5)

    def test_explain_tells_how_many(self):
        said = self.run_ok("shardc", model_file("bert-ts-op17"), "--tp", 2, "--compute", "bf16", "--explain")
        self.assertRegex(said, r"--compute bf16: \d+ products with constant weights round both operands to bf16")


if __name__ == "__main__":
    unittest.main()
