"""Inputs, expected outputs and outputs as NumPy's archives."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from tests.support import BIN, EndToEnd, data_sets, model_file, program

BERT = "bert-ts-op17"


class Npz(EndToEnd):
    def setUp(self):
        super().setUp()
        self.data = data_sets(BERT)[0]
        self.artifact = self.compile(model_file(BERT), 2)

    def arrays(self, kind):
        tensors = [onnx.load_tensor(file) for file in sorted(self.data.glob(f"{kind}_*.pb"))]
        return {tensor.name: numpy_helper.to_array(tensor) for tensor in tensors}

    def test_inputs_and_expected_outputs(self):
        for save in (np.savez, np.savez_compressed):
            with self.subTest(save.__name__):
                save(self.folder / "in.npz", **self.arrays("input"))
                save(self.folder / "out.npz", **self.arrays("output"))
                data = ["--inputs", self.folder / "in.npz", "--expect", self.folder / "out.npz"]
                self.assertIn("of the tolerance", self.run_ok("shardrun", self.artifact, *data))

    def test_expected_outputs_that_are_others(self):
        wrong = {name: array + 1 for name, array in self.arrays("output").items()}
        np.savez(self.folder / "out.npz", **wrong)
        flags = ["--inputs", self.data, "--expect", self.folder / "out.npz"]
        self.assertEqual(program("shardrun", self.artifact, *flags).returncode, 1)
        np.savez(self.folder / "out.npz", other=np.zeros(3))
        done = program("shardrun", self.artifact, *flags)
        self.assertEqual(done.returncode, 2)
        self.assertIn("has no array 'logits': expected output 0, float32", done.stderr)

    def test_outputs(self):
        file = self.folder / "results.npz"
        self.run_ok("shardrun", self.artifact, "--inputs", self.data, "--expect", self.data, "--outputs", file)
        with np.load(file) as found:
            expected = self.arrays("output")
            self.assertEqual(set(found), set(expected))
            for name, array in expected.items():
                self.assertEqual((found[name].dtype, found[name].shape), (array.dtype, array.shape))
                np.testing.assert_allclose(found[name], array, rtol=1e-3, atol=1e-4)
        self.run_ok("shardrun", self.artifact, "--inputs", self.data, "--expect", file)

    def test_outputs_of_several_requests(self):
        self.run_ok("shardrun", self.artifact, "--inputs", self.data, self.data, "--outputs", self.folder / "r.npz")
        self.assertEqual(sorted(file.name for file in self.folder.glob("*.npz")), ["r.0.npz", "r.1.npz"])

    def test_damaged_archives(self):
        np.savez_compressed(self.folder / "in.npz", **self.arrays("input"))
        good = (self.folder / "in.npz").read_bytes()
        for place in range(0, len(good), 37):
            bad = bytearray(good)
            bad[place] ^= 0xFF
            (self.folder / "in.npz").write_bytes(bad)
            # Names in messages may be no text any more.
            done = subprocess.run([BIN / "shardrun", self.artifact, "--inputs", self.folder / "in.npz"],
                                  capture_output=True, timeout=300)  # fmt: skip
            self.assertIn(done.returncode, (0, 2, 4), done.stderr)  # 0: a date, say; 4: an index that is none


class StaleOutputs(EndToEnd):
    def test_only_this_runs_outputs_are_there(self):
        artifact = self.compile(model_file(BERT), 1)
        folder = self.folder / "results"
        folder.mkdir()
        for name in ("output_0.pb", "output_7.pb", "output_10.pb", "output_x.pb", "notes.pb"):
            (folder / name).write_text("before")
        self.run_ok("shardrun", artifact, "--inputs", data_sets(BERT)[0], "--outputs", folder)
        self.assertEqual(sorted(file.name for file in folder.iterdir()), ["notes.pb", "output_0.pb", "output_x.pb"])
        self.assertNotEqual((folder / "output_0.pb").read_bytes(), b"before")

    def test_another_number_of_requests(self):
        artifact = self.compile(model_file(BERT), 1)
        data = data_sets(BERT)[0]
        folder = self.folder / "results"

        def files_after(count):
            self.run_ok("shardrun", artifact, "--inputs", *[data] * count, "--outputs", folder)
            return sorted(str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file())

        self.assertEqual(files_after(3), [f"{i}/output_0.pb" for i in range(3)])
        (folder / "1/notes.txt").write_text("mine")
        self.assertEqual(files_after(1), ["1/notes.txt", "output_0.pb"])
        self.assertFalse((folder / "0").exists())
        self.assertEqual(files_after(2), ["0/output_0.pb", "1/notes.txt", "1/output_0.pb"])
        shutil.copytree(data, folder / "7")
        kept = sorted(str(Path("7") / file.name) for file in data.iterdir())
        self.assertEqual(files_after(1), ["1/notes.txt", *kept, "output_0.pb"])
