"""No attribute and no operand is ignored in silence.

Each attribute that ONNX's schemas know, of every operator that shardc compiles, is given another value in one of ONNX's
node tests: the program must change, or shardc must refuse the model. Likewise for com.microsoft, whose schemas ONNX
Runtime has (where it is installed), and for one operand more than an operator takes.

    ATTRIBUTES="Resize LSTM" .venv/bin/python -m unittest tests.conformance.test_attributes      only these operators
"""

import os
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
from onnx import AttributeProto, helper, numpy_helper

from tests.conformance import microsoft_cases, node_cases
from tests.support import BIN, program

try:
    from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema
except ImportError:
    get_all_operator_schema = None

# What changes nothing, and why that is right.
WITHOUT_EFFECT = {
    "hidden_size": "the weights have it",
    "stash_type": "shardc computes in f32 or wider",
    "softmax_precision": "shardc computes in f32 or wider",
    "kernel_shape": "the weights have it",
    "training_mode": "is refused as an operand",
    "momentum": "is of training",
    "accuracy_level": "below 4 it asks for no more than f32",
    "seed": "is of training",
    "storage_order": "of places that nobody uses",
    "consumed_inputs": "is of opset 1",
    "BatchNormalization.spatial": "is of opset 8",
    "Resize.extrapolation_value": "is of tf_crop_and_resize",
    "Resize.cubic_coeff_a": "is of cubic",
    "Resize.exclude_outside": "is of cubic",
    "RotaryEmbedding.num_heads": "the operand's dims have it",
    "FusedGemm.activation_beta": "is of activations that no case has",
    "FusedGemm.activation_gamma": "is of activations that no case has",
    "GridSample.padding_mode": "every position is inside",
    "QuantizeLinear.saturate": "is of floats",
    "Cast.saturate": "is of floats of 8 bits",
    "Cast.round_mode": "is of float8e8m0",
    "CastLike.saturate": "is of floats of 8 bits",
    "CastLike.round_mode": "is of float8e8m0",
    "Reshape.allowzero": "no dim is 0",
    "noop_with_empty_axes": "no case has empty axes",
    "Attention.kv_num_heads": "the operand's dims have it",
    "Attention.qk_matmul_output_mode": "the first cases have no fourth output",
    "ConvTranspose.auto_pad": "the first cases have pads",
    "LinearAttention.chunk_size": "is how, not what",
    "LpPool.ceil_mode": "the windows fit",
    "QuantizeLinear.output_dtype": "the zero points have it",
    "RotaryEmbedding.rotary_embedding_dim": "the tables' widths have it",
    "Attention.q_num_heads": "the operand's dims have it",
    "GroupQueryAttention.qk_output": "of a fourth result, which is refused",
    "GroupQueryAttention.qk_norm_epsilon": "of weights of norms, which no case has",
}

chosen = os.environ.get("ATTRIBUTES", "").split()


def others(kind, default):
    """Values that an attribute does not have by default."""
    if kind == AttributeProto.INT:
        return [value for value in (0, 1, 2, -1, 3) if value != (default.i if default else None)]
    if kind == AttributeProto.FLOAT:
        return [(default.f if default else 0.5) * 1.5 + 0.25, 0.37]
    if kind == AttributeProto.STRING:
        return ["OTHER"]
    if kind == AttributeProto.INTS:
        return [[7, 7, 7, 7], [2, 2], [1]]
    if kind == AttributeProto.FLOATS:
        return [[0.37], [0.37, 0.37, 0.37]]
    if kind == AttributeProto.STRINGS:
        return [["Relu"] * 3, ["Relu"]]
    return []


def with_attribute(model, number, name, value):
    """A copy in which that node has the attribute."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    node = changed.graph.node[number]
    kept = [attribute for attribute in node.attribute if attribute.name != name]
    del node.attribute[:]
    node.attribute.extend([*kept, helper.make_attribute(name, value)])
    for output in changed.graph.output:  # its sizes may be others
        output.type.tensor_type.ClearField("shape")
    return changed


class Attributes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not (BIN / "shardc").exists():
            raise unittest.SkipTest("shardc is not built")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)

    def compiled(self, model, name):
        """The program's text; nothing if it is refused."""
        file = self.folder / f"{name}.onnx".replace("/", "-")
        file.write_bytes(model.SerializeToString())
        done = program("shardc", file, "--to=lowered")
        self.assertIn(done.returncode, (0, 3), f"{name}: {done.stderr[-500:]}")
        return done.stdout.replace(file.name, "") if done.returncode == 0 else None

    def has_effect(self, models, name, values, number):
        """Whether a value changes one of the programs, or is refused."""
        for i, (plain, before) in enumerate(models):
            for value in values:
                if self.compiled(with_attribute(plain, number(plain), name, value), f"{os.getpid()}-{name}-{i}-{id(values)}") != before:
                    return True
        return False

    def check(self, op, models, attributes, number):
        models = [(model, text) for i, model in enumerate(models) if (text := self.compiled(model, f"{op}-{i}")) is not None]
        return [
            f"{op}.{name}"
            for name, values in attributes
            if models
            and values
            and name not in WITHOUT_EFFECT
            and f"{op}.{name}" not in WITHOUT_EFFECT
            and not self.has_effect(models, name, values, number)
        ]

    def assert_none_silent(self, jobs):
        jobs = [job for job in jobs if not chosen or job[0] in chosen]
        with ThreadPoolExecutor(2) as pool:
            silent = [name for names in pool.map(lambda job: self.check(*job), jobs) for name in names]
        self.assertEqual(silent, [], "attributes that change nothing")

    def test_of_onnx(self):
        cases, jobs = {}, []
        for case in node_cases.collect().values():
            nodes = case.model.graph.node
            if case.has_only_tensors and len(nodes) == 1 and nodes[0].domain == "":
                cases.setdefault(nodes[0].op_type, []).append(case.model)
        for op, models in cases.items():
            versions = {opset.domain: opset.version for opset in models[0].opset_import}
            schema = onnx.defs.get_schema(op, versions[""])
            attributes = [
                (name, others(attribute.type.value, attribute.default_value if attribute.default_value.name else None))
                for name, attribute in schema.attributes.items()
            ]
            jobs.append((op, models[:4], attributes, lambda model: 0))
        self.assert_none_silent(jobs)

    @unittest.skipIf(get_all_operator_schema is None, "ONNX Runtime is not installed")
    def test_of_onnx_runtime(self):
        schemas = {schema.name: schema for schema in get_all_operator_schema() if schema.domain == microsoft_cases.DOMAIN}
        cases, jobs = {}, []
        for case in microsoft_cases.with_expected(microsoft_cases.collect()):
            cases.setdefault(case.node.op_type, []).append(microsoft_cases.to_model([case]))
        for op, models in cases.items():
            kinds = {"INT": AttributeProto.INT, "FLOAT": AttributeProto.FLOAT, "STRING": AttributeProto.STRING,
                     "INTS": AttributeProto.INTS, "FLOATS": AttributeProto.FLOATS}  # fmt: skip
            attributes = []
            for name, attribute in schemas[op].attributes.items():
                kind = kinds.get(str(attribute.type).split(".")[-1])
                attributes.append((name, others(kind, None)))
            jobs.append((op, models, attributes, lambda model: 0))
        self.assert_none_silent(jobs)

    def test_operand_too_many(self):
        for case in microsoft_cases.with_expected(microsoft_cases.collect()):
            if case.node.op_type == "QLinearConcat":  # has any number
                continue
            model = microsoft_cases.to_model([case])
            node = model.graph.node[0]
            names = list(node.input) + [""] * (20 - len(node.input))
            model.graph.initializer.append(numpy_helper.from_array(np.zeros(3, np.int32), "more"))
            del node.input[:]
            node.input.extend([*names, "more"])
            with self.subTest(case=case.name):
                file = self.folder / "more.onnx"
                onnx.save(model, file)
                done = program("shardc", file, "--to=raw")
                self.assertEqual(done.returncode, 3)
                self.assertIn(f"{node.op_type}: operand ", done.stderr)
                self.assertIn(" of 21 (1 node, first ", done.stderr)


if __name__ == "__main__":
    unittest.main()
