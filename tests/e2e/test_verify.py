"""`shardc verify` runs a plan against one rank, and finds where a wrong one goes wrong."""

import json
import os
import re
import shutil
import subprocess
import sys
import unittest

import numpy as np
import onnx
from onnx import helper, numpy_helper, parser

from tests.equivalence import mutants
from tests.support import BIN, LAYERS, EndToEnd, data_sets, model_file, program

PLANS = {
    "bert-ts-op17": ["--tp", 3, "--sp"],
    "gpt2-dynamo-op20": ["--dp", 2, "--pp", 2, "--tp", 2, "--micro-batches", 2],
    "llama-dynamo-op18": ["--pp", 2, "--cp", 2, "--tp", 2],
    "llama-genai-int4": ["--cp", 3, "--tp", 2],
    "vit-ts-static-op17": ["--ep", 2, "--tp", 2],
}


def has_onnxruntime():
    return subprocess.run([sys.executable, "-c", "import onnxruntime"], capture_output=True).returncode == 0


class AgainstOnnxRuntime(EndToEnd):
    """An engine that shares nothing with this one."""

    def verify(self, model, *flags, **environment):
        return subprocess.run([str(a) for a in (BIN / "shardc", "verify", model, "--against", "onnxruntime", *flags)],
                              capture_output=True, text=True, timeout=300, cwd=self.folder,
                              env={**os.environ, **environment})  # fmt: skip

    @unittest.skipUnless(has_onnxruntime(), "onnxruntime is not installed")
    def test_models_agree(self):
        temporary = self.folder / "tmp"
        temporary.mkdir()
        for name in LAYERS:
            with self.subTest(model=name):
                flags = [*PLANS[name], "--python", sys.executable, "--json"]
                done = self.verify(model_file(name), *flags, TMPDIR=str(temporary))
                self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr)
                requests = json.loads(done.stdout)["requests"]
                compared = [request["onnxruntime"] for request in requests if "agrees" in request["onnxruntime"]]
                self.assertGreaterEqual(len(compared), len(data_sets(name)))
                for request in compared:
                    self.assertTrue(request["agrees"])
                    for output in request["outputs"]:
                        self.assertLess(output["of_tolerance"], 1)
        self.assertEqual(list(temporary.glob("shardc*")), [])  # the other one leaves files of its own

    @unittest.skipUnless(has_onnxruntime(), "onnxruntime is not installed")
    def test_in_double_precision(self):
        done = self.verify(model_file("bert-ts-op17"), "--tp", 2, "--precision", "f64", SHARDC_PYTHON=sys.executable)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("and what onnxruntime does", done.stdout)

    @unittest.skipUnless(has_onnxruntime(), "onnxruntime is not installed")
    def test_inputs_that_numpy_does_not_have(self):
        nodes = [helper.make_node("Cast", ["x"], ["wide"], to=onnx.TensorProto.FLOAT), helper.make_node("Softmax", ["wide"], ["parts"]),
                 helper.make_node("Cast", ["parts"], ["y"], to=onnx.TensorProto.BFLOAT16)]  # fmt: skip
        values = [helper.make_tensor_value_info(name, onnx.TensorProto.BFLOAT16, ["rows", 8]) for name in "xy"]
        graph = helper.make_graph(nodes, "halves", values[:1], values[1:])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), self.folder / "model.onnx")
        done = self.verify(self.folder / "model.onnx", "--python", sys.executable, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        requests = json.loads(done.stdout)["requests"]
        self.assertIn("made up: rows = 1", [request["name"] for request in requests])
        for request in requests:
            self.assertTrue(request["onnxruntime"]["agrees"])

    @unittest.skipUnless(has_onnxruntime(), "onnxruntime is not installed")
    def test_another_model_differs(self):
        """The engine's answer counts: one that says something else is told from one that agrees."""
        package = self.folder / "onnxruntime"
        package.mkdir()
        (package / "__init__.py").write_text(
            "import numpy as np\n"
            "class Node:\n"
            "    def __init__(self, name, type): self.name, self.type = name, type\n"
            "class SessionOptions: pass\n"
            "class InferenceSession:\n"
            "    def __init__(self, *a, **k): pass\n"
            "    def get_inputs(self): return [Node('input_ids', 'tensor(int64)')]\n"
            "    def get_outputs(self): return [Node('logits', 'tensor(float)')]\n"
            "    def run(self, names, feeds): return [np.zeros((*feeds['input_ids'].shape[:1], 2), np.float32)]\n"
        )
        done = self.verify(model_file("bert-ts-op17"), "--tp", 2, "--python", sys.executable, PYTHONPATH=str(self.folder))
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("one rank computes something else than onnxruntime", done.stderr)

    def test_no_python_that_has_it(self):
        done = self.verify(model_file("bert-ts-op17"), "--python", self.folder / "none")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("none (does not start)", done.stderr)
        done = self.verify(model_file("bert-ts-op17"), SHARDC_PYTHON="/bin/false")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("--against onnxruntime: it does not run", done.stderr)
        blind = self.folder / "onnxruntime.py"
        blind.write_text("raise ImportError('No module named onnxruntime')")
        done = self.verify(model_file("bert-ts-op17"), "--python", sys.executable, PYTHONPATH=str(self.folder))
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("no Python that has it: tried", done.stderr)
        self.assertIn("--python or SHARDC_PYTHON", done.stderr)


class Verify(EndToEnd):
    def verify(self, model, *flags, code=0):
        done = program("shardc", "verify", model, "--json", *flags)
        self.assertEqual(done.returncode, code, done.stdout[-2000:] + done.stderr)
        self.errors = done.stderr
        return json.loads(done.stdout)

    def test_plans_agree(self):
        for name in LAYERS:
            for precision in ("model", "f64"):
                with self.subTest(model=name, precision=precision):
                    found = self.verify(model_file(name), *PLANS[name], "--precision", precision)
                    self.assertTrue(found["agrees"])
                    names = [request["name"] for request in found["requests"]]
                    self.assertEqual([n for n in names if "made up" not in n], [d.name for d in data_sets(name)])
                    self.assertGreater(len(names), len(data_sets(name)), "no inputs were made up")
                    for request in found["requests"]:
                        for output in request["outputs"]:
                            self.assertLess(output["of_tolerance"], 1)
                        self.assertTrue(request["without_recovery"]["agrees"])

    def test_f64_leaves_no_rounding(self):
        found = self.verify(model_file("bert-ts-op17"), "--tp", 2, "--precision", "f64")
        worst = max(output["largest_error"] for request in found["requests"] for output in request["outputs"])
        self.assertLess(worst, 1e-12)

    def test_rounding_to_16_bits_is_no_mistake(self):
        """A sigmoid that is rounded before its product, and a Swish that is not, differ by a last place, which the rest enlarges."""
        body = "a = Add(x, four) s = Sigmoid(a) w = Mul(a, s) d = Sub(w, a) y = Mul(d, large)"
        model = parser.parse_model(f'<ir_version: 9, opset_import: ["" : 20]> g (float16[n, 64] x) => (float16[n, 64] y) {{ {body} }}')
        for name, value in (("four", 4), ("large", 1000)):
            model.graph.initializer.append(numpy_helper.from_array(np.array(value, np.float16), name))
        onnx.save(model, self.folder / "model.onnx")
        found = self.verify(self.folder / "model.onnx")
        self.assertTrue(found["agrees"])
        self.assertFalse(all(request["without_recovery"]["agrees"] for request in found["requests"]))
        self.assertIn("by rounding to 16 bits alone", " ".join(found["notes"]))

    def test_makes_up_inputs_of_given_sizes(self):
        found = self.verify(model_file("llama-dynamo-op18"), "--tp", 2, "--dims", "batch=3,seq=11")
        self.assertEqual([r["name"] for r in found["requests"]], ["made up: batch = 3, sequence = 11"])

    def test_text(self):
        done = program("shardc", "verify", model_file("vit-ts-static-op17"), "--tp", 2)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"output 0 'logits' \[2, 10\]: largest error [\d.e-]+, [\d.e-]+ of the tol")
        self.assertIn("the plan computes what one rank computes, without recovery too: 2 ranks, 2 requests\n", done.stdout)

    def test_warnings_come_before_the_error(self):
        done = program("shardc", "verify", model_file("vit-ts-static-op17"), "--tp", 2, "--micro-batches", 2, "--pp", 50)
        self.assertEqual(done.returncode, 3, done.stderr)
        warning, error = done.stderr.splitlines()[-2:]
        self.assertRegex(warning, "^warning: .*--micro-batches: each request runs as one")
        self.assertRegex(error, "^error: [^:]*model.onnx: --pp 50: ")

    def test_leaves_nothing_behind(self):
        (self.folder / "tmp").mkdir()
        shutil.copytree(model_file("vit-ts-static-op17").parent, self.folder / "model")
        before = sorted(self.folder.rglob("*"))
        command = [BIN / "shardc", "verify", self.folder / "model/model.onnx", "--tp", "2"]
        environment = os.environ | {"TMPDIR": str(self.folder / "tmp")}
        subprocess.run(command, check=True, env=environment, capture_output=True, timeout=300)
        self.assertEqual(sorted(self.folder.rglob("*")), before)


class Faults(EndToEnd):
    """A program that is wrong on purpose: one all_reduce is gone, its operand claims to be whole."""

    def setUp(self):
        super().setUp()
        self.model = model_file("gpt2-dynamo-op20")
        text = self.run_ok("shardc", self.model, "--tp", 2, "--to", "partitioned")
        module = mutants.Module.parse(text)
        program = module.bodies[0]
        reduces = [i for i, op in enumerate(program.ops) if op.name == "dist.all_reduce"]
        at = reduces[3]
        result, [operand] = program.ops[at].results, program.ops[at].operands
        program.claim(operand, program.ops[at].outputs[0])
        [loc] = [op.loc for op in program.ops if op.results == operand]
        del program.ops[at]
        program.use_instead(result, operand)
        self.node = re.search(rf'^{re.escape(loc[4:-1])} = loc\("(.*?)"', text, re.M)[1]
        self.programs = self.folder / "programs.mlir"
        self.programs.write_text(f"{text}// -----\n{module}")
        self.wrong = self.folder / "wrong.mlir"
        self.wrong.write_text(str(module))

    def test_refuses_what_is_wrong(self):
        done = program("shardc", "verify", self.model, "--programs", self.programs)
        self.assertEqual(done.returncode, 0, done.stderr)
        first, second = done.stdout.splitlines()
        self.assertEqual(first, "program 0: agrees")
        self.assertRegex(second, f"program 1: refused: .*{self.node}: does not satisfy its sharding rule")

    def test_finds_the_first_value_that_differs(self):
        flags = ["--programs", self.wrong, "--trust-programs"]
        done = program("shardc", "verify", self.model, *flags, "--json")
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        first = json.loads(done.stdout)["first_difference"]
        self.assertEqual((first["node"], first["op"], first["stage"]), (self.node, "onnx.Gemm", 0))
        self.assertGreater(first["largest_error"], 0.1)
        done = program("shardc", "verify", self.model, *flags)
        self.assertIn(f"first difference: {self.node} (onnx.Gemm, f32 [batch * sequence, 96], stage 0)", done.stdout)
        self.assertIn("of what agrees: ", done.stdout)

    def test_tells_which_program_differs(self):
        done = program("shardc", "verify", self.model, "--programs", self.programs, "--trust-programs", "--json")
        self.assertEqual(done.returncode, 1, done.stderr)
        verdicts = [entry["verdict"] for entry in json.loads(done.stdout)["programs"]]
        self.assertEqual(verdicts, ["agrees", "differs"])


if __name__ == "__main__":
    unittest.main()
