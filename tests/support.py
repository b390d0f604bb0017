"""What end-to-end tests share: the programs, the models under tests/models, their data."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("SHARDC_TEST_BUILD", ROOT / "build"))  # run_tests.py --build
BIN = BUILD / "bin"
MODELS = ROOT / "tests/models"
LAYERS = {"bert-ts-op17": 2, "gpt2-dynamo-op20": 3, "llama-dynamo-op18": 4, "llama-genai-int4": 2, "vit-ts-static-op17": 2}


def processor_has(*instructions):
    """Any of these, as Linux names them."""
    cpu = Path("/proc/cpuinfo")
    return cpu.exists() and not set(instructions).isdisjoint(cpu.read_text().split())


def rounds_quantised_weights():
    """Whether --compute bf16 does: where products of bfloat16 are the faster ones."""
    is_fast = not processor_has("GenuineIntel") or processor_has("amx_bf16")
    return processor_has("avx512_bf16") and is_fast


def program(name, *arguments, env=None):
    return subprocess.run([str(a) for a in (BIN / name, *arguments)], capture_output=True, text=True, timeout=300, env=env)


def model_file(name):
    return MODELS / name / "model.onnx"


def data_sets(model):
    return sorted((MODELS / model).glob("test_data_set_*"))


def read_outputs(folder):
    """The tensors of output_0.pb, output_1.pb, ..."""
    files = sorted(Path(folder).glob("output_*.pb"), key=lambda file: int(file.stem.split("_")[1]))
    return [numpy_helper.to_array(onnx.load_tensor(file)) for file in files]


def data_dims(model, data_set):
    """The flag --dims for a data set: the model's symbols with the sizes that its inputs have."""
    graph = onnx.load(model_file(model), load_external_data=False).graph
    weights = {weight.name for weight in graph.initializer}
    inputs = [value for value in graph.input if value.name not in weights]
    dims = {}
    for i, value in enumerate(inputs):
        sizes = onnx.load_tensor(data_set / f"input_{i}.pb").dims
        for dim, size in zip(value.type.tensor_type.shape.dim, sizes, strict=True):
            if dim.dim_param:
                dims[dim.dim_param] = size
    return ["--dims", ",".join(f"{name}={size}" for name, size in dims.items())] if dims else []


class EndToEnd(unittest.TestCase):
    """Tests with a folder of their own to write to."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    @classmethod
    def of_class(cls):
        """One whose folder stays as long as the tests of the class run: what setUpClass compiles with."""
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        made = cls()
        made.folder = Path(folder.name)
        return made

    def run_ok(self, name, *arguments):
        done = program(name, *arguments)
        self.assertEqual(done.returncode, 0, f"{name} {arguments}: {done.stdout[-500:]}{done.stderr[-1000:]}")
        return done.stdout

    def accuracies(self, name):
        """Files of a model, each with how far plans may differ, of the largest value. Where a file's accuracy_level lets
        products round activations, ranks that have part of a block round it by another largest value; the file without
        such levels shows that nothing else differs."""
        graph = onnx.load(model_file(name), load_external_data=False)
        levels = [(node, level) for node in graph.graph.node for level in node.attribute if level.name == "accuracy_level"]
        if not levels:
            return [(model_file(name), 1e-5)]
        for node, level in levels:
            node.attribute.remove(level)
        exact = self.folder / "exact"
        shutil.copytree(model_file(name).parent, exact, dirs_exist_ok=True)
        onnx.save(graph, exact / "model.onnx")
        return [(exact / "model.onnx", 1e-5), (model_file(name), 3e-2)]

    def compile(self, model, tp, *flags, to="model.shard"):
        """The artifact of a model file, compiled for `tp` ranks."""
        artifact = self.folder / to
        self.run_ok("shardc", model, "--tp", tp, "-o", artifact, *flags)
        return artifact

    def execute(self, artifact, data_set, *flags):
        """The outputs of a run, which must be as expected, the same bits on all ranks that hold a copy."""
        outputs = self.folder / "outputs"
        for old in outputs.glob("*"):
            old.unlink()
        data = ["--inputs", data_set, "--expect", data_set, "--outputs", outputs]
        self.run_ok("shardrun", artifact, *data, "--check-replicas", *flags)
        return read_outputs(outputs)

    def explain(self, model, tp, *flags):
        """What --explain-json says of a plan."""
        file = self.folder / "explain.json"
        self.run_ok("shardc", model, "--tp", tp, "--explain-json", file, *flags)
        return json.loads(file.read_text())

    def assert_same_numbers(self, found, expected, rounding=1e-5):
        """A plan against one rank: the order of sums differs, nothing else."""
        self.assertEqual(len(found), len(expected))
        for a, b in zip(found, expected):
            self.assertEqual((a.shape, a.dtype), (b.shape, b.dtype))
            limit = 1e-6 + rounding * np.abs(b).max(initial=0)
            self.assertLessEqual(np.abs(a - b).max(initial=0), limit)
