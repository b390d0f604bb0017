"""One process a rank: started by hand, by mpirun, as by torchrun and srun, on two hosts."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
import unittest
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

from tests.e2e.caches import VOCABULARY, decoder, write_steps
from tests.e2e.encoders import Text, encoder_decoder
from tests.e2e.processes import LLAMA, ProcessTest, by_hand, srun, torchrun
from tests.e2e.test_parallel import experts_model
from tests.e2e.test_rows import text_decoder
from tests.support import BIN, data_sets, model_file


class Launchers(ProcessTest):
    def test_torchrun_and_srun(self):
        data = data_sets(LLAMA)[0]
        for launcher, size in ((torchrun, 2), (srun, 2), (torchrun, 8), (srun, 8)):
            with self.subTest(launcher.__name__, size=size):
                artifact = self.artifact(model_file(LLAMA), "--tp 2" if size == 2 else "--dp 2 --pp 2 --tp 2")
                run = lambda *arguments: self.run_processes(launcher(size), *arguments)
                out = self.assert_like_threads(artifact, run, "--inputs", data, "--expect", data)
                self.assertEqual(len(re.findall("largest error", out)), 1, "only rank 0 prints")

    @unittest.skipUnless(shutil.which("mpirun"), "no mpirun")
    def test_mpirun(self):
        data = data_sets(LLAMA)

        def run(*arguments):
            command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", size]
            command = [str(part) for part in (*command, BIN / "shardrun", *arguments)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done.stdout

        for size, plan in ((2, "--tp 2"), (8, "--dp 2 --pp 2 --tp 2")):
            with self.subTest(size=size):
                out = self.assert_like_threads(
                    self.artifact(model_file(LLAMA), plan), run, "--inputs", *data, "--expect", *data
                )
                self.assertEqual(len(re.findall("largest error", out)), len(data))

    @unittest.skipUnless(shutil.which("mpirun"), "no mpirun")
    def test_mpirun_says_who_died(self):
        artifact = self.artifact(model_file(LLAMA), "--tp 2")
        script = f"echo $$ > {self.folder}/pid$OMPI_COMM_WORLD_RANK; exec \"$@\""
        command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", "bash", "-c", script, "-"]
        command += [BIN / "shardrun", artifact, "--inputs", data_sets(LLAMA)[0], "--repeat", "1000000"]
        command = [str(part) for part in command]
        job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, job)
        pid = self.folder / "pid1"
        self.wait_until(lambda: pid.exists() and pid.read_text().strip() and self.has_started(pid.read_text().strip()))
        os.kill(int(pid.read_text()), signal.SIGKILL)
        _, errors = job.communicate(timeout=30)
        self.assertNotEqual(job.returncode, 0)
        # The other rank's word, or mpirun's own where that comes first.
        self.assertRegex(errors, r"rank 1\b.*(signal 9|has died)")


class Plans(ProcessTest):
    def check(self, model, plan, size, *arguments):
        run = lambda *all: self.run_processes(by_hand(size), *all, "--check-replicas")
        self.assert_like_threads(self.artifact(model, plan), run, *arguments)

    def test_every_kind_of_parallelism(self):
        data = data_sets(LLAMA)
        for size, plan in (
            (2, "--tp 2 --sp"),
            (3, "--tp 3"),
            (3, "--cp 3"),
            (2, "--cp 2 --cp-mode ring"),
            (2, "--cp 2 --cp-mode ulysses"),
            (4, "--pp 4"),
            (4, "--dp 4"),
            (4, "--pp 2 --dp 2 --micro-batches 2"),
            (8, "--pp 2 --cp 2 --tp 2 --sp"),
        ):
            with self.subTest(plan):
                self.check(model_file(LLAMA), plan, size, "--inputs", *data, data[0], data[1], data[0])

    def test_experts(self):
        file = self.folder / "experts.onnx"
        model = experts_model()
        onnx.save(model, file)
        for tokens in (0, 7):
            x = np.random.default_rng(tokens).normal(size=(tokens, 8)).astype(np.float32)
            np.savez(self.folder / "x.npz", **{model.graph.input[0].name: x})
            self.check(file, "--ep 2 --tp 2", 4, "--inputs", self.folder / "x.npz")

    def test_states(self):
        """A prompt and steps; each process keeps its part of the caches."""
        model, total = decoder(), 9
        file = self.folder / "decoder.onnx"
        onnx.save(model, file)
        ids = np.random.default_rng(3).integers(0, VOCABULARY, (2, total))
        folders = write_steps(self.folder / "steps", model, ids, [5] + [1] * (total - 5))
        for size, plan in ((2, "--pp 2"), (4, "--pp 2 --tp 2"), (4, "--dp 2 --tp 2")):
            with self.subTest(plan):
                self.check(file, plan, size, "--inputs", *folders, "--cache", total, "--repeat", 2)

    def test_rows_with_encoders(self):
        """Of two texts that begin at different steps: what an encoder gave comes with the first step of each."""
        model, folders = encoder_decoder("merged"), []
        onnx.save(model, self.folder / "model.onnx")
        texts = [Text(1, 9), Text(2, 3)]
        for number, (text, past, count) in enumerate(((0, 0, 4), (0, 4, 1), (1, 0, 6), (0, 5, 1), (1, 6, 1))):
            folders.append(texts[text].write(self.folder / f"r{number}", model, past, count, has_encoder=past == 0))
        for plan in ("--tp 2", "--pp 2"):
            with self.subTest(plan):
                self.check(self.folder / "model.onnx", f"{plan} --serve=4", 2, "--inputs", *folders, "--sequences", "0;0,1;0,1", "--cache", 60)

    def test_texts(self):
        """A server on rank 0: its steps go through the stages in parts, each of them a command."""
        onnx.save(text_decoder(), self.folder / "text.onnx")
        rng = np.random.default_rng(4)
        texts = [{"prompt": rng.integers(0, VOCABULARY, n).tolist(), "tokens": m} for n, m in ((30, 3), (14, 5), (25, 2))]
        (self.folder / "texts.json").write_text(json.dumps(texts))
        out = self.folder / "out.json"
        flags = ["--texts", self.folder / "texts.json", "--cache", 400, "--outputs", out]
        for size, plan in ((2, "--pp 2"), (4, "--dp 2 --tp 2")):
            with self.subTest(plan):
                artifact = self.artifact(self.folder / "text.onnx", f"{plan} --serve=4")
                self.run_ok("shardrun", artifact, *flags)
                expected = [text["tokens"] for text in json.loads(out.read_text())]
                out.unlink()
                self.run_processes(by_hand(size), artifact, *flags)
                self.assertEqual([text["tokens"] for text in json.loads(out.read_text())], expected)

    def test_a_text_that_fails_is_not_the_others(self):
        """A token that the vocabulary has not is an error of that text alone."""
        onnx.save(text_decoder(), self.folder / "text.onnx")
        rng = np.random.default_rng(4)
        texts = [{"prompt": rng.integers(0, VOCABULARY, n).tolist(), "tokens": 4} for n in (9, 6, 13, 4)]
        file, out = self.folder / "texts.json", self.folder / "out.json"
        file.write_text(json.dumps(texts))
        flags = ["--texts", file, "--cache", 400, "--outputs", out]
        for size, plan in ((2, "--tp 2"), (2, "--pp 2")):
            with self.subTest(plan):
                artifact = self.artifact(self.folder / "text.onnx", f"{plan} --serve=4")
                file.write_text(json.dumps(texts))
                self.run_ok("shardrun", artifact, *flags)
                expected = [text["tokens"] for text in json.loads(out.read_text())]
                bad = [dict(text, prompt=[*text["prompt"], VOCABULARY + 5]) if i == 2 else text for i, text in enumerate(texts)]
                file.write_text(json.dumps(bad))
                statuses, _, errors = self.finish(self.start(by_hand(size), artifact, *flags))
                self.assertEqual(statuses, [2] * size, errors)
                self.assertRegex(errors, f"text 2: input 'input_ids': there is no row {VOCABULARY + 5} in a table")
                found = json.loads(out.read_text())
                self.assertIn("error", found[2])
                for i in (0, 1, 3):
                    self.assertEqual(found[i]["tokens"], expected[i])
                    self.assertNotIn("error", found[i])

    def test_sizes_that_the_run_finds(self):
        """Outputs of a stage that is not rank 0's, as large as the data say."""
        nodes = [
            helper.make_node("MatMul", ["x", "w"], ["h"]),
            helper.make_node("Relu", ["h"], ["a"]),
            helper.make_node("MatMul", ["a", "v"], ["y"]),
            helper.make_node("NonZero", ["x"], ["places"]),
        ]
        random = np.random.default_rng(1)
        weights = [
            onnx.numpy_helper.from_array(random.normal(size=(8, 8)).astype(np.float32), name) for name in ("w", "v")
        ]
        value = lambda name, dims, kind=TensorProto.FLOAT: helper.make_tensor_value_info(name, kind, dims)
        outputs = [value("y", ["n", 8]), value("places", [2, "count"], TensorProto.INT64)]
        graph = helper.make_graph(nodes, "found", [value("x", ["n", 8])], outputs, weights)
        file = self.folder / "found.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10), file)
        for zeros in (0, 5):
            x = random.normal(size=(4, 8)).astype(np.float32)
            x[0, :zeros] = 0
            np.savez(self.folder / "x.npz", x=x)
            for size, plan in ((2, "--tp 2"), (2, "--pp 2"), (4, "--dp 2 --tp 2")):
                with self.subTest(plan, zeros=zeros):
                    inputs = [self.folder / "x.npz"] * 3
                    self.check(file, plan, size, "--inputs", *inputs)

    def test_each_writes_its_own_trace_and_statistics(self):
        data = data_sets(LLAMA)[0]
        trace, stats = self.folder / "t.json", self.folder / "s.json"
        artifact = self.artifact(model_file(LLAMA), "--pp 2")
        self.run_processes(by_hand(2), artifact, "--inputs", data, "--trace", trace, "--stats-json", stats)
        for file in (trace, stats):
            for suffix in ("", ".1"):
                self.assertIn("rank", file.with_name(file.name + suffix).read_text())


class Weights(ProcessTest):
    HIDDEN = 1 << 21

    def test_a_rank_touches_the_pages_of_its_own_slices(self):
        """A process maps the weights' file; of its pages only those of its slices come into memory, and leave it once they
        are packed, as those of the first matrix are; the second is read where it lies. A rank's columns of the first matrix are 2 MiB a row: systems
        that keep files in huge pages map as much at once."""
        width = 8
        matrices = {
            "up": np.ones((width, self.HIDDEN), np.float32),
            "down": np.ones((self.HIDDEN, width), np.float32) / self.HIDDEN,
        }
        nodes = [helper.make_node("MatMul", ["x", "up"], ["h"]), helper.make_node("MatMul", ["h", "down"], ["y"])]
        value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", width])
        tensors = [onnx.numpy_helper.from_array(matrix, name) for name, matrix in matrices.items()]
        graph = helper.make_graph(nodes, "wide", [value("x")], [value("y")], tensors)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
        onnx.save(model, self.folder / "wide.onnx", save_as_external_data=True, location="wide.bin")
        np.savez(self.folder / "x.npz", x=np.ones((1, width), np.float32))
        whole = sum(matrix.nbytes for matrix in matrices.values())
        size = 4
        artifact = self.artifact(self.folder / "wide.onnx", f"--tp {size}")
        processes = self.start(by_hand(size), artifact, "--inputs", self.folder / "x.npz", "--repeat", 10**6)
        deadline = time.monotonic() + 60
        for rank, process in enumerate(processes):
            while self.packed(process) + self.resident(process) < whole / size:
                self.assertLess(time.monotonic(), deadline)
                self.assertIsNone(process.poll())
                time.sleep(0.1)
        time.sleep(0.5)  # several runs: nothing more comes
        for rank, process in enumerate(processes):
            while self.resident(process) >= 1.15 * whole / size / 2 and time.monotonic() < deadline:
                time.sleep(0.1)  # on a busy machine not even one
            self.assertLess(self.resident(process), 1.15 * whole / size / 2, f"rank {rank} of {whole} bytes")

    def packed(self, process):
        """Bytes of memory that is the process's own, weights among them."""
        status = Path(f"/proc/{process.pid}/status").read_text()
        return int(re.search(r"RssAnon:\s+(\d+)", status)[1]) * 1024

    def resident(self, process):
        """Bytes of the weights' file that the process has mapped in."""
        total, counts = 0, False
        for line in Path(f"/proc/{process.pid}/smaps").read_text().splitlines():
            if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
                counts = line.rstrip().endswith("wide.bin")
            elif counts and line.startswith("Rss:"):
                total += int(line.split()[1]) * 1024
        return total


class TwoHosts(ProcessTest):
    """Network namespaces are machines as far as a network is concerned."""

    NAMES = ("shardc-a", "shardc-b")

    def ip(self, *arguments):
        done = subprocess.run(["ip", *arguments], capture_output=True, text=True)
        if done.returncode != 0:
            raise unittest.SkipTest(f"no network namespaces: ip {' '.join(arguments)}: {done.stderr.strip()}")

    def setUp(self):
        super().setUp()
        if not shutil.which("ip") or os.geteuid() != 0:
            self.skipTest("needs root and ip of iproute2")
        a, b = (f"{name}-{os.getpid()}" for name in self.NAMES)
        for name in (a, b):
            self.ip("netns", "add", name)
            self.addCleanup(subprocess.run, ["ip", "netns", "delete", name], capture_output=True)
        self.ip("-n", a, "link", "add", "to-b", "type", "veth", "peer", "name", "to-a", "netns", b)
        for name, link, address in ((a, "to-b", "10.77.0.1/24"), (b, "to-a", "10.77.0.2/24")):
            self.ip("-n", name, "address", "add", address, "dev", link)
            self.ip("-n", name, "link", "set", link, "up")
            self.ip("-n", name, "link", "set", "lo", "up")
        self.hosts = (a, b)

    def places(self, size):
        """Rank 0's own host reaches it by an address that the other host cannot use."""
        place = lambda rank: {"SHARDC_RENDEZVOUS": ("127.0.0.1" if rank < size // 2 else "10.77.0.1") + ":29555"}
        return [{"SHARDC_RANK": rank, "SHARDC_WORLD_SIZE": size} | place(rank) for rank in range(size)]

    def prefix(self, size):
        return lambda rank: ["ip", "netns", "exec", self.hosts[0 if rank < size // 2 else 1]]

    def test_a_run(self):
        data = data_sets(LLAMA)
        for size, plan in ((2, "--tp 2"), (4, "--pp 2 --tp 2"), (8, "--pp 2 --cp 2 --tp 2")):
            with self.subTest(plan):
                run = lambda *all: self.run_processes(self.places(size), *all, prefix=self.prefix(size))
                self.assert_like_threads(self.artifact(model_file(LLAMA), plan), run, "--inputs", *data)

    def test_a_cut_cable(self):
        processes = self.start(
            self.places(4),
            self.artifact(model_file(LLAMA), "--tp 4"),
            *("--inputs", data_sets(LLAMA)[0], "--repeat", 10**6),
            prefix=self.prefix(4),
        )
        time.sleep(2)
        self.assertEqual([process.poll() for process in processes], [None] * 4)
        self.ip("-n", self.hosts[0], "link", "set", "to-b", "down")
        start = time.monotonic()
        statuses, _, errors = self.finish(processes, timeout=30)
        self.assertLess(time.monotonic() - start, 8)
        self.assertEqual(statuses, [4] * 4, errors)
        self.assertRegex(errors, r"no sign of life .* rank 2 \(tp 2\).*; rank 3 \(tp 3\)")
        self.assertRegex(errors, r"no sign of life .* rank 0 \(tp 0\).*; rank 1 \(tp 1\)")
        self.assertEqual(errors.count("error:"), 2, "one on each side")
