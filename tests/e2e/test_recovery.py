"""What exporters spell out is recognised, and computes what it computed as they spelled it.

Each model is compiled with and without recovery; both must give the same numbers, and the plan must name the
structures that the architecture has. The models of the corpus take part where it lies beside the clone.
"""

import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.support import MODELS, ROOT, EndToEnd, read_outputs

CORPUS = ROOT.parent / "shared" / "corpus"


def encoder(layers, norms, gelus=None):
    return {"Attention": layers, "Gelu": gelus or layers, "LayerNormalization": norms}


def mixture(layers, norms=2, **more):
    found = llama(layers, norms, MixtureOfExperts=layers) | more
    return {name: count for name, count in found.items() if name != "Swish" or more}


def llama(layers, norms=2, **more):
    return {
        "Attention": layers,
        "RMSNormalization": norms * layers + 1,
        "RotaryEmbedding": 2 * layers,
        "Swish": layers,
    } | more


STRUCTURES = {
    "bert-ts-op17": encoder(2, 5),
    "gpt2-dynamo-op20": encoder(3, 7),
    "llama-dynamo-op18": llama(4),
    "vit-ts-static-op17": encoder(2, 5),
}
CORPUS_STRUCTURES = {
    "bert-dynamo-op18": encoder(2, 6, gelus=3),
    "bert-dynamo-unoptimised": encoder(1, 4, gelus=2),
    "bert-ts-op11": encoder(2, 5),
    "clip-dynamo-op20": {"Attention": 4, "LayerNormalization": 11, "Swish": 4},
    "distilbert-ts-op14": encoder(3, 7),
    "encoder-ts-op17-functions": encoder(2, 5),
    "deepseekv3-dynamo-op20": mixture(3, norms=4, MixtureOfExperts=2, Swish=3),
    "deepseekv3-optimum-kv": mixture(3, norms=4, MixtureOfExperts=2, Swish=3),
    "gemma2-optimum-kv": {"Attention": 2, "Gelu": 2, "RMSNormalization": 9, "RotaryEmbedding": 4},
    "gemma3-dynamo-op20": {"Attention": 3, "Gelu": 3, "RMSNormalization": 19, "RotaryEmbedding": 6},
    "gpt2-optimum-kv": encoder(3, 7),
    "gpt2-ort-fused": encoder(3, 7),
    "gptoss-dynamo-op20": mixture(2),
    "gptoss-genai-fp32": mixture(2),
    "gptoss-optimum-kv": mixture(2),
    "llama-dynamo-bf16-kv": llama(2),
    "llama-dynamo-fp16": llama(2),
    "llama-dynamo-static": llama(2),
    "llama-hf5-kv": llama(2),
    "llama-optimum-kv": llama(2),
    "mistral-optimum-kv": llama(2),
    "mixtral-dynamo-op20": mixture(2),
    "mixtral-hf5-kv": mixture(2),
    "modernbert-dynamo-op20": encoder(3, 8, gelus=4) | {"RotaryEmbedding": 6},
    "opt-optimum-kv": {"Attention": 2, "LayerNormalization": 5},
    "phi3-optimum-kv": llama(2),
    "qwen2-optimum-kv": llama(2),
    "qwen3-dynamo-op21": llama(2, norms=4),
    "qwen3moe-dynamo-op21": mixture(2, norms=4),
    "t5-optimum-encoder": {"Attention": 2, "Gelu": 2, "RMSNormalization": 5},
    "whisper-dynamo-op20": encoder(6, 12),
    "whisper-optimum-encoder": encoder(2, 5, gelus=4),
}
# Rounding of the narrowest type, relative to the largest value of an output.
TOLERANCE = {"bf16": 2e-2, "fp16": 2e-3}


def masked_attention(mask):
    """As GPT-2 was exported: the part of a stored mask that the sizes ask for."""
    node, value = helper.make_node, helper.make_tensor_value_info
    nodes = [
        node("Shape", ["q"], ["size"], start=2, end=3),
        node("Slice", ["mask", "zero", "size", "two"], ["rows"]),
        node("Slice", ["rows", "zero", "size", "three"], ["part"]),
        node("Cast", ["part"], ["shown"], to=TensorProto.BOOL),
        node("Transpose", ["k"], ["keys"], perm=[0, 1, 3, 2]),
        node("MatMul", ["q", "keys"], ["scores"]),
        node("Where", ["shown", "scores", "low"], ["masked"]),
        node("Softmax", ["masked"], ["weights"], axis=-1),
        node("MatMul", ["weights", "v"], ["y"]),
    ]
    inputs = [value(name, TensorProto.FLOAT, [1, 2, "seq", 4]) for name in "qkv"]
    data = {"mask": mask.reshape(1, 1, *mask.shape), "low": np.float32(np.finfo(np.float32).min)}
    data |= {"zero": np.array([0]), "two": np.array([2]), "three": np.array([3])}
    weights = [numpy_helper.from_array(np.asarray(array), name) for name, array in data.items()]
    output = value("y", TensorProto.FLOAT, [1, 2, "seq", 4])
    graph = helper.make_graph(nodes, "masked", inputs, [output], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


class Recovery(EndToEnd):
    def check(self, model, structures, ways):
        plan = self.explain(model / "model.onnx", 2)
        self.assertEqual(plan["structures"], structures)
        plain = self.explain(model / "model.onnx", 2, "--no-recovery")
        # No collective more, unless it splits weights that every rank held whole.
        held = [sum(weight["bytes"] for weight in report["whole_weights"]) for report in (plan, plain)]
        self.assertLessEqual(held[0], held[1])
        if held[0] == held[1]:
            self.assertLessEqual(len(plan["collectives"]), len(plain["collectives"]))
        tolerance = next((value for name, value in TOLERANCE.items() if name in model.name), 1e-5)
        data_sets = sorted(model.glob("test_data_set_*"))
        self.assertGreater(len(data_sets), 0)
        for tp in ways:
            fused = self.compile(model / "model.onnx", tp, to="fused.shard")
            spelled = self.compile(model / "model.onnx", tp, "--no-recovery", to="spelled.shard")
            for data_set in data_sets:
                found, expected = self.execute(fused, data_set), self.execute(spelled, data_set)
                for a, b in zip(found, expected, strict=True):
                    self.assertEqual((a.shape, a.dtype), (b.shape, b.dtype))
                    a, b = a.astype(np.float64), b.astype(np.float64)
                    np.testing.assert_array_equal(np.isfinite(a), np.isfinite(b))
                    limit = 1e-6 + tolerance * np.abs(b).max(initial=0)
                    self.assertLessEqual(np.abs(a - b).max(initial=0), limit)

    def test_models(self):
        for name, structures in STRUCTURES.items():
            with self.subTest(model=name):
                self.check(MODELS / name, structures, ways=(1, 2))

    @unittest.skipUnless(CORPUS.exists(), "no corpus beside the clone")
    def test_corpus(self):
        for name, structures in CORPUS_STRUCTURES.items():
            with self.subTest(model=name):
                self.check(CORPUS / name, structures, ways=(2,))

    def test_stored_triangle(self):
        """A mask that is a weight is causality if its data is: one element decides."""
        triangle = np.tril(np.ones((32, 32), np.uint8))
        other = triangle.copy()
        other[30, 31] = 1
        for mask, is_causal in ((triangle, True), (other, False)):
            model = self.folder / "model.onnx"
            onnx.save(masked_attention(mask), model)
            imported = self.run_ok("shardc", model, "--to=imported")
            self.assertEqual("is_causal = 1" in imported, is_causal)
            size = 24
            q, k, v = np.random.default_rng(3).standard_normal((3, 1, 2, size, 4)).astype(np.float32)
            scores = np.where(mask[:size, :size], q @ k.swapaxes(2, 3), np.finfo(np.float32).min)
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            expected = weights / weights.sum(-1, keepdims=True) @ v
            np.savez(self.folder / "inputs.npz", q=q, k=k, v=v)
            artifact, outputs = self.compile(model, 2), self.folder / "outputs"
            self.run_ok("shardrun", artifact, "--inputs", self.folder / "inputs.npz", "--outputs", outputs)
            np.testing.assert_allclose(read_outputs(outputs)[0], expected, rtol=1e-5, atol=1e-5)

    def test_without_recovery_nothing_is_recognised(self):
        plan = self.explain(MODELS / "llama-dynamo-op18" / "model.onnx", 2, "--no-recovery")
        self.assertEqual(plan["structures"], {})


if __name__ == "__main__":
    unittest.main()
