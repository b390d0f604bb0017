"""ONNX's own node tests: a model of mostly one node, its inputs, and the outputs that ONNX expects.

Many cases make one model, side by side, so that all of them take seconds:

    batch = Batch(folder, cases)
    batch.outputs(tp=2)     {"test_add": [array], ...}, or a Failure that says what went wrong with the whole

ONNX gives every operand as an input of the model, axes and shapes too. shardc compiles for shapes that follow from
those of the inputs, as exporters write them; so inputs that shapes are computed from become initializers here.
"""

import subprocess
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import compose, numpy_helper
from onnx.backend.test.case.node import collect_testcases
from onnx.backend.test.runner import Runner

from tests.support import BIN

# Operands that give shapes, bounds, axes, counts and modes.
SHAPES = {
    "AffineGrid": [1], "BlackmanWindow": [0], "CenterCropPad": [1], "Col2Im": [1, 2], "ConstantOfShape": [0],
    "CumProd": [1], "CumSum": [1], "DFT": [1, 2], "Dropout": [1, 2], "Expand": [1], "HammingWindow": [0],
    "HannWindow": [0], "MaxUnpool": [2], "MelWeightMatrix": [0, 1, 2, 3, 4], "OneHot": [1], "Pad": [1, 3],
    "Range": [0, 1, 2], "Reshape": [1], "Resize": [1, 2, 3], "STFT": [1, 3], "Slice": [1, 2, 3, 4], "Split": [1],
    "Squeeze": [1], "Tile": [1], "TopK": [1], "Trilu": [1], "Unsqueeze": [1], "Upsample": [1],
} | {
    f"Reduce{kind}": [1]
    for kind in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
}  # fmt: skip


def shape_inputs(graph):
    """Names of the graph's inputs of one dim at most that shapes are computed from."""
    makers = {name: node for node in graph.node for name in node.output}
    wanted = [
        node.input[i] for node in graph.node for i in SHAPES.get(node.op_type, []) if i < len(node.input)
    ]
    seen = set()
    while wanted:
        name = wanted.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in makers and makers[name].op_type not in ("Shape", "Size"):
            wanted += makers[name].input
    return {
        value.name
        for value in graph.input
        if value.name in seen and len(value.type.tensor_type.shape.dim) <= 1
    }


@dataclass
class NodeCase:
    name: str
    op: str
    model: onnx.ModelProto
    inputs: list
    expected: list
    tolerance: tuple  # relative, absolute

    def __post_init__(self):
        """Shapes become initializers, in a copy: ONNX hands out the same models the next time."""
        model = onnx.ModelProto()
        model.CopyFrom(self.model)
        self.model = model
        graph, known = self.model.graph, shape_inputs(self.model.graph)
        for value, data in zip(graph.input, self.inputs):
            if value.name in known:
                graph.initializer.append(as_proto(data, value.name))
        self.inputs = [data for value, data in zip(graph.input, self.inputs) if value.name not in known]
        inputs = [value for value in graph.input if value.name not in known]
        del graph.input[:]
        graph.input.extend(inputs)

    @property
    def has_only_tensors(self):
        """No sequences, no optionals."""
        values = [*self.model.graph.input, *self.model.graph.output]
        return all(value.type.HasField("tensor_type") for value in values)

    @property
    def opsets(self):
        return tuple((opset.domain, opset.version) for opset in self.model.opset_import)

    def difference(self, outputs):
        """What differs from the expected outputs, as ONNX compares them; empty if nothing does."""
        expected = [numpy_helper.to_array(x) if isinstance(x, onnx.TensorProto) else x for x in self.expected]
        relative, absolute = self.tolerance
        # ONNX's tolerance is less than what rounding the expected numbers themselves costs: of float16 one unit in the
        # last place, and of numbers that cancel to almost nothing one of the largest number.
        if any(x.dtype == np.float16 for x in expected):
            relative = max(relative, 2**-9)
        largest = max((np.abs(x).max(initial=0) for x in expected if x.dtype == np.float32), default=0)
        if np.isfinite(largest):
            absolute = max(absolute, largest * 2**-23)
        try:
            Runner.assert_similar_outputs(expected, outputs, relative, absolute)
        except AssertionError as error:
            return str(error).strip()
        return ""


def as_proto(tensor, name):
    proto = onnx.TensorProto()
    proto.CopyFrom(tensor if isinstance(tensor, onnx.TensorProto) else numpy_helper.from_array(tensor))
    proto.name = name
    return proto


def collect():
    """All cases by name. Their inputs are random, of a fixed seed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of numpy, about the overflows that are tested
        found = collect_testcases(None)
    cases = [
        NodeCase(case.name, case.model.graph.node[-1].op_type, case.model, *map(list, case.data_sets[0]), (case.rtol, case.atol))
        for case in found
    ]
    return {case.name: case for case in cases}


class Failure(Exception):
    """A program that did not end with 0."""

    def __init__(self, done):
        super().__init__(f"{Path(done.args[0]).name} ended with {done.returncode}: {done.stderr.strip()[-1500:]}")
        self.status = done.returncode


def run(program, *arguments):
    command = [str(BIN / program), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=300)
    if done.returncode != 0:
        raise Failure(done)
    return done.stdout


def merge(cases):
    """One model; values of case number N are called N/NAME. A single case stays as it is."""
    if len(cases) == 1:
        return cases[0].model
    merged = onnx.ModelProto()
    merged.ir_version = max(case.model.ir_version for case in cases)
    merged.opset_import.extend(cases[0].model.opset_import)
    merged.graph.name = "cases"
    for number, case in enumerate(cases):
        graph = compose.add_prefix(case.model, f"{number}/").graph
        for node in graph.node:
            node.name = f"{case.name}/{node.name}"
        merged.graph.node.extend(graph.node)
        merged.graph.initializer.extend(graph.initializer)
        merged.graph.input.extend(graph.input)
        merged.graph.output.extend(graph.output)
    return merged


class Batch:
    """Cases of the same opsets as one model, compiled and run on a number of ranks."""

    def __init__(self, folder, cases):
        self.folder, self.cases = Path(folder), cases
        self.model = self.folder / "model.onnx"
        self.data = self.folder / "inputs"
        self.data.mkdir(parents=True)
        self.model.write_bytes(merge(cases).SerializeToString())
        for i, tensor in enumerate(tensor for case in cases for tensor in case.inputs):
            (self.data / f"input_{i}.pb").write_bytes(as_proto(tensor, "").SerializeToString())

    def import_model(self):
        """The imported phase, and how many factors the op with the most has that may be split."""
        self.imported = self.folder / "imported.mlir"
        self.imported.write_text(run("shardc", self.model, "--to=imported"))
        listed = run("shard-opt", self.imported, "--shardc-test-list-factors", "-o", "/dev/null")
        factors = [line.split()[3:] for line in listed.splitlines() if line.startswith("factors ")]
        return max((sum(letter != "N" for letter in letters) for letters in factors), default=0)

    def outputs(self, tp, factor=None):
        """Each case's outputs; split as the compiler plans it, or each op along its factor of that number."""
        artifact = self.folder / f"tp{tp}-{factor}"
        if factor is None:
            run("shardc", self.model, "--tp", tp, "-o", artifact)
        else:
            sharded = self.folder / f"factor{factor}.mlir"
            split = f"--shardc-test-split-factors=ways={tp} factor={factor}"
            run("shard-opt", self.imported, split, "--mlir-print-debuginfo", "-o", sharded)
            run("shardc", sharded, "--from=sharded", "--tp", tp, "-o", artifact)
        written = artifact / "outputs"
        run("shardrun", artifact, "--inputs", self.data, "--outputs", written, "--check-replicas")
        files = iter(range(len(list(written.iterdir()))))
        return {
            case.name: [numpy_helper.to_array(onnx.load_tensor(written / f"output_{next(files)}.pb")) for _ in case.expected]
            for case in self.cases
        }
