"""Where ranks run: the devices that shardrun finds, what it refuses, and real models on a device whose memory the host
cannot touch and whose work is put off until somebody waits (tests/conformance/backend)."""

import os
import re
import subprocess

import numpy as np
import onnx

from tests.e2e import caches
from tests.support import BIN, BUILD, LAYERS, EndToEnd, data_sets, model_file, read_outputs

FAKE = {"SHARDC_BACKENDS": str(BUILD / "lib/tests")}
REFUSED = {"SHARDC_BACKENDS": str(BUILD / "lib/refused")}


def run(*arguments, **environment):
    command = [str(a) for a in (BIN / "shardrun", *arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=os.environ | environment)


class Devices(EndToEnd):
    def outputs(self, artifact, data, device, *flags, **environment):
        out = self.folder / f"out-{device}"
        done = run(artifact, "--device", device, "--inputs", data, "--expect", data, "--outputs", out, *flags, **environment)
        self.assertEqual(done.returncode, 0, done.stdout[-500:] + done.stderr[-1000:])
        return read_outputs(out)

    def refusal(self, *arguments, code=4, **environment):
        done = run(*arguments, **environment)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stderr

    def test_models_compute_the_same_on_a_device(self):
        """Its products read weights as they are stored, the host's as they are packed: sums differ in order."""
        plans = {"tp1": [1], "tp2": [2], "tp2sp": [2, "--sp"], "tp2pp2": [2, "--pp", 2], "cp2": [1, "--cp", 2]}
        for model in LAYERS:
            for name, (tp, *flags) in plans.items():
                if "cp2" in name and "llama-dynamo" not in model:
                    continue
                artifact = self.compile(model_file(model), tp, *flags, to=f"{model}-{name}")
                data = data_sets(model)[0]
                with self.subTest(model, plan=name):
                    expected = self.outputs(artifact, data, "host")
                    found = self.outputs(artifact, data, "fake", "--check-replicas", "--repeat", 3, **FAKE)
                    self.assert_same_numbers(found, expected)

    def test_kernels_that_a_device_lacks_run_on_the_host(self):
        for model in LAYERS:
            artifact = self.compile(model_file(model), 2, to=model)
            data = data_sets(model)[0]
            with self.subTest(model):
                expected = self.outputs(artifact, data, "host")
                lacks = "Attention,CacheAppend,Copy,Gather,Gemm,MatMul,MatMulDequantized,Range"
                found = self.outputs(artifact, data, "fake", "--repeat", 3, SHARDC_FAKE_LACKS=lacks, **FAKE)
                self.assert_same_numbers(found, expected)
        done = run(artifact, "--preflight", "--device", "fake", SHARDC_FAKE_LACKS="MatMul,Gather,Conv", **FAKE)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, "warning: the device has no kernel .*MatMul.*: these run on the host")

    def test_lists_what_there_is(self):
        done = run("--devices", **(FAKE | {"SHARDC_FAKE_DEVICES": "2", "SHARDC_FAKE_REFUSE": "1"}))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?m)^host:0  host, \d+ cores?, \S+, [\d.]+ GiB of memory, [\d.]+ GiB free$")
        self.assertRegex(done.stdout, r"(?m)^fake:0  fake device, fake_1, 4.0 GiB of memory, 4.0 GiB free$")
        self.assertRegex(done.stdout, r"(?m)^fake:1 .*\n    refused: its architecture is too old")
        self.assertRegex(done.stdout, r"(?m)^cuda(:0)?  ")

    def test_says_why_a_plugin_is_refused(self):
        text = run("--devices", **REFUSED).stdout
        for name, why in (("wrong_version", r"is a plugin of version \d+, expected \d+"),
                          ("wrong_layout", "was built with other headers"),
                          ("no_entry", "is no plugin of this runtime"),
                          ("no_backend", "has no backend"),
                          ("orphan", "libshardrt_gone.so: cannot open shared object file")):  # fmt: skip
            with self.subTest(name):
                self.assertRegex(text, rf"(?m)^{name}  refused: .*libshardrt_{name}.so: .*{why}")

    def test_cuda_without_a_driver_is_one_clear_error(self):
        text = run("--devices").stdout
        self.assertNotRegex(text, "(?m)^(mpi|ucx) ", "they bring no devices")
        line = re.search(r"(?m)^cuda  refused: (.*)$", text)
        if line is None:
            self.skipTest("this machine has a GPU")
        self.assertRegex(line[1], "no NVIDIA driver|shows no GPU|libshardrt_cuda.so is not in|cannot open shared object")
        artifact = self.compile(model_file("bert-ts-op17"), 1)
        error = self.refusal(artifact, "--device", "cuda", "--inputs", data_sets("bert-ts-op17")[0])
        self.assertIn(line[1], error)

    def test_wrong_devices(self):
        artifact = self.compile(model_file("bert-ts-op17"), 2)
        data = ["--inputs", data_sets("bert-ts-op17")[0]]
        for device in ("fake:", "fake:x", ":0"):
            self.assertIn("expected host, cuda or a device such as cuda:0",
                          self.refusal(artifact, "--device", device, *data, code=2, **FAKE))  # fmt: skip
        self.assertIn("there is no backend 'tpu'", self.refusal(artifact, "--device", "tpu", *data))
        error = self.refusal(artifact, "--device", "fake:99", *data, code=2, **FAKE)
        self.assertIn("--device fake:99 cannot be used; this machine has fake:0", error)
        error = self.refusal(artifact, "--device", "fake", *data, code=2, SHARDC_FAKE_DEVICES="1", **FAKE)
        self.assertIn("too few devices: rank 1 of this machine would be on fake:1", error)
        self.assertIn("put several ranks on one device with --device fake:0", error)

    def test_ranks_share_a_device(self):
        artifact = self.compile(model_file("llama-dynamo-op18"), 2)
        data = data_sets("llama-dynamo-op18")[0]
        expected = self.outputs(artifact, data, "host")
        found = self.outputs(artifact, data, "fake:0", SHARDC_FAKE_DEVICES="1", **FAKE)
        self.assert_same_numbers(found, expected)

    def test_memory_that_is_too_small_is_said_before_anything_is_loaded(self):
        artifact = self.compile(model_file("llama-dynamo-op18"), 2)
        data = data_sets("llama-dynamo-op18")[0]
        error = self.refusal(artifact, "--device", "fake", "--inputs", data, SHARDC_FAKE_MEMORY="100000", **FAKE)
        self.assertRegex(error, r"rank 0 .*needs \d+ bytes on device.* has 100000 free: [1-9]\d+ of weights, [1-9]\d+ of "
                                r"intermediate values of its smallest request; .*more ranks")

    def test_preflight_loads_nothing(self):
        artifact = self.compile(model_file("llama-dynamo-op18"), 2, "--pp", 2)
        for device in ("host", "fake"):
            done = run(artifact, "--preflight", "--device", device, **FAKE)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, r"(?m)^rank 3 \(pp 1, tp 1\): device \d+ \(.*\), [1-9]\d+ bytes of (copies of )?"
                                          r"weights, \d+ free$")
            self.assertTrue(done.stdout.endswith("preflight passed\n"), done.stdout)
        error = self.refusal(artifact, "--preflight", "--device", "fake", SHARDC_FAKE_MEMORY="100000", **FAKE)
        self.assertRegex(error, r"needs \d+ bytes on device")

    def test_preflight_says_how_many_positions_fit(self):
        """Keys and values of two layers, heads split over two ranks, in f32."""
        onnx.save(caches.decoder(), self.folder / "model.onnx")
        artifact = self.compile(self.folder / "model.onnx", 2)
        done = run(artifact, "--preflight", "--device", "fake", SHARDC_FAKE_MEMORY="10000000", **FAKE)
        found = re.search(r"rank 0 .*, 10000000 free, room for (\d+) positions of its KV caches at batch 1\n", done.stdout)
        self.assertTrue(found, done.stdout + done.stderr)
        position = 2 * 2 * (caches.HEADS // 2) * caches.SIZE * 4  # of both layers
        self.assertGreater(int(found[1]), 0.9 * 10_000_000 / position)
        self.assertLess(int(found[1]), 10_000_000 / position)
        error = self.refusal(artifact, "--preflight", "--device", "fake", SHARDC_FAKE_MEMORY="100", **FAKE)
        self.assertIn(f"KV caches take {position} bytes a position at batch 1 on top", error)

    def test_the_environment_names_the_device(self):
        artifact = self.compile(model_file("bert-ts-op17"), 1)
        data = data_sets("bert-ts-op17")[0]
        done = run(artifact, "--inputs", data, SHARDC_DEVICE="fake:99", **FAKE)
        self.assertEqual(done.returncode, 2)
        self.assertIn("fake:99 cannot be used", done.stderr)
        # The flag counts more.
        done = run(artifact, "--inputs", data, "--device", "host", SHARDC_DEVICE="fake:99", **FAKE)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_times_of_a_device_are_those_of_its_work(self):
        artifact = self.compile(model_file("bert-ts-op17"), 1)
        data = data_sets("bert-ts-op17")[0]
        done = run(artifact, "--inputs", data, "--device", "fake", "--profile", "--repeat", 2, **FAKE)
        self.assertEqual(done.returncode, 0, done.stderr)
        total = float(re.search(r"1 runs of the last size; ([\d.]+) ms", done.stdout)[1])
        self.assertTrue(np.isfinite(total) and total > 0, done.stdout)
        self.assertRegex(done.stdout, r"at best a rank's device copies [\d.]+ GB/s and multiplies [\d.]+ GFLOP/s")
        self.assertRegex(done.stdout, r"(?m)^ +[\d.]+ ms +[\d.]+ % +\d+ x +[\d.]+ +[\d.]+ +\d+ %  MatMul$")
