"""ONNX's multi-device annotations: written of a plan, and read as one."""

import json
import re

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.e2e.caches import decoder
from tests.support import EndToEnd, model_file, program

PLANS = (
    ("llama-dynamo-op18", ["--tp", 2]),
    ("llama-dynamo-op18", ["--tp", 3, "--pp", 2, "--sp"]),
    ("llama-dynamo-op18", ["--tp", 2, "--pp", 3]),
    ("llama-dynamo-op18", ["--cp", 2, "--tp", 2]),
    ("bert-ts-op17", ["--tp", 4, "--sp"]),
    ("gpt2-dynamo-op20", ["--tp", 2, "--pp", 2]),
    ("gpt2-dynamo-op20", ["--fsdp", 2, "--tp", 2]),
    ("llama-genai-int4", ["--tp", 2]),
    ("vit-ts-static-op17", ["--tp", 3]),
)


def spec(tensor, dims, devices, groups=None):
    """`dims`: by axis, the number of shards or [(size, shards), ...]."""
    made = onnx.ShardingSpecProto(tensor_name=tensor, device=devices)
    for key, members in (groups or {}).items():
        made.index_to_device_group_map.add(key=key).value.extend(members)
    for axis, parts in dims.items():
        dim = made.sharded_dim.add(axis=axis)
        for size, shards in [(None, parts)] if isinstance(parts, int) else parts:
            simple = dim.simple_sharding.add(num_shards=shards)
            if size is not None:
                simple.dim_value = size
    return made


def annotate(model, node, *specs, stage=None, configuration=None):
    found = next(n for n in model.graph.node if n.name == node)
    made = found.device_configurations.add(configuration_id=configuration or model.configuration[0].name)
    made.sharding_spec.extend(specs)
    if stage is not None:
        made.pipeline_stage = stage


def mlp(devices=2, name="two devices", layers=1):
    """x [n, 8] through MatMul, Relu, MatMul; or several such layers."""
    rng = np.random.default_rng(0)
    nodes, weights, x = [], [], "x"
    for layer in range(layers):
        end = str(layer) if layers > 1 else ""
        for key, shape in (("up", (8, 16)), ("down", (16, 8))):
            weights.append(numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), f"w_{key}{end}"))
        nodes += [helper.make_node("MatMul", [x, f"w_up{end}"], [f"u{end}"], name=f"up{end}"),
                  helper.make_node("Relu", [f"u{end}"], [f"a{end}"], name=f"relu{end}"),
                  helper.make_node("MatMul", [f"a{end}", f"w_down{end}"], [f"y{end}"], name=f"down{end}")]
        x = f"y{end}"
    graph = helper.make_graph(nodes, "mlp", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 8])],
                              [helper.make_tensor_value_info(x, TensorProto.FLOAT, ["n", 8])], weights)
    model = helper.make_model(graph, ir_version=11, opset_imports=[helper.make_opsetid("", 21)])
    if devices:
        model.configuration.add(name=name, num_devices=devices)
    return model


class Annotations(EndToEnd):
    def save(self, model, name="annotated.onnx"):
        onnx.save(model, self.folder / name)
        return self.folder / name

    def emit(self, model, *flags, to="emitted.onnx"):
        self.run_ok("shardc", model, *flags, "--emit", "annotated-onnx", "-o", self.folder / to)
        return self.folder / to

    def partitioned(self, model, *flags):
        return self.run_ok("shardc", model, *flags, "--to", "partitioned")

    def splits(self, model, *flags):
        """By node: what splits it."""
        file = self.folder / "plan.json"
        self.run_ok("shardc", model, *flags, "--save-plan", file)
        return {op["node"]: sorted((s["of"], s["dim"], tuple(s["axes"])) for s in op.get("splits", []))
                for op in json.loads(file.read_text())["programs"]["main"]}

    def refused(self, model, *flags, words, status=2):
        done = program("shardc", model, *flags, "-o", self.folder / "out.shard")
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertEqual(done.stderr.count("error: "), 1, done.stderr)
        self.assertIn(words, done.stderr)
        self.assertFalse((self.folder / "out.shard").exists())

    #  Written

    def test_the_graph_stays_and_onnx_accepts_it(self):
        for name, flags in PLANS:
            with self.subTest(name=name, flags=flags):
                file = self.emit(model_file(name), *flags, to=f"{name}.onnx")
                if name != "llama-genai-int4":  # has operators in ONNX's domain that ONNX lacks
                    onnx.checker.check_model(str(file), full_check=True)
                made, old = (onnx.load(f, load_external_data=False) for f in (file, model_file(name)))
                self.assertEqual(len(made.configuration), 1)
                self.assertGreaterEqual(made.ir_version, 11)
                self.assertTrue(any(node.device_configurations for node in made.graph.node))
                del made.configuration[:]
                made.ir_version = old.ir_version
                for node in made.graph.node:
                    del node.device_configurations[:]
                self.assertEqual(made, old)

    def test_every_device_of_a_stage_has_a_shard(self):
        file = self.emit(model_file("llama-dynamo-op18"), "--tp", 2, "--pp", 2)
        model = onnx.load(file, load_external_data=False)
        self.assertEqual([(c.name, c.num_devices) for c in model.configuration], [("pp=2,tp=2", 4)])
        stages = set()
        for node in model.graph.node:
            for said in node.device_configurations:
                stages.add(said.pipeline_stage if said.HasField("pipeline_stage") else None)
                for one in said.sharding_spec:
                    self.assertIn(one.tensor_name, [*node.input, *node.output])
                    groups = {g.key: list(g.value) for g in one.index_to_device_group_map}
                    devices = sorted(d for key in one.device for d in groups.get(key, [key]))
                    shards = np.prod([s.num_shards for d in one.sharded_dim for s in d.simple_sharding], dtype=int)
                    self.assertEqual(len(one.device), shards)
                    if said.HasField("pipeline_stage"):
                        self.assertEqual(devices, [2 * said.pipeline_stage, 2 * said.pipeline_stage + 1])
        self.assertLessEqual({0, 1}, stages)

    def test_heads_and_columns_are_said(self):
        model = onnx.load(self.emit(self.save(mlp(devices=0)), "--tp", 2))
        said = {node.name: {s.tensor_name: s for s in node.device_configurations[0].sharding_spec} for node in model.graph.node}
        self.assertEqual(said["up"]["w_up"], spec("w_up", {1: [(16, 2)]}, [0, 1]))
        self.assertEqual(said["down"]["w_down"], spec("w_down", {0: [(16, 2)]}, [0, 1]))
        self.assertEqual(said["down"]["y"], spec("y", {}, [-1], {-1: [0, 1]}))

    def test_files_of_weights_go_along(self):
        file = self.emit(model_file("llama-genai-int4"), "--tp", 2, to="copy/model.onnx") if (
            (self.folder / "copy").mkdir() is None) else None
        self.assertEqual((self.folder / "copy/model.onnx.data").read_bytes(),
                         (model_file("llama-genai-int4").parent / "model.onnx.data").read_bytes())
        self.run_ok("shardc", file, "-o", self.folder / "again.shard")
        (self.folder / "copy/model.onnx.data").write_bytes(b"mine")
        done = program("shardc", model_file("llama-genai-int4"), "--tp", 2, "--emit", "annotated-onnx", "-o", file)
        self.assertEqual(done.returncode, 4)
        self.assertIn("another file is there", done.stderr)
        self.assertEqual((self.folder / "copy/model.onnx.data").read_bytes(), b"mine")

    #  Read

    def test_what_is_written_is_the_same_plan(self):
        for name, flags in PLANS:
            with self.subTest(name=name, flags=flags):
                file = self.emit(model_file(name), *flags, to=f"{name}.onnx")
                (self.folder / "same").mkdir(exist_ok=True)
                expected = self.partitioned(model_file(name), *flags)
                for given in ([], flags):
                    found = self.partitioned(file, *given)
                    self.assertEqual(self.neutral(found), self.neutral(expected))

    def test_what_the_file_has_no_tensor_for_is_searched_again(self):
        """A transposition that an attention keeps inside of its node: the same but for that."""
        model, flags = model_file("bert-ts-op17"), ["--cp", 2, "--tp", 2]
        file = self.emit(model, *flags)
        before, after = self.splits(model, *flags), self.splits(file)
        differs = {node for node in before.keys() | after.keys() if before.get(node) != after.get(node)}
        self.assertLessEqual(differs, {f"/model/bert/encoder/layer.{n}/attention/self/MatMul_1" for n in (0, 1)})
        said = self.run_ok("shardc", "verify", file, "--dims", "batch=2,sequence=7")
        self.assertIn("computes what one rank computes", said)

    def neutral(self, text):
        """Without names of files and places in them."""
        return re.sub(r'onnx\.model_f\w+ = "[^"]*"|fingerprint = "[^"]*"|file = "[^"]*"|offset = \d+|loc\("[^"]*\.onnx"\)', "", text)

    def test_decoders_round_trip(self):
        plain = self.save(decoder(), "plain.onnx")
        for flags in (["--tp", 2], ["--tp", 2, "--sp"], ["--tp", 2, "--pp", 2]):
            with self.subTest(flags=flags):
                file = self.emit(plain, *flags)
                self.assertEqual(self.neutral(self.partitioned(file)), self.neutral(self.partitioned(plain, *flags)))

    def test_an_edit_is_obeyed(self):
        file = self.emit(model_file("llama-dynamo-op18"), "--tp", 2)
        before = self.splits(file)
        model = onnx.load(file)
        head = next(node for node in model.graph.node if node.name == "node_linear_9")
        for one in head.device_configurations[0].sharding_spec:
            del one.sharded_dim[:], one.device[:], one.index_to_device_group_map[:]
            one.device.append(-1)
            one.index_to_device_group_map.add(key=-1).value.extend([0, 1])
        after = self.splits(self.save(model))
        self.assertIn("node_linear_9", before)
        self.assertEqual({k: v for k, v in before.items() if k != "node_linear_9" and k in after}, after)
        self.assertNotIn("node_linear_9", after)
        said = self.run_ok("shardc", "verify", self.folder / "annotated.onnx", "--dims", "batch=2,sequence=7")
        self.assertIn("computes what one rank computes", said)

    def test_by_hand(self):
        model = mlp()
        annotate(model, "up", spec("w_up", {0: 2}, [0, 1]))
        self.assertEqual(self.splits(self.save(model))["up"], [("operand 0", 1, ("tp",))])
        model = mlp(devices=4, name="four")
        annotate(model, "up", spec("w_up", {-1: 2}, [-1, -2], {-1: [0, 1], -2: [2, 3]}))
        self.assertEqual(self.splits(self.save(model))["up"], [("operand 1", 1, ("tp:(1)2",))])
        self.assertEqual(self.splits(self.save(model), "--cp", 2, "--tp", 2)["up"], [("operand 1", 1, ("cp",))])

    def test_stages_by_hand(self):
        for first in range(1, 4):
            model = mlp(devices=2, layers=4)
            for layer in range(4):
                annotate(model, f"up{layer}", stage=3 + int(layer >= first))
            plan = self.folder / "plan.json"
            text = self.run_ok("shardc", self.save(model), "--to", "staged", "--save-plan", plan)
            self.assertEqual(self.run_ok("shardc", self.save(model), "--annotations", "none", "--load-plan", plan, "--to", "staged"), text)
            stages = text.split("func.func @stage")[1:]
            self.assertEqual([s.count("onnx.MatMul") for s in stages], [2 * first, 8 - 2 * first])

    def test_the_first_configuration_that_fits_is_taken(self):
        model = mlp(devices=3, name="three")
        model.configuration.add(name="two", num_devices=2)
        annotate(model, "up", spec("w_up", {1: 3}, [0, 1, 2]), configuration="three")
        annotate(model, "up", spec("w_up", {0: 2}, [0, 1]), configuration="two")
        file = self.save(model)
        self.assertEqual(self.splits(file)["up"], [("operand 1", 1, ("tp",))])
        self.assertEqual(self.splits(file, "--tp", 2)["up"], [("operand 0", 1, ("tp",))])
        self.assertEqual(self.splits(file, "--annotations", "two")["up"], [("operand 0", 1, ("tp",))])
        self.assertEqual(self.splits(file, "--annotations", "none", "--tp", 2)["up"], [("operand 1", 1, ("tp",))])
        done = program("shardc", file, "--tp", 2, "-o", self.folder / "two.shard")
        self.assertIn('annotations: the first that fits, "two": tp=2', done.stderr)

    def test_auto_decides_the_degrees(self):
        """As flags do, and of a tiny model it is one."""
        model = mlp(devices=2)
        annotate(model, "up", spec("w_up", {1: 2}, [0, 1]))
        file = self.save(model)
        auto = ["--auto", "--topology", "h100:1x4", "--dims", "n=8"]
        out = self.folder / "one.shard"
        self.run_ok("shardc", file, *auto, "-o", out)
        mesh = json.loads((out / "manifest.json").read_text())["mesh"]
        self.assertEqual(np.prod([axis["size"] for axis in mesh]), 1)

    #  Mistakes

    def test_mistakes(self):
        def with_spec(*specs, node="up", devices=2, **more):
            model = mlp(devices=devices)
            annotate(model, node, *specs, **more)
            return model

        two = [0, 1]
        cases = (
            (with_spec(spec("w_up", {1: 2}, [0])), [], "up: its annotation of \"w_up\" has 2 shards and 1 devices"),
            (with_spec(spec("w_up", {1: 2}, [0, 7])), [], "is on device 7, and \"two devices\" has 0 to 1"),
            (with_spec(spec("w_up", {1: 2}, [1, 0])), [], "list the devices in ascending order"),
            (with_spec(spec("w_up", {1: 2}, [-1, 1], {-1: two})), [], "gives device 1 both shard 0 and shard 1"),
            (with_spec(spec("w_up", {1: 0}, two)), [], "has num_shards 0"),
            (with_spec(spec("w_up", {5: 2}, two)), [], "up: its annotation splits dim 5 of \"w_up\", which has 2 dims"),
            (with_spec(spec("w_up", {0: 2}, two), spec("x", {0: 2}, two)), [], "over the same devices; leave one of them whole"),
            (with_spec(spec("w_up", {1: [(3, 1), (5, 2)]}, two)), [], "at a factor that it does not have"),
            (with_spec(spec("w_up", {1: 2}, two), devices=4), [], "w_up\" is on 2 of the 4 devices of its stage"),
            (with_spec(spec("w_up", {1: 2}, two)), ["--tp", 4], "do not fit: \"two devices\" is for 2 devices in 1 stage, the flags make 4"),
            (with_spec(spec("w_up", {1: 2}, two)), ["--annotations", "one"], "--annotations one: the model has no such configuration"),
        )
        for model, flags, words in cases:
            with self.subTest(words=words):
                self.refused(self.save(model), *flags, words=words)

    def test_what_an_op_needs_whole_is_not_split(self):
        nodes = [helper.make_node("Softmax", ["x"], ["y"], name="soft", axis=-1)]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 8])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4, 8])])
        model = helper.make_model(graph, ir_version=11, opset_imports=[helper.make_opsetid("", 21)])
        model.configuration.add(name="two", num_devices=2)
        annotate(model, "soft", spec("x", {1: 2}, [0, 1]))
        self.refused(self.save(model), words='soft: its annotation splits dim 1 of "x", all of which the op needs')

    def test_stages_that_go_back(self):
        model = mlp(devices=2, layers=2)
        annotate(model, "up0", stage=1)
        annotate(model, "up1", stage=0)
        self.refused(self.save(model), words="up1: is put into pipeline_stage 0 by the model's annotations, but it needs what stage 1",
                     status=3)

    def test_flags(self):
        model = self.save(mlp(devices=0))
        for flags, words in ((["--emit", "annotated-onnx"], "needs -o"),
                             (["--emit", "annotated-onnx", "-o", model], "is the model itself"),
                             (["--emit", "annotated-onnx", "-o", self.folder], "is a folder"),
                             (["--emit", "onyx", "-o", "x"], "--emit")):
            done = program("shardc", model, "--tp", 2, *flags)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(words, done.stderr)


if __name__ == "__main__":
    import unittest
    unittest.main()
