"""The Python package shardc: plans as values, errors with node and remedy, and what tests of plans say."""

import io
import json
import os
import sys
import unittest
from unittest import mock

import numpy as np
import onnx
from onnx import TensorProto, helper

from tests.python import support  # noqa: F401  before what follows
from tests.support import EndToEnd, model_file

import shardc  # isort: skip
from shardc.errors import CompileError  # isort: skip
from shardc.testing import assert_plan  # isort: skip

LLAMA = model_file("llama-dynamo-op18")
DATA = LLAMA.parent / "test_data_set_0"
DIMS = {"batch": 1, "sequence": 8}


class Plans(EndToEnd):
    def test_compiles(self):
        out = self.folder / "llama.shard"
        plan = shardc.compile(LLAMA, out, tp=2, pp=2, sp=True, dims=DIMS, micro_batches=1)
        self.assertEqual((plan.mesh, plan.world_size, plan.artifact), ({"pp": 2, "tp": 2}, 4, str(out)))
        self.run_ok("shardrun", out, "--inputs", DATA, "--expect", DATA)
        self.assertEqual({each.kind for each in plan.collectives}, {"all_gather", "reduce_scatter"})
        self.assertEqual([(each.source, each.target) for each in plan.transfers], [(0, 1)])
        self.assertEqual([rank.coords for rank in plan.memory], [{"pp": p, "tp": t} for p in range(2) for t in range(2)])
        whole = shardc.explain(LLAMA).memory[0].weights
        self.assertLess(plan.memory[0].weights, whole / 2)
        self.assertIn("4 ranks", str(plan))
        self.assertIn("llama.shard", repr(plan))
        self.assertIn("node_linear_3", plan.explain("node_linear_3"))

    def test_shows_progress_where_somebody_sees_it(self):
        out = self.folder / "small.shard"
        terminal = io.StringIO()
        terminal.isatty = lambda: True
        with mock.patch("sys.stderr", terminal):
            plan = shardc.compile(LLAMA, out, tp=2, weights_type="int8", weights="copy", pin=[])
        said = terminal.getvalue()
        self.assertIn("quantising weights [####################] 100 %", said)
        self.assertIn("copying weights [##########          ]  50 %", said)
        self.assertIn("partitioned ...", said)
        self.assertEqual((plan.warnings, said[-1]), ((), "\r"))
        with mock.patch("sys.stderr", terminal), self.assertRaisesRegex(CompileError, "has no such size|--dims"):
            shardc.compile(LLAMA, out, tp=2, dims={"nothing": 3})
        # A notebook's stderr is no terminal.
        notebook = mock.Mock(get_ipython=type("ZMQInteractiveShell", (), {}))
        cell = io.StringIO()
        with mock.patch("sys.stderr", cell), mock.patch.dict(sys.modules, {"IPython": notebook}):
            shardc.compile(LLAMA, out, tp=2)
        self.assertIn("partitioned ...", cell.getvalue())
        for quiet in (mock.patch.dict(os.environ, {"SHARDC_PROGRESS": "0"}), mock.patch.object(terminal, "isatty", lambda: False)):
            terminal.truncate(0)
            with mock.patch("sys.stderr", terminal), quiet:
                shardc.compile(LLAMA, out, tp=2)
            self.assertEqual(terminal.getvalue(), "")

    def test_tells_of_collectives(self):
        plan = shardc.explain(LLAMA, tp=2, dims=DIMS)
        self.assertEqual((plan.count(), plan.count("all_reduce"), plan.count("all_reduce", "pp")), (9, 8, 0))
        reduce = next(each for each in plan.collectives if each.kind == "all_reduce")
        told = (reduce.axis, reduce.node, reduce.bytes, reduce.wire_bytes, reduce.layer)
        self.assertEqual(told, ("tp", "node_linear_3", 4096, 8192, 0))
        self.assertEqual(reduce.why, "sum of the parts of node_linear_3")
        self.assertEqual(plan.structures["Attention"], 4)
        self.assertEqual((plan.artifact, plan.dims, plan.missing_dims), (None, DIMS, ()))
        self.assertEqual(shardc.explain(LLAMA, tp=2).collectives[0].bytes, "batch * sequence * 512")
        self.assertGreater(shardc.explain(LLAMA, tp=2, dims=DIMS, topology="h100:1x2").collectives[0].seconds, 0)
        self.assertIn("9 collectives per run", plan.explain())
        self.assertIn("node_linear_3", plan.explain("node_linear_3"))

    def test_has_choices(self):
        """Against what the program says of the nodes, in words."""
        plan = shardc.explain(LLAMA, tp=2)
        chosen = {each.node: each for each in plan.choices}
        self.assertEqual(len(chosen), len(plan.choices))
        columns, rows = (chosen[each] for each in ("node_linear", "node_linear_3"))
        self.assertEqual((columns.operator, columns.profile), ("MatMul", ""))
        split = columns.splits[0]
        self.assertEqual((split.of, split.dim, split.size, split.axes), ("operand 1", 1, "4", ("tp",)))
        self.assertEqual((rows.splits[0].of, rows.splits[0].dim, rows.splits[0].region), ("operand 0", 2, split.region))
        alike = [each for each in plan.choices if split.region in [own.region for own in each.splits]]
        self.assertEqual(split.others, len(alike) - 1)
        self.assertEqual(columns.why, f"operand 1, dim 1: 4 split over tp, as in {split.others} others")
        self.assertIn(f"operand 1, dim 1: its factor of 4 is split over tp, as in {split.others} others", plan.explain("node_linear"))
        self.assertNotIn("node_add_6", chosen, "the norm runs whole")
        self.assertEqual({each.operator for each in plan.choices if each.node.startswith("val_")}, {"Weight"})
        self.assertEqual(shardc.explain(LLAMA).choices, ())
        self.assertEqual(shardc.compile(LLAMA, self.folder / "a.shard", tp=2).choices, plan.choices)

    def test_takes_files(self):
        model = onnx.load(LLAMA)
        for given, kind in ((model, "ModelProto"), (b"abc", "bytes"), (None, "NoneType")):
            for call in (lambda given=given: shardc.compile(given, self.folder / "a.shard"), lambda given=given: shardc.explain(given),
                         lambda given=given: shardc.plan(given, "h100:1x4", {"batch": 1, "seq": 64})):  # fmt: skip
                with self.assertRaisesRegex(TypeError, rf"^model is a {kind}, expected the path of a file: save it first, by onnx.save"):
                    call()
        with self.assertRaisesRegex(TypeError, "^out is a NoneType, expected the path of a folder"):
            shardc.compile(LLAMA, None)

    def test_has_the_text_of_phases(self):
        plan = shardc.explain(LLAMA, tp=2)
        self.assertEqual(plan.text("partitioned").count("dist.all_reduce "), plan.count("all_reduce"))
        self.assertIn("onnx.MatMul", plan.text("imported"))
        with self.assertRaisesRegex(ValueError, "phase is 'compiled', expected one of raw, imported"):
            plan.text("compiled")

    def test_saves_decisions(self):
        plan = shardc.explain(LLAMA, tp=2, dims=DIMS)
        plan.save(self.folder / "plan.json")
        again = shardc.compile(LLAMA, self.folder / "again.shard", load_plan=self.folder / "plan.json", dims=DIMS)
        self.assertEqual(again.collectives, plan.collectives)

    def test_flags_are_those_of_the_program(self):
        pinned = shardc.explain(LLAMA, tp=2, pin=["node_linear_3=[{}, {}, {}]", "node_linear_6=[{}, {}, {}]"])
        self.assertNotEqual(pinned.collectives, shardc.explain(LLAMA, tp=2).collectives)
        with self.assertRaises(CompileError) as caught:
            shardc.explain(LLAMA, no_such_flag=2)
        self.assertEqual(caught.exception.code, 2)
        self.assertIn("--no-such-flag", str(caught.exception))

    def test_predicts_candidates(self):
        found = shardc.plan(LLAMA, "h100:1x4", {"batch": 1, "seq": 64}, goal="latency")
        self.assertTrue(found.best.fits)
        self.assertEqual(found[0], found.best)
        self.assertEqual({each.devices for each in found}, {1, 2, 4})
        self.assertEqual(found.best.memory["total"], json.loads(json.dumps(found.best.json))["memory"]["total"])
        self.assertIn(found.best.flags, str(found))
        self.assertGreater(found.best.prefill, 0)
        given = shardc.plan(LLAMA, "h100:1x4", {"batch": 1, "seq": 64}, tp=2)
        self.assertEqual({each.mesh["tp"] for each in given}, {2})


class Errors(EndToEnd):
    def fails(self, model, **flags):
        with self.assertRaises(CompileError) as caught:
            shardc.compile(model, self.folder / "out.shard", **flags)
        self.assertFalse((self.folder / "out.shard").exists())
        return caught.exception

    def model(self, *nodes):
        value = helper.make_tensor_value_info
        graph = helper.make_graph(nodes, "g", [value("x", TensorProto.FLOAT, ["n", 4])], [value("y", TensorProto.FLOAT, None)])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("org.example", 1)]),
                  self.folder / "model.onnx")  # fmt: skip
        return self.folder / "model.onnx"

    def test_an_unknown_operator(self):
        error = self.fails(self.model(helper.make_node("Custom", ["x"], ["y"], name="mine", domain="org.example")))
        self.assertEqual((error.code, error.node), (3, "mine"))
        self.assertRegex(error.remedy, "^export it as ONNX operators")
        self.assertEqual(error.what, "1 unsupported operator")
        self.assertEqual(error.notes[0].node, "mine")
        self.assertIn('org.example.Custom (1 node, first "mine")', str(error))

    def test_an_impossible_degree(self):
        error = self.fails(LLAMA, pp=50)
        self.assertEqual((error.code, error.node, error.remedy), (3, None, "use --pp 30 or less"))
        self.assertEqual(error.what, "--pp 50: the model can be cut into at most 30 stages")

    def test_shapes_that_do_not_fit(self):
        weight = helper.make_node("Constant", [], ["w"], value=helper.make_tensor("w", TensorProto.FLOAT, [3, 2], np.ones(6)))
        error = self.fails(self.model(weight, helper.make_node("MatMul", ["x", "w"], ["y"], name="product")))
        self.assertEqual((error.code, error.node), (3, "product"))

    def test_a_missing_file(self):
        error = self.fails(self.folder / "none.onnx")
        self.assertEqual((error.code, error.node), (3, None))
        self.assertEqual(error.what, "cannot be read: No such file or directory: expected an ONNX file, as a path from where shardc runs")

    def test_a_missing_program(self):
        with mock.patch.dict(os.environ, {"PATH": str(self.folder)}):
            del os.environ["SHARDC_PROGRAM"]
            with self.assertRaisesRegex(FileNotFoundError, "install the wheel of shardc"):
                shardc.explain(LLAMA)


class Rules(EndToEnd):
    def test_assert_plan(self):
        plan = shardc.explain(LLAMA, tp=2, dims=DIMS)
        assert_plan(plan, "max all_reduce per layer 2", "no all_gather of weights", mesh={"tp": 2}, no_warnings=True,
                    collectives={"all_reduce": 8, "all_gather": 1}, max_weight_bytes=2**21, structures={"Attention": 4})  # fmt: skip
        with self.assertRaises(AssertionError) as caught:
            assert_plan(plan, "max all_reduce per layer 1", mesh={"tp": 4}, collectives={"all_reduce": 8},
                        max_weight_bytes=2**20, structures={"Attention": 5})  # fmt: skip
        for words in ("max all_reduce per layer 1", "expected {'tp': 4}, found {'tp': 2}", "'all_gather': 1",
                      "rank 1: expected at most 1048576 bytes", "Attention: expected 5, found 4"):  # fmt: skip
            self.assertIn(words, str(caught.exception))
        with self.assertRaises(CompileError):
            assert_plan(plan, "max of everything")
        for rules in ((), ("",), ("max all_reduce per layer 2", " ")):
            with self.assertRaisesRegex(ValueError, "there is nothing to check" if not rules else "a rule is empty"):
                assert_plan(plan, *rules)
        with self.assertRaisesRegex(TypeError, "^plan is 'model.shard', expected a Plan, as shardc.compile and shardc.explain return it"):
            assert_plan("model.shard", "max all_reduce per layer 2")
        assert_plan(shardc.explain(LLAMA), collectives={})


if __name__ == "__main__":
    unittest.main()
