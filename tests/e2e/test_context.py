"""Context parallelism: each way that attention sees all positions gives what one rank gives, at any length."""

import itertools

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.e2e.plans import PlanTest
from tests.support import program, read_outputs

MODES = ("ring", "ulysses", "gather")
SIZE = 4  # of a head
WIDTH = 24


def attention_model(heads=8, kv_heads=4, mask=None, bias=True, **attributes):
    """Projections with biases, attention in ONNX's own op, and a residual, over [batch, seq, WIDTH]."""
    random = np.random.default_rng(7)
    weights, nodes = {}, []

    def node(op, inputs, output, **others):
        nodes.append(helper.make_node(op, inputs, [output], name=output, **others))
        return output

    def linear(x, name, width, to):
        weights[name] = (random.normal(size=(width, to)) / np.sqrt(width)).astype(np.float32)
        y = node("MatMul", [x, name], name + ".product")
        if bias:
            weights[name + ".bias"] = random.normal(size=to).astype(np.float32)
            y = node("Add", [y, name + ".bias"], name + ".sum")
        return y

    q = linear("x", "q", WIDTH, heads * SIZE)
    k, v = (linear("x", name, WIDTH, kv_heads * SIZE) for name in "kv")
    masks = [mask] if mask else []
    mixed = node(
        "Attention", [q, k, v, *masks], "attention", q_num_heads=heads, kv_num_heads=kv_heads, **attributes
    )  # fmt: skip
    node("Add", ["x", linear(mixed, "o", heads * SIZE, WIDTH)], "y")
    value = lambda name, dims, kind=TensorProto.FLOAT: helper.make_tensor_value_info(name, kind, dims)
    inputs = [value("x", ["batch", "seq", WIDTH])]
    if mask:
        kind = TensorProto.BOOL if mask == "shown" else TensorProto.FLOAT
        inputs.append(value(mask, ["batch", 1, "seq", "seq"], kind))
    tensors = [numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "context", inputs, [value("y", ["batch", "seq", WIDTH])], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11)


def inputs_of(length, mask):
    random = np.random.default_rng(length)
    feeds = {"x": random.normal(size=(2, length, WIDTH)).astype(np.float32)}
    if mask:
        shown = random.random((2, 1, length, length)) < 0.6
        shown |= np.eye(length, dtype=bool)
        feeds[mask] = shown if mask == "shown" else np.where(shown, random.normal(size=shown.shape), -np.inf)
        feeds[mask] = feeds[mask].astype(bool if mask == "shown" else np.float32)
    return feeds


class Context(PlanTest):
    def outputs(self, artifact, feeds):
        np.savez(self.folder / "x.npz", **feeds)
        out = self.folder / "out"
        self.run_ok(
            "shardrun", artifact, "--inputs", self.folder / "x.npz", "--outputs", out, "--check-replicas"
        )
        return read_outputs(out)

    def check(self, lengths=(1, 3, 8, 37), plans=("--cp 2", "--cp 3", "--cp 4", "--cp 2 --tp 2"), modes=MODES, **kind):
        model, mask = attention_model(**kind), kind.get("mask")
        file = self.folder / "model.onnx"
        onnx.save(model, file)
        session = ReferenceEvaluator(model)
        expected = {length: session.run(None, inputs_of(length, mask)) for length in lengths}
        for plan, mode in itertools.product(plans, modes):
            artifact = self.artifact(file, plan, "--cp-mode", mode)
            for length in lengths:
                with self.subTest(plan=plan, mode=mode, length=length, **kind):
                    found = self.outputs(artifact, inputs_of(length, mask))
                    np.testing.assert_allclose(found[0], expected[length][0], rtol=1e-4, atol=1e-4)

    def test_causal(self):
        """Uneven lengths, and fewer positions than ranks."""
        self.check(is_causal=1)

    def test_whole_sequence(self):
        self.check(heads=4, kv_heads=4, bias=False)

    def test_soft_cap_and_scale(self):
        self.check(plans=("--cp 3",), is_causal=1, softcap=1.5, scale=0.3)

    def test_masks(self):
        """A mask has all keys; each part of them is added its columns."""
        for mask in ("shown", "added"):
            self.check(plans=("--cp 2", "--cp 3"), lengths=(3, 20), mask=mask)
            self.check(plans=("--cp 2",), lengths=(20,), mask=mask, is_causal=1)

    def test_few_key_heads(self):
        """More ranks than key heads: several of them hold the same keys."""
        self.check(heads=8, kv_heads=2, plans=("--cp 4", "--cp 2 --tp 2", "--cp 4 --tp 2"), is_causal=1)

    def test_heads_that_do_not_divide(self):
        """Ulysses says where it cannot serve, and the plan works all the same."""
        file = self.folder / "model.onnx"
        model = attention_model(heads=6, kv_heads=3)
        onnx.save(model, file)
        target = self.folder / "context.shard"
        done = program("shardc", file, "--cp", 4, "--cp-mode", "ulysses", "-o", target)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(
            done.stderr,
            r"warning: attention: --cp-mode ulysses: 6 query heads and 3 key heads do not divide over 4 ranks: "
            r"all keys are gathered; use --cp-mode ring",
        )
        feeds = inputs_of(9, None)
        expected = ReferenceEvaluator(model).run(None, feeds)
        np.testing.assert_allclose(self.outputs(target, feeds)[0], expected[0], rtol=1e-4, atol=1e-4)

    def test_empty_sequence(self):
        file = self.folder / "model.onnx"
        onnx.save(attention_model(is_causal=1), file)
        for mode in MODES:
            found = self.outputs(self.artifact(file, f"--cp 3 --cp-mode {mode}"), inputs_of(0, None))
            self.assertEqual(found[0].shape, (2, 0, WIDTH))

    def test_what_each_mode_sends(self):
        """Of 1024 positions: all keys and values to all; around the ring as much; or each rank's heads alone."""
        file = self.folder / "model.onnx"
        onnx.save(attention_model(heads=4, kv_heads=4), file)
        kinds, wire = {}, {}
        for mode in MODES:
            report = self.explain(file, 1, "--cp", 4, "--cp-mode", mode, "--dims", "batch=1,seq=1024")
            kinds[mode] = sorted(entry["kind"] for entry in report["collectives"])
            wire[mode] = sum(entry["wire_bytes"] for entry in report["collectives"])
        tensor = 1024 * 4 * SIZE * 4  # bytes of all keys
        self.assertEqual(kinds["gather"], ["all_gather"] * 2)
        self.assertEqual(kinds["ring"], ["ring"] * 2)
        self.assertEqual(kinds["ulysses"], ["all_to_all"] * 4)
        self.assertEqual(wire, {"gather": 6 * tensor, "ring": 6 * tensor, "ulysses": 3 * tensor})

    def test_models(self):
        plans = ("--cp 2", "--cp 4", "--cp 2 --tp 2 --sp --pp 2")
        self.check_models(
            ("llama-dynamo-op18", "bert-ts-op17", "gpt2-dynamo-op20"),
            [f"{plan} --cp-mode {mode}" for plan, mode in itertools.product(plans, MODES)],
        )

    def test_caches(self):
        """A prompt and steps of one token."""
        self.check_prompt_and_steps([f"--cp 2 --cp-mode {mode}" for mode in MODES], batch=2)
