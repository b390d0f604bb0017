"""`shardc check` finds all that stands in a model's way, at once, and says what to do."""

import json

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.support import LAYERS, EndToEnd, model_file, program


def tensor(name, *dims, element=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, element, dims)


def model(nodes, inputs, outputs, weights=(), domains=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(weights))
    opsets = [helper.make_opsetid("", 18), *(helper.make_opsetid(domain, 1) for domain in domains)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


class Check(EndToEnd):
    def check(self, made, code):
        """What the JSON says; the exit status must be `code`, with and without --json."""
        file = made
        if isinstance(made, onnx.ModelProto):
            file = self.folder / "model.onnx"
            onnx.save(made, file)
        done = program("shardc", "check", file, "--json")
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        text = program("shardc", "check", file)
        self.assertEqual(text.returncode, code, text.stdout + text.stderr)
        self.text = text.stdout
        return json.loads(done.stdout)

    def kinds(self, found):
        return [note["kind"] for note in found["notes"]]

    def test_models_compile(self):
        for name in LAYERS:
            with self.subTest(model=name):
                found = self.check(model_file(name), 0)
                self.assertTrue(found["compiles"])
                self.assertEqual((found["unsupported"], found["errors"]), ([], []))
                self.assertIn("compiles", self.text)

    def test_counts_structures(self):
        found = self.check(model_file("bert-ts-op17"), 0)
        self.assertEqual(found["recognised"]["layer norm"], found["operators"]["LayerNormalization"])

    def test_everything_unsupported_at_once(self):
        x, y = tensor("x", "n", 4), tensor("y", "n", 4)
        made = model(
            [
                helper.make_node("Foo", ["x"], ["a"], name="foo1", domain="my"),
                helper.make_node("Foo", ["a"], ["b"], name="foo2", domain="my"),
                helper.make_node("NonMaxSuppression", ["p", "q"], ["c"], name="nms"),
                helper.make_node("Relu", ["b"], ["y"], name="relu"),
            ],
            [x, tensor("p", 1, 2, 4), tensor("q", 1, 1, 2), tensor("z", 3, element=TensorProto.COMPLEX64)],
            [y],
            domains=["my"],
        )
        found = self.check(made, 3)
        self.assertFalse(found["compiles"])
        kinds = {(entry["kind"], entry["what"]): entry for entry in found["unsupported"]}
        self.assertEqual(kinds["operator", "my.Foo"]["nodes"], ["foo1", "foo2"])
        self.assertEqual(kinds["element type", "COMPLEX64"]["nodes"], ["z"])
        self.assertTrue(all(entry["remedy"] for entry in found["unsupported"]))
        self.assertIn("unsupported operator my.Foo (2 nodes: foo1, foo2)", self.text)

    def test_errors_beyond_the_first(self):
        weights = [numpy_helper.from_array(np.ones((3, 5), np.float32), "w")]
        made = model(
            [
                helper.make_node("Add", ["x", "w"], ["a"], name="first"),
                helper.make_node("Relu", ["a"], ["b"], name="follows"),
                helper.make_node("MatMul", ["x", "w"], ["c"], name="second"),
                helper.make_node("Relu", ["x"], ["d"], name="fine"),
            ],
            [tensor("x", 2, 4)],
            [tensor("b", None, None), tensor("c", None, None), tensor("d", 2, 4)],
            weights,
        )
        found = self.check(made, 3)
        self.assertEqual([error["node"] for error in found["errors"]], ["first", "second"])

    def test_weights_that_are_not_finite(self):
        for element in (np.float32, np.float16, np.float64):
            with self.subTest(element=element.__name__):
                weight = np.ones((40, 40), element)
                weight[3, 5] = np.nan
                weight[7, :2] = np.inf, -np.inf
                onnx_type = helper.np_dtype_to_tensor_dtype(np.dtype(element))
                made = model(
                    [helper.make_node("MatMul", ["x", "bad"], ["y"], name="product")],
                    [tensor("x", "n", 40, element=onnx_type)],
                    [tensor("y", "n", 40, element=onnx_type)],
                    [numpy_helper.from_array(weight, "bad")],
                )
                found = self.check(made, 0)
                notes = [note for note in found["notes"] if note["kind"] == "weight_not_finite"]
                self.assertEqual([note["where"] for note in notes], [["bad"]])
                self.assertIn("of 1600 elements 1 are NaN, 2 infinite", notes[0]["message"])

    def test_sizes_that_are_fixed(self):
        self.assertIn("baked_sizes", self.kinds(self.check(model_file("vit-ts-static-op17"), 0)))
        for name in ("bert-ts-op17", "llama-dynamo-op18"):
            found = self.check(model_file(name), 0)
            self.assertFalse([kind for kind in self.kinds(found) if kind.startswith("baked")], found["notes"])

    def test_batch_that_is_fixed(self):
        relu = [helper.make_node("Relu", ["x"], ["y"], name="relu")]
        found = self.check(model(relu, [tensor("x", 2, "seq", 8)], [tensor("y", 2, "seq", 8)]), 0)
        self.assertEqual(self.kinds(found), ["baked_batch"])
        self.assertEqual(found["notes"][0]["where"], ["x"])

    def test_size_that_only_the_graph_fixes(self):
        shape = [numpy_helper.from_array(np.array([2, -1, 4], np.int64), "shape")]
        nodes = [
            helper.make_node("Reshape", ["x", "shape"], ["r"], name="reshape"),
            helper.make_node("Add", ["r", "z"], ["y"], name="add"),
        ]
        inputs = [tensor("x", "batch", "seq", 4), tensor("z", "batch", "seq", 4)]
        found = self.check(model(nodes, inputs, [tensor("y", "batch", "seq", 4)], shape), 0)
        self.assertIn("baked_size", self.kinds(found))

    def test_size_of_a_head_by_a_name(self):
        """As ONNX Runtime GenAI's builder names it: no request decides on it."""
        past, new = tensor("past", "batch", 2, "past", "head"), tensor("new", "batch", 2, "seq", "size")
        fixed = numpy_helper.from_array(np.array([0, 2, -1, 8], np.int64), "fixed")
        nodes = [
            helper.make_node("Reshape", ["new", "fixed"], ["keys"], name="reshape"),
            helper.make_node("Concat", ["past", "keys"], ["present"], name="join", axis=2),
        ]
        present = tensor("present", "batch", 2, "past + seq", 8)
        found = self.check(model(nodes, [past, new], [present], [fixed]), 0)
        self.assertNotIn("'head'", str(found["notes"]))
        shape = numpy_helper.from_array(np.array([0, 2, 4], np.int64), "shape")
        nodes = [
            helper.make_node("Reshape", ["x", "shape"], ["r"], name="reshape"),
            helper.make_node("Concat", ["x", "m"], ["y"], name="join", axis=1),
        ]
        outputs = [tensor("r", "batch", 2, 4), tensor("y", "batch", "both")]
        found = self.check(model(nodes, [tensor("x", "batch", "seq"), tensor("m", "batch", "more")], outputs, [shape]), 0)
        self.assertIn("size 'seq' must be 8", str(found["notes"]))

    def decoder(self, layers, causal=1):
        """Attention over looked up tokens; `layers` says which ones continue keys and values of earlier runs."""
        cache = ["batch", 2, "past", 8]
        nodes = [helper.make_node("Gather", ["table", "ids"], ["h0"], name="embed")]
        inputs = [tensor("ids", "batch", "seq", element=TensorProto.INT64)]
        for i, is_cached in enumerate(layers):
            past = [f"k{i}", f"v{i}"] if is_cached else []
            inputs += [tensor(name, *cache) for name in past]
            names = [f"h{i}", f"h{i}", f"h{i}", *(["", *past] if past else [])]
            outs = [f"h{i + 1}", *([f"pk{i}", f"pv{i}"] if past else [])]
            heads = {"q_num_heads": 2, "kv_num_heads": 2, "is_causal": causal}
            nodes.append(helper.make_node("Attention", names, outs, name=f"attention{i}", **heads))
        table = numpy_helper.from_array(np.ones((9, 16), np.float32), "table")
        made = model(nodes, inputs, [tensor(f"h{len(layers)}", "batch", "seq", 16)], [table])
        made.opset_import[0].version = 23
        return made

    def test_decoder_without_cache(self):
        found = self.check(self.decoder([False, False]), 0)
        self.assertEqual(self.kinds(found), ["no_cache"])
        self.assertEqual(found["notes"][0]["where"], ["attention0", "attention1"])
        self.assertEqual(found["recognised"], {"attention": 2})
        self.assertEqual(self.kinds(self.check(self.decoder([False, False], causal=0), 0)), [])

    def test_decoder_with_cache_in_some_layers(self):
        self.assertEqual(self.kinds(self.check(self.decoder([True, True]), 0)), [])
        found = self.check(self.decoder([True, False]), 0)
        self.assertEqual(self.kinds(found), ["partial_cache"])
        self.assertEqual(found["notes"][0]["where"], ["attention1"])

    def test_file_that_is_no_model(self):
        file = self.folder / "model.onnx"
        file.write_bytes(b"nothing")
        found = self.check(file, 3)
        self.assertEqual(len(found["errors"]), 1)
        self.assertIsNone(found["opset"])
        self.assertEqual(self.text.splitlines()[0], f"{file}: does not compile: 1 problem")

    def test_every_file_of_weights_that_is_missing(self):
        weights = [numpy_helper.from_array(np.ones((64, 64), np.float32), name) for name in ("v", "w")]
        made = model(
            [helper.make_node("MatMul", ["x", "v"], ["a"], name="first"),
             helper.make_node("MatMul", ["a", "w"], ["y"], name="second")],
            [tensor("x", "n", 64)], [tensor("y", "n", 64)], weights,
        )  # fmt: skip
        file = self.folder / "model.onnx"
        onnx.save(made, file, save_as_external_data=True, all_tensors_to_one_file=False)
        for name in ("v", "w"):
            (self.folder / name).unlink()
        found = self.check(file, 3)
        self.assertEqual([error["node"] for error in found["errors"]], ["v", "w"])

    def test_wrong_flags(self):
        self.assertEqual(program("shardc", "check").returncode, 2)
