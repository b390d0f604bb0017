"""`--emit onnx`: one ONNX model for each rank, which together compute what the whole model does."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from onnx.reference import ReferenceEvaluator

from tests.e2e.caches import HEADS, SIZE, VOCABULARY, decoder
from tests.e2e.ranks import RankFiles
from tests.e2e.test_parallel import experts_model
from tests.support import EndToEnd, data_sets, model_file, program, read_outputs

# Between nodes each rank sends a part of what several hold alike.
IN_PARTS = ["--tp", 2, "--pp", 2, "--topology", "h100:2x2", "--plan-dims", "batch=8,sequence=4096"]

# Plans of each of the models under tests/models.
PLANS = {
    "llama-dynamo-op18": (["--tp", 2], ["--tp", 3, "--pp", 2], ["--tp", 2, "--sp"], ["--cp", 2], ["--cp", 2, "--tp", 2],
                          ["--tp", 3, "--sp", "--shares", "5,2,1"], ["--cp", 2, "--shares", "3,1"]),
    "gpt2-dynamo-op20": (["--tp", 2], ["--tp", 3, "--sp"], ["--pp", 3], ["--fsdp", 2, "--tp", 2], IN_PARTS),
    "bert-ts-op17": (["--tp", 2, "--pp", 2], ["--cp", 2, "--cp-mode", "ulysses"], ["--tp", 4, "--sp"],
                     ["--tp", 2, "--shares", "3,1"], ["--cp", 2, "--cp-mode", "ulysses", "--shares", "1,3"]),
    "llama-genai-int4": (["--tp", 2], ["--tp", 2, "--pp", 2]),
    "vit-ts-static-op17": (["--tp", 2], ["--tp", 3]),
}


def whole_inputs(model, data_set):
    """Inputs and expected outputs by name, and what the symbols of the inputs are."""
    graph = onnx.load(model, load_external_data=False).graph
    weights = {weight.name for weight in graph.initializer}
    inputs, symbols = {}, {}
    for i, value in enumerate(v for v in graph.input if v.name not in weights):
        inputs[value.name] = numpy_helper.to_array(onnx.load_tensor(data_set / f"input_{i}.pb"))
        for dim, size in zip(value.type.tensor_type.shape.dim, inputs[value.name].shape, strict=True):
            symbols[dim.dim_param or str(size)] = size
    expected = {value.name: numpy_helper.to_array(onnx.load_tensor(data_set / f"output_{i}.pb"))
                for i, value in enumerate(graph.output)}
    return inputs, expected, symbols


class RankFilesTest(EndToEnd):
    def emit(self, model, *flags, to="ranks"):
        folder = self.folder / to
        self.run_ok("shardc", model, *flags, "--emit", "onnx", "-o", folder)
        return RankFiles(folder)

    def assert_same(self, found, expected, tolerance=1e-4):
        self.assertEqual(set(found), set(expected))
        for name, value in expected.items():
            self.assertEqual((found[name].dtype, found[name].shape), (value.dtype, value.shape), name)
            if value.dtype.kind != "f":
                np.testing.assert_array_equal(found[name], value, err_msg=name)
                continue
            limit = tolerance * (1 + np.abs(value.astype(np.float64)))
            worst = np.abs(found[name].astype(np.float64) - value) - limit
            self.assertLessEqual(worst.max(initial=-1), 0, name)

    def assert_computes(self, files, model, inputs, symbols, profile=None):
        """What ONNX's reference makes of the whole model."""
        reference = ReferenceEvaluator(model)
        expected = dict(zip(reference.output_names, reference.run(None, inputs)))
        self.assert_same(files.outputs(inputs, symbols, expected, profile), expected)

    def computed_here(self, name, data_set, names):
        """Without rounded activations, as ONNX's operators compute it."""
        artifact, outputs = self.compile(self.accuracies(name)[0][0], 1), self.folder / "outputs"
        self.run_ok("shardrun", artifact, "--inputs", data_set, "--outputs", outputs)
        return dict(zip(names, read_outputs(outputs)))

    def save(self, model):
        file = self.folder / "model.onnx"
        onnx.save(model, file)
        return file

    def test_models_and_plans_compute_what_the_whole_model_does(self):
        for name, plans in PLANS.items():
            for flags in plans:
                for style in ("microsoft", "tensorrt"):
                    with self.subTest(model=name, flags=flags, style=style):
                        files = self.emit(model_file(name), *flags, "--collectives", style)
                        files.check()
                        inputs, expected, symbols = whole_inputs(model_file(name), data_sets(name)[0])
                        if "int4" in name:  # onnxruntime, which wrote what is expected, multiplies integers
                            expected = self.computed_here(name, data_sets(name)[0], expected)
                        self.assert_same(files.outputs(inputs, symbols, expected), expected, 1e-3)

    def test_decoders_take_caches(self):
        """A prompt, and a step behind it; each rank has the heads of its caches."""
        model = decoder()
        file = self.save(model)
        rng = np.random.default_rng(1)
        for flags, profiles in ((["--tp", 2], None), (["--tp", 2, "--pp", 2], None), (["--tp", 3], None),
                                (["--tp", 2, "--sp"], ("prefill", "decode")), (["--cp", 2, "--tp", 2], ("prefill", "decode"))):
            files = self.emit(file, *flags)
            files.check()
            for past, seq in ((0, 5), (5, 1), (3, 4)):
                profile = None if profiles is None else profiles[int(seq == 1)]
                with self.subTest(flags=flags, past=past, seq=seq):
                    inputs = {
                        "input_ids": rng.integers(0, VOCABULARY, (2, seq)),
                        "position_ids": np.tile(np.arange(past, past + seq), (2, 1)),
                        "mask": np.where(np.arange(past + seq) <= np.arange(past, past + seq)[:, None], 0, -1e9)
                        .astype(np.float32)[None, None].repeat(2, 0),
                        **{f"past.{layer}.{which}": rng.standard_normal((2, HEADS, past, SIZE)).astype(np.float32)
                           for layer in range(2) for which in "kv"},
                    }
                    self.assert_computes(files, model, inputs, {"batch": 2, "seq": seq, "past": past}, profile)

    def test_experts_are_spelled_out(self):
        model = experts_model()
        file = self.save(model)
        x = np.random.default_rng(2).standard_normal((7, 8)).astype(np.float32)
        for flags in (["--ep", 2], ["--ep", 3], ["--ep", 2, "--tp", 2], ["--ep", 2, "--sp"], ["--ep", 2, "--ep-mode", "batch"]):
            for style in ("microsoft", "tensorrt"):
                with self.subTest(flags=flags, style=style):
                    files = self.emit(file, *flags, "--collectives", style)
                    files.check()
                    self.assert_computes(files, model, {"input": x}, {"n": 7})

    def test_nodes_are_those_of_the_runtime(self):
        def domains(style, *flags):
            return self.emit(model_file("llama-dynamo-op18"), *flags, "--collectives", style).node_types()

        def collectives(types):
            return {op for domain, op in types if domain}

        self.assertEqual(collectives(domains("microsoft", "--tp", 2)), {"AllReduce", "AllGather"})
        self.assertEqual(collectives(domains("tensorrt", "--tp", 2)), {"DistCollective"})
        self.assertEqual(collectives(domains("microsoft", "--tp", 2, "--sp")), {"AllReduce", "AllGather"})
        # Two of four ranks: com.microsoft knows no groups.
        self.assertEqual(collectives(domains("microsoft", "--tp", 2, "--cp", 2)), {"AllGather"})

    def test_weights_are_parts_and_shared_where_whole(self):
        files = self.emit(model_file("llama-dynamo-op18"), "--tp", 2)
        sizes = {path.name: path.stat().st_size for path in files.folder.glob("*.data")}
        self.assertEqual(set(sizes), {"rank-0.data", "rank-1.data", "shared.data"})
        self.assertEqual(sizes["rank-0.data"], sizes["rank-1.data"])
        whole = model_file("llama-dynamo-op18").stat().st_size
        self.assertLess(sizes["rank-0.data"], 0.7 * whole)

    def test_what_cannot_be_written_is_named(self):
        branch = lambda op: helper.make_graph([helper.make_node(op, ["x"], [op])], op, [],
                                              [helper.make_tensor_value_info(op, TensorProto.FLOAT, None)])
        nodes = [helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0),
                 helper.make_node("Greater", ["sum", "zero"], ["positive"]),
                 helper.make_node("If", ["positive"], ["y"], name="choice", then_branch=branch("Relu"), else_branch=branch("Neg"))]
        value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 8])
        zero = numpy_helper.from_array(np.zeros((), np.float32), "zero")
        graph = helper.make_graph(nodes, "choice", [value("x")], [value("y")], [zero])
        file = self.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10))
        done = program("shardc", file, "--tp", 2, "--emit", "onnx", "-o", self.folder / "ranks")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("error: choice: If depends on data", done.stderr)
        self.assertFalse((self.folder / "ranks").exists())

    def test_onnxruntime_takes_what_has_no_collectives(self):
        """Stages of a pipeline."""
        import onnxruntime

        for name in ("llama-dynamo-op18", "bert-ts-op17", "llama-genai-int4"):
            with self.subTest(model=name):
                files = self.emit(model_file(name), "--pp", 2)
                inputs, expected, _ = whole_inputs(model_file(name), data_sets(name)[0])
                if "int4" in name:
                    expected = self.computed_here(name, data_sets(name)[0], expected)
                known, found = dict(inputs), {}
                for _, part in files.programs():
                    session = onnxruntime.InferenceSession(files.folder / part["file"], providers=["CPUExecutionProvider"])
                    names = [port["name"] for port in part["outputs"]]
                    made = session.run(names, {port["name"]: known[port["name"]] for port in part["inputs"]})
                    known |= dict(zip(names, made))
                found = {output: known[output] for output in expected}
                self.assert_same(found, expected, 1e-3)

    def test_folders_are_replaced_only_if_they_are_ours(self):
        folder = self.folder / "ranks"
        for flags in (["--tp", 2], ["--tp", 3]):
            files = self.emit(model_file("llama-dynamo-op18"), *flags)
            self.assertEqual(len(files.manifest["ranks"]), flags[1])
        (folder / "mine").write_text("")
        done = program("shardc", model_file("llama-dynamo-op18"), "--tp", 2, "--emit", "onnx", "-o", folder)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("mine", done.stderr)
        self.assertTrue((folder / "rank-2.onnx").exists())


if __name__ == "__main__":
    import unittest
    unittest.main()
