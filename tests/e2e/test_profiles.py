"""A model with a branch on an input is one artifact with a program for each value of it."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.support import EndToEnd

SIZE = 32


def weight(seed, *dims):
    return np.random.default_rng(seed).integers(-2, 3, dims).astype(np.float32)


UP, DOWN = weight(1, SIZE, 4 * SIZE), weight(2, 4 * SIZE, SIZE)


def model():
    """y = relu(x up) down; with the cache, past in front of it, and doubled."""

    def layers(branch, *tail):
        nodes = [
            helper.make_node("MatMul", ["x", "up"], ["u"], name=f"{branch}/up"),
            helper.make_node("Relu", ["u"], ["a"], name=f"{branch}/relu"),
            helper.make_node("MatMul", ["a", "down"], ["d"], name=f"{branch}/down"),
            *tail,
        ]
        out = helper.make_tensor_value_info(f"{branch}_y", TensorProto.FLOAT, None)
        return helper.make_graph(nodes, branch, [], [out])

    cached = layers(
        "then",
        helper.make_node("Concat", ["past", "d"], ["all"], axis=0),
        helper.make_node("Add", ["all", "all"], ["then_y"]),
    )
    plain = layers("else", helper.make_node("Identity", ["d"], ["else_y"]))
    graph = helper.make_graph(
        [helper.make_node("If", ["use_cache"], ["y"], then_branch=cached, else_branch=plain)],
        "merged",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", SIZE]),
            helper.make_tensor_value_info("past", TensorProto.FLOAT, ["n", SIZE]),
            helper.make_tensor_value_info("use_cache", TensorProto.BOOL, [1]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["m", SIZE])],
        [numpy_helper.from_array(UP, "up"), numpy_helper.from_array(DOWN, "down")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)


class Profiles(EndToEnd):
    def data(self, name, rows, past_rows, use_cache):
        x, past = weight(rows, rows, SIZE), weight(7, past_rows, SIZE)
        y = np.maximum(x @ UP, 0) @ DOWN
        y = 2 * np.concatenate([past, y]) if use_cache else y
        folder = self.folder / name
        folder.mkdir()
        for i, tensor in enumerate([x, past, np.array([use_cache])]):
            onnx.save_tensor(numpy_helper.from_array(tensor, ["x", "past", "use_cache"][i]), folder / f"input_{i}.pb")
        onnx.save_tensor(numpy_helper.from_array(y, "y"), folder / "output_0.pb")
        return folder

    def test_each_value_of_the_input(self):
        onnx.save(model(), self.folder / "model.onnx")
        # Without the cache `past` has any size: only the other branch ties it to x.
        data = [self.data("plain", 3, 1, False), self.data("cached", 3, 3, True)]
        for tp in (1, 2, 3):
            for flags in ([], ["--weights", "copy"]):
                with self.subTest(tp=tp, flags=flags):
                    artifact = self.compile(self.folder / "model.onnx", tp, *flags)
                    for data_set in data + data[::-1]:
                        self.execute(artifact, data_set)

    def test_plan_names_the_profile(self):
        onnx.save(model(), self.folder / "model.onnx")
        plan = self.explain(self.folder / "model.onnx", 2)
        collectives = [(entry["kind"], entry["profile"]) for entry in plan["collectives"]]
        self.assertEqual(collectives, [("all_reduce", "use_cache=false"), ("all_reduce", "use_cache=true")])
        # Both programs hold the same halves.
        self.assertEqual(plan["ranks"][0]["weight_bytes"], (UP.nbytes + DOWN.nbytes) // 2)
