"""Collectives beside products, both in parts: the same bits as without, on ranks of the host and of a simulated CUDA."""

import json
import os
import subprocess
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.graphs import GraphBuilder
from tests.support import BIN, BUILD, EndToEnd, data_dims, data_sets, model_file, program

PLUGIN = BUILD / "lib/simulated/libshardrt_cuda.so"
HIDDEN, HEADS, WIDE = 24, 6, 48


def layers(batch, seq):
    """Two layers, of known or symbolic sizes."""
    graph = GraphBuilder(seed=5)
    weight, node = graph.weight, graph.node

    def norm_of(x, name):
        return node("LayerNormalization", [x, weight(f"{name}.scale", HIDDEN), weight(f"{name}.shift", HIDDEN)], name)

    graph.constant("split", [0, 0, HEADS, HIDDEN // HEADS])
    graph.constant("merged", [0, 0, HIDDEN])
    x = "x"
    for n in range(2):
        norm = norm_of(x, f"before{n}")

        def heads(which, perm, norm=norm, n=n):
            flat = node("MatMul", [norm, weight(f"w{which}{n}", HIDDEN, HIDDEN)], f"{which}{n}")
            return node("Transpose", [node("Reshape", [flat, "split"], f"{which}s{n}")], f"{which}t{n}", perm=perm)

        scores = node("MatMul", [heads("q", [0, 2, 1, 3]), heads("k", [0, 2, 3, 1])], f"scores{n}")
        mixed = node("MatMul", [node("Softmax", [scores], f"p{n}"), heads("v", [0, 2, 1, 3])], f"mixed{n}")
        merged = node("Reshape", [node("Transpose", [mixed], f"mt{n}", perm=[0, 2, 1, 3]), "merged"], f"merged{n}")
        x = node("Add", [x, node("MatMul", [merged, weight(f"wo{n}", HIDDEN, HIDDEN)], f"out{n}")], f"x{n}")
        norm = norm_of(x, f"norm{n}")
        gate = node("Sigmoid", [node("MatMul", [norm, weight(f"wg{n}", HIDDEN, WIDE)], f"gate{n}")], f"act{n}")
        up = node("MatMul", [norm, weight(f"wu{n}", HIDDEN, WIDE)], f"up{n}")
        down = node("MatMul", [node("Mul", [gate, up], f"mul{n}"), weight(f"wd{n}", WIDE, HIDDEN)], f"down{n}")
        x = node("Add", [x, down], f"y{n}")
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [batch, seq, HIDDEN])
    return graph.model([value("x")], [value(x)])


class Overlap(EndToEnd):
    def save(self, batch, seq, shapes):
        """The model, and a folder of inputs for each shape."""
        onnx.save(layers(batch, seq), self.folder / "model.onnx")
        folders = []
        for shape in shapes:
            folders.append(self.folder / "x".join(map(str, shape)))
            folders[-1].mkdir()
            x = np.random.default_rng(1).standard_normal((*shape, HIDDEN)).astype(np.float32)
            onnx.save_tensor(numpy_helper.from_array(x, "x"), folders[-1] / "input_0.pb")
        return folders

    def outputs(self, artifact, folders, *flags, repeat=3, **environment):
        """The bytes of all outputs of so many runs of each."""
        out = self.folder / "outputs"
        command = [BIN / "shardrun", artifact, "--outputs", out, "--repeat", repeat, *flags]
        for folder in folders:
            command += ["--inputs", folder]
        done = subprocess.run([str(a) for a in command], capture_output=True, text=True, timeout=300,
                              env=os.environ | environment)  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stdout[-500:] + done.stderr[-1000:])
        return [file.read_bytes() for file in sorted(out.rglob("*.pb"))]

    def overlap(self, model, *flags):
        """What --explain-json says of it."""
        return self.explain(model, *flags)["overlap"]

    def assert_parts(self, overlap, parts, kinds):
        self.assertEqual({entry["kind"] for entry in overlap["collectives"]}, set(kinds))
        self.assertEqual({entry["parts"] for entry in overlap["collectives"]}, {parts})
        self.assertGreater(overlap["started"], 0)

    def test_parts_give_the_same_bits(self):
        """Of any number, also where requests have fewer rows than there are parts."""
        folders = self.save("batch", "seq", [(2, 7), (1, 1), (5, 3)])
        model = self.folder / "model.onnx"
        whole = self.compile(model, 2, "--overlap", "off", to="whole")
        expected = self.outputs(whole, folders)
        for parts in (1, 2, 3, 8):
            with self.subTest(parts=parts):
                artifact = self.compile(model, 2, "--overlap", parts)
                self.assertEqual(self.outputs(artifact, folders, "--check-replicas"), expected)
        self.assert_parts(self.overlap(model, 2, "--overlap", 3), 3, ["all_reduce"])

    def test_parts_of_a_split_sequence(self):
        """By the batch where sizes are symbols, else by each rank's positions where these are as many."""
        for sizes, shapes in ((("batch", "seq"), [(3, 7), (1, 4)]), ((1, "seq"), [(1, 12), (1, 7), (1, 1), (1, 64)]),
                              ((1, 12), [(1, 12)]), ((2, 9), [(2, 9)])):  # fmt: skip
            folders = self.save(*sizes, shapes)
            model = self.folder / "model.onnx"
            for ranks in (2, 3):
                with self.subTest(sizes=sizes, ranks=ranks):
                    whole = self.compile(model, ranks, "--sp", "--overlap", "off", to=f"whole{ranks}")
                    expected = self.outputs(whole, folders)
                    artifact = self.compile(model, ranks, "--sp", "--overlap", 2)
                    self.assertEqual(self.outputs(artifact, folders), expected)
                    overlap = self.overlap(model, ranks, "--sp", "--overlap", 2)
                    self.assert_parts(overlap, 2, ["all_gather", "reduce_scatter"])
            for folder in folders:
                (folder / "input_0.pb").unlink()
                folder.rmdir()

    def test_models(self):
        for name in ("bert-ts-op17", "gpt2-dynamo-op20", "llama-dynamo-op18", "vit-ts-static-op17"):
            for flags in ([], ["--sp"]):
                with self.subTest(name, flags=flags):
                    data = data_sets(name)[:1]
                    whole = self.compile(model_file(name), 2, *flags, "--overlap", "off", to="whole")
                    parts = self.compile(model_file(name), 2, *flags, "--overlap", 2)
                    self.assertEqual(self.outputs(parts, data), self.outputs(whole, data))

    def test_quantised_weights(self):
        """Parts of a product may be rounded in another way: against ONNX Runtime's outputs."""
        model = model_file("llama-genai-int4")
        for flags in ([], ["--sp"]):
            artifact = self.compile(model, 2, *flags, "--overlap", 2)
            for data in data_sets("llama-genai-int4"):
                with self.subTest(flags=flags, data=data):
                    self.run_ok("shardrun", artifact, "--inputs", data, "--expect", data)
            nodes = {entry["node"] for entry in self.overlap(model, 2, *flags, "--overlap", 2)["collectives"]}
            self.assertTrue(any("o_proj/MatMul" in node for node in nodes), nodes)

    def test_the_host_does_one_after_the_other(self):
        dims = data_dims("llama-dynamo-op18", data_sets("llama-dynamo-op18")[0])
        text = self.run_ok("shardc", model_file("llama-dynamo-op18"), "--tp", 2, "--explain", *dims)
        self.assertIn("no collective runs beside products: on the host a rank's own cores do both", text)
        self.assertEqual(self.overlap(model_file("llama-dynamo-op18"), 2)["started"], 0)

    def test_what_stands_beside_no_product_is_named_too(self):
        overlap = self.overlap(model_file("llama-dynamo-op18"), 2, "--target", "cuda", "--kernels", "reference")
        self.assertEqual(overlap["others"], [{"node": "node_embedding", "kind": "all_gather"}])

    def test_a_prediction_decides(self):
        """Many rows gain, few do not; and it is said why."""
        model = self.folder / "model.onnx"
        self.save("batch", "seq", [])
        links = self.folder / "machine.json"  # about as fast as these small products
        inside = {"gigabytes_per_second": 2000, "microseconds": 2}
        links.write_text(json.dumps({"nodes": 1, "devices_per_node": 2, "inside_node": inside}))
        flags = ["--target", "cuda", "--kernels", "reference", "--topology", links]
        few = self.overlap(model, 2, *flags, "--plan-dims", "batch=1,seq=16")
        self.assertEqual({entry["parts"] for entry in few["collectives"]}, {1})
        many = self.overlap(model, 2, *flags, "--plan-dims", "batch=64,seq=65536")
        for entry in many["collectives"]:
            self.assertEqual(entry["rows"], 64 * 65536)
            self.assertGreater(entry["parts"], 1)
            self.assertLess(entry["seconds_after"], 0.95 * entry["seconds_before"])
        text = self.run_ok("shardc", model, "--tp", 2, *flags, "--plan-dims", "batch=64,seq=65536", "--explain")
        self.assertRegex(text, r"all_reduce at down1: \d parts, \d+\.\d us to \d+\.\d us, at 4194304 rows")

    def test_wrong_flags(self):
        for wrong in ("0", "many", "-1", "1000"):
            done = program("shardc", model_file("llama-dynamo-op18"), "--tp", 2, "--overlap", wrong, "--explain")
            self.assertEqual(done.returncode, 2)
            self.assertIn("expected auto, off or a number from 1 to 99", done.stderr)

    @unittest.skipUnless(PLUGIN.exists(), "the CUDA plugin was not built")
    def test_parts_fly_on_a_simulated_gpu(self):
        """Work there is done as late as it may be: a wait that is missing, or in the wrong place, shows."""
        environment = {"SHARDC_BACKENDS": str(PLUGIN.parent)}
        cuda = ["--target", "cuda", "--kernels", "reference"]
        for sizes, shapes, flags in (
            (("batch", "seq"), [(2, 7), (1, 1)], []),
            ((1, 12), [(1, 12)], ["--sp"]),
            (("batch", "seq"), [(3, 8)], ["--sp"]),
            ((1, "seq"), [(1, 8), (1, 7)], ["--sp"]),
        ):
            with self.subTest(sizes=sizes, flags=flags):
                folders = self.save(*sizes, shapes)
                model = self.folder / "model.onnx"
                whole = self.compile(model, 2, *cuda, *flags, "--overlap", "off", to="whole")
                expected = self.outputs(whole, folders, **environment)
                for parts in (1, 2, 3):
                    artifact = self.compile(model, 2, *cuda, *flags, "--overlap", parts)
                    for graphs in ("0", "1"):
                        found = self.outputs(artifact, folders, SHARDC_GRAPHS=graphs, **environment)
                        self.assertEqual(found, expected)
            for folder in folders:
                (folder / "input_0.pb").unlink()
                folder.rmdir()

    @unittest.skipUnless(PLUGIN.exists(), "the CUDA plugin was not built")
    def test_a_kernel_that_may_have_to_be_loaded_waits(self):
        """Its loading waits for the GPU, and keeps other ranks of the process from coming to a collective."""
        folders = self.save("batch", "seq", [(2, 7), (1, 4)])
        model = self.folder / "model.onnx"
        for flags in (["--overlap", 2], ["--overlap", "off"], ["--pp", 2], ["--sp", "--overlap", 2]):
            with self.subTest(flags=flags):
                artifact = self.compile(model, 2, "--target", "cuda", "--kernels", "reference", *flags)
                for graphs in ("0", "1"):
                    environment = {"SHARDC_BACKENDS": str(PLUGIN.parent), "SHARDC_GRAPHS": graphs}
                    expected = self.outputs(artifact, folders, **environment)
                    self.assertEqual(self.outputs(artifact, folders, repeat=1, SHARDC_SIMULATED_LOADS="1", **environment), expected)

    @unittest.skipUnless(PLUGIN.exists(), "the CUDA plugin was not built")
    def test_a_trace_shows_what_is_in_flight(self):
        folders = self.save("batch", "seq", [(2, 7)])
        artifact = self.compile(self.folder / "model.onnx", 2, "--target", "cuda", "--kernels", "reference", "--overlap", 2)
        trace = self.folder / "trace.json"
        self.outputs(artifact, folders, "--trace", trace, SHARDC_BACKENDS=str(PLUGIN.parent))
        events = json.loads(trace.read_text())["traceEvents"]
        names = {event["tid"]: event["args"]["name"] for event in events if event["ph"] == "M"}
        self.assertEqual(len(names), 4)
        for tid in (0, 1):
            self.assertRegex(names[2 + tid], rf"rank {tid}.*: collectives in flight")
            flights = [event for event in events if event["ph"] == "X" and event["tid"] == 2 + tid]
            self.assertEqual({flight["args"]["node"] for flight in flights}, {"out0", "down0", "out1", "down1"})
            self.assertEqual({flight["name"] for flight in flights}, {"all_reduce"})
            ends = [flight["ts"] + flight["dur"] for flight in flights]
            self.assertTrue(all(b["ts"] >= end - 1e-3 for b, end in zip(flights[1:], ends)))
            waits = [event for event in events if event["ph"] == "X" and event["tid"] == tid and event["name"] == "wait"]
            self.assertEqual(len(waits), len(flights))
