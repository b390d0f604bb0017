"""The small models that ONNX's package ships compute what ONNX expects. Positions in sequences become constants."""

from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from tests.support import EndToEnd, program, read_outputs

MODELS = Path(onnx.__file__).parent / "backend/test/data/simple"
# What shardc refuses: strings, and training.
REFUSED = ("StringNormalizer", "Gradient")


def constants(model, data):
    """Integers that say positions and parts of sequences become initializers; the other inputs."""
    has_sequences = any("Sequence" in node.op_type for node in model.graph.node)
    fixed = {name for name, array in data.items() if has_sequences and array.ndim <= 1 and array.dtype == np.int64}
    model.graph.initializer.extend(numpy_helper.from_array(data[name], name) for name in fixed)
    kept = [value for value in model.graph.input if value.name not in fixed]
    del model.graph.input[:]
    model.graph.input.extend(kept)
    return {name: array for name, array in data.items() if name not in fixed}


class SimpleModels(EndToEnd):
    def test_models(self):
        for folder in sorted(MODELS.iterdir()):
            model = onnx.load(folder / "model.onnx")
            with self.subTest(model=folder.name):
                if {node.op_type for node in model.graph.node} & set(REFUSED):
                    self.assertEqual(program("shardc", folder / "model.onnx", "--to=raw").returncode, 3)
                    continue
                for data in sorted(folder.glob("test_data_set_*")):
                    self.check(model, data)

    def check(self, model, data):
        def tensors(kind, count):
            return [numpy_helper.to_array(onnx.load_tensor(data / f"{kind}_{i}.pb")) for i in range(count)]

        weights = {weight.name for weight in model.graph.initializer}
        names = [value.name for value in model.graph.input if value.name not in weights]
        changed = onnx.ModelProto()
        changed.CopyFrom(model)
        inputs = constants(changed, dict(zip(names, tensors("input", len(names)))))
        onnx.save(changed, self.folder / "model.onnx")
        np.savez(self.folder / "inputs.npz", **inputs)
        artifact = self.compile(self.folder / "model.onnx", 1)
        self.run_ok("shardrun", artifact, "--inputs", self.folder / "inputs.npz", "--outputs", self.folder / "out")
        for found, expected in zip(read_outputs(self.folder / "out"), tensors("output", len(model.graph.output)), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
            self.assertEqual((found.shape, found.dtype), (expected.shape, expected.dtype))
