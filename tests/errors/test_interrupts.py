"""A program that is told to end leaves nothing behind."""

import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.support import BIN, EndToEnd, model_file


def large_model(file, size=3072):
    """A product whose weight takes a while to copy."""
    weights = [numpy_helper.from_array(np.ones((size, size), np.float32), f"w{i}") for i in range(4)]
    names = ["x", "a", "b", "c", "y"]
    nodes = [helper.make_node("MatMul", [names[i], f"w{i}"], [names[i + 1]], name=f"p{i}") for i in range(4)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", size])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", size])], weights)  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    onnx.save(model, file, save_as_external_data=True, location="weights.bin")


def listens():
    """A child of a shell in the background ignores what it has to end of."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def holds(folder, ending):
    """Whether a file of that ending is below a folder whose parts come and go."""
    return any(name.endswith(ending) for _, _, names in os.walk(folder) for name in names)


class Interrupts(EndToEnd):
    def interrupt(self, number, *arguments, when, **environment):
        """Starts shardc, sends it a signal as soon as `when` says so, and returns the status."""
        program = subprocess.Popen([str(a) for a in (BIN / "shardc", *arguments)], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, preexec_fn=listens,
                                   env={**os.environ, **environment})
        while not when() and program.poll() is None:
            time.sleep(0.0005)
        self.assertIsNone(program.poll(), "it was over before it could be interrupted")
        program.send_signal(number)
        return program.wait(timeout=60)

    def test_while_weights_are_copied(self):
        large_model(self.folder / "model.onnx")
        before = sorted(self.folder.rglob("*"))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number):
                flags = ["--tp", 2, "--weights", "copy", "-o", self.folder / "out" / "model.shard"]
                status = self.interrupt(number, self.folder / "model.onnx", *flags,
                                        when=lambda: holds(self.folder, ".safetensors"))
                self.assertEqual(status, -number)
                left = [path for path in sorted(self.folder.rglob("*")) if path not in before and path.is_file()]
                self.assertEqual(left, [])
                self.assertEqual(list(self.folder.rglob("*.partial*")), [])

    def test_while_a_plan_is_verified(self):
        temporary = self.folder / "tmp"
        temporary.mkdir()
        status = self.interrupt(signal.SIGTERM, "verify", model_file("bert-ts-op17"), "--tp", 2,
                                when=lambda: holds(temporary, "manifest.json"), TMPDIR=str(temporary))
        self.assertEqual(status, -signal.SIGTERM)
        self.assertEqual(list(temporary.iterdir()), [])

    def test_what_a_killed_one_left_goes_with_the_next(self):
        large_model(self.folder / "model.onnx")
        target = self.folder / "model.shard"
        status = self.interrupt(signal.SIGKILL, self.folder / "model.onnx", "--weights", "copy", "-o", target,
                                when=lambda: holds(self.folder, ".safetensors"))
        self.assertEqual(status, -signal.SIGKILL)
        self.assertNotEqual(list(self.folder.glob("*.partial*")), [])
        self.run_ok("shardc", model_file("bert-ts-op17"), "-o", target)
        self.assertEqual(list(self.folder.glob("*.partial*")), [])
        self.assertTrue(Path(target, "manifest.json").exists())
