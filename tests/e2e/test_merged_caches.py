"""A merged decoder: the prompt's branch sets the caches, a step's appends to one and reads those of the encoder."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.support import EndToEnd, program, read_outputs

HEADS, SIZE = 4, 8
HIDDEN = HEADS * SIZE
RNG = np.random.default_rng(11)
WEIGHTS = {name: (RNG.standard_normal((HIDDEN, HIDDEN)) / 6).astype(np.float32) for name in ("q", "k", "ck", "cv", "o", "co")}
INPUTS = ("x", "encoder", "past.self", "past.k", "past.v", "use_cache")


def branch(name, is_step):
    nodes = []

    def node(op, inputs, output, **attributes):
        nodes.append(helper.make_node(op, inputs, [f"{name}/{output}"], name=f"{name}/{output}", **attributes))
        return f"{name}/{output}"

    def heads(x, weight):
        split = node("Reshape", [node("MatMul", [x, weight], f"{weight}.flat"), "split"], f"{weight}.split")
        return node("Transpose", [split], f"{weight}.heads", perm=[0, 2, 1, 3])

    def attention(query, keys, values, weight):
        scores = node("MatMul", [query, node("Transpose", [keys], f"{weight}.t", perm=[0, 1, 3, 2])], f"{weight}.scores")
        mixed = node("MatMul", [node("Softmax", [scores], f"{weight}.p", axis=-1), values], f"{weight}.mixed")
        rows = node("Transpose", [mixed], f"{weight}.rows", perm=[0, 2, 1, 3])
        return node("MatMul", [node("Reshape", [rows, "merged"], f"{weight}.all"), weight], f"{weight}.out")

    query, new = heads("x", "q"), heads("x", "k")
    self_keys = node("Concat", ["past.self", new], "present.self", axis=2) if is_step else new
    keys, values = ("past.k", "past.v") if is_step else (heads("encoder", "ck"), heads("encoder", "cv"))
    y = node(
        "Add", [attention(query, self_keys, self_keys, "o"), attention(query, keys, values, "co")], "y"
    )
    presents = [keys, values]
    if is_step:
        empty = numpy_helper.from_array(np.zeros((0, HEADS, 1, SIZE), np.float32))
        presents = [node("Constant", [], f"none{i}", value=empty) for i in range(2)]
    outputs = [helper.make_tensor_value_info(v, TensorProto.FLOAT, None) for v in (y, self_keys, *presents)]
    return helper.make_graph(nodes, name, [], outputs)


def model():
    def info(name, *dims):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)

    outputs = ["y", "present.self", "present.k", "present.v"]
    choose = helper.make_node(
        "If", ["use_cache"], outputs, then_branch=branch("step", True), else_branch=branch("prompt", False)
    )
    tables = WEIGHTS | {"split": np.array([0, 0, HEADS, SIZE]), "merged": np.array([0, 0, HIDDEN])}
    graph = helper.make_graph(
        [choose],
        "merged",
        [
            info("x", "b", "s", HIDDEN),
            info("encoder", "b", "e", HIDDEN),
            info("past.self", "b", HEADS, "p", SIZE),
            info("past.k", "b", HEADS, "e", SIZE),
            info("past.v", "b", HEADS, "e", SIZE),
            helper.make_tensor_value_info("use_cache", TensorProto.BOOL, [1]),
        ],
        [info(name, *(f"{name}{d}" for d in range(3 if name == "y" else 4))) for name in outputs],
        [numpy_helper.from_array(value, name) for name, value in tables.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


def heads(x, weight):
    return (x @ WEIGHTS[weight]).reshape(*x.shape[:2], HEADS, SIZE).transpose(0, 2, 1, 3)


def attention(query, keys, values, weight):
    scores = np.exp(query @ keys.transpose(0, 1, 3, 2))
    mixed = scores / scores.sum(-1, keepdims=True) @ values
    return mixed.transpose(0, 2, 1, 3).reshape(query.shape[0], -1, HIDDEN) @ WEIGHTS[weight]


class MergedCaches(EndToEnd):
    def setUp(self):
        super().setUp()
        self.file = self.folder / "model.onnx"
        onnx.save(model(), self.file)
        rng = np.random.default_rng(2)
        self.chunks = [rng.standard_normal((2, n, HIDDEN)).astype(np.float32) for n in (3, 1, 2, 1)]
        self.encoder = rng.standard_normal((2, 9, HIDDEN)).astype(np.float32)

    def request(self, number, chunk, use_cache):
        """Without past, which is the state's."""
        folder = self.folder / str(number)
        folder.mkdir()
        for i, tensor in {0: chunk, 1: self.encoder, 5: np.array([use_cache])}.items():
            onnx.save_tensor(numpy_helper.from_array(tensor, INPUTS[i]), folder / f"input_{i}.pb")
        return folder

    def test_steps_go_on_from_the_prompt(self):
        """The encoder is longer than the capacity, which is that of the cache that grows."""
        requests = [self.request(i, chunk, i > 0) for i, chunk in enumerate(self.chunks)]
        seen, expected = np.zeros((2, HEADS, 0, SIZE), np.float32), []
        for chunk in self.chunks:
            seen = np.concatenate([seen, heads(chunk, "k")], axis=2)
            query, cross = heads(chunk, "q"), (heads(self.encoder, "ck"), heads(self.encoder, "cv"))
            expected.append(attention(query, seen, seen, "o") + attention(query, *cross, "co"))
        for number, plan in enumerate((["1"], ["2"], ["4"], ["2", "--sp"], ["2", "--cp", "2"], ["4", "--cp", "2", "--sp"])):
            with self.subTest(plan):
                artifact, out = self.compile(self.file, *plan), self.folder / f"out{number}"
                self.run_ok("shardrun", artifact, "--inputs", *requests, "--cache", 7, "--outputs", out, "--repeat", 2)
                for i, y in enumerate(expected):
                    np.testing.assert_allclose(read_outputs(out / str(i))[0], y, rtol=1e-4, atol=1e-5)

    def test_a_step_without_a_prompt_says_so(self):
        artifact = self.compile(self.file, 2)
        done = program("shardrun", artifact, "--inputs", self.request(0, self.chunks[1], True), "--cache", 7)
        self.assertEqual(done.returncode, 2)
        self.assertIn("nothing yet for input 'past.k'; run the branch of the model that computes it first", done.stderr)
