"""A host without room for its ranks is refused before anything is loaded; what is refused could not have run."""

import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto

from tests import large
from tests.e2e import caches
from tests.e2e.processes import ProcessTest, by_hand, srun, torchrun
from tests.support import BIN, LAYERS, EndToEnd, data_sets, model_file


def run(*arguments, **environment):
    return subprocess.run([str(a) for a in (BIN / "shardrun", *arguments)], capture_output=True, text=True, timeout=300,
                          env={**os.environ, **environment})


def needed(artifact):
    """What all ranks need, by the error of a host that has nothing."""
    done = run(artifact, "--preflight", SHARDC_HOST_MEMORY="0")
    found = re.search(r"needs? (\d+) bytes on device 0 \(host", done.stderr)
    assert done.returncode == 4 and found, done.stderr
    return int(found[1])


class HostMemory(EndToEnd):
    def preflight(self, artifact, *flags, **environment):
        done = run(artifact, "--preflight", *flags, **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_counts_what_a_run_takes_and_no_more(self):
        for name in LAYERS:
            for flags in (["--tp", 1], ["--tp", 3], ["--pp", 2, "--tp", 2], ["--tp", 2, "--weights", "copy"]):
                with self.subTest(name, flags=flags):
                    artifact = self.folder / "model.shard"
                    self.run_ok("shardc", model_file(name), *flags, "-o", artifact)
                    stats = self.folder / "stats.json"
                    self.run_ok("shardrun", artifact, "--inputs", data_sets(name)[0], "--stats-json", stats)
                    ranks = json.loads(stats.read_text())["ranks"]
                    kinds = ("packed_bytes", "arranged_bytes", "loaded_bytes")
                    copies = sum(rank[kind] for rank in ranks for kind in kinds)
                    values = sum(rank["arena_bytes"] for rank in ranks)
                    # Buffers are rounded up to 64 bytes; values of this request are not those of the smallest one.
                    self.assertLessEqual(needed(artifact), 1.05 * (copies + values) + 100_000)
                    self.assertGreaterEqual(needed(artifact), 0.3 * copies)

    def test_refused_before_it_runs(self):
        artifact = self.compile(model_file("llama-dynamo-op18"), 2)
        data = ["--inputs", data_sets("llama-dynamo-op18")[0], "--outputs", self.folder / "results"]
        need = needed(artifact)
        done = run(artifact, *data, SHARDC_HOST_MEMORY=str(need - 1))
        self.assertEqual(done.returncode, 4)
        self.assertRegex(done.stderr, rf"2 ranks, rank 0 .*, need {need} bytes on device 0 \(host, .*, which has "
                                      rf"{need - 1} free: \d+ of copies of weights .*; 1 rank would fit on it")  # fmt: skip
        self.assertFalse((self.folder / "results").exists())
        self.assertEqual(run(artifact, *data, SHARDC_HOST_MEMORY=str(need)).returncode, 0)

    def test_says_how_many_positions_fit(self):
        onnx.save(caches.decoder(), self.folder / "model.onnx")
        artifact = self.compile(self.folder / "model.onnx", 2)
        text = self.preflight(artifact, SHARDC_HOST_MEMORY="10M")
        room = int(re.search(r"rank 0 .*, 10485760 free, room for (\d+) positions of its KV caches at batch 1\n", text)[1])
        position = 2 * 2 * caches.HEADS * caches.SIZE * 4  # of both ranks, which share the memory
        self.assertAlmostEqual(room, (10485760 - needed(artifact)) // position, delta=1)
        self.preflight(artifact, "--cache", room, SHARDC_HOST_MEMORY="10M")
        done = run(artifact, "--preflight", "--cache", room + 1, SHARDC_HOST_MEMORY="10M")
        self.assertEqual(done.returncode, 4)
        self.assertIn(f"there would be room for {room} positions", done.stderr)

    def test_limit_that_is_none(self):
        artifact = self.compile(model_file("bert-ts-op17"), 1)
        done = run(artifact, "--preflight", SHARDC_HOST_MEMORY="lots")
        self.assertEqual(done.returncode, 2)
        self.assertIn("SHARDC_HOST_MEMORY is 'lots'", done.stderr)


class WeightsInMemoryOnce(EndToEnd):
    """Products keep weights as they have packed them, and neither the file's pages nor copies beside those."""

    LAYERS, HEADS, HIDDEN = 3, 8, 512

    def decoder(self, **sizes):
        path, parameters = large.decoder(self.folder, layers=self.LAYERS, hidden=self.HIDDEN, heads=self.HEADS, kv_heads=self.HEADS,
                                         vocabulary=1024, type=TensorProto.FLOAT, **sizes)  # fmt: skip
        past = np.zeros((1, self.HEADS, 0, self.HIDDEN // self.HEADS), np.float32)
        feeds = {f"past_{kind}_{layer}": past for kind in ("key", "value") for layer in range(self.LAYERS)}
        np.savez(self.folder / "inputs.npz", ids=np.arange(8, dtype=np.int64).reshape(1, 8), **feeds)
        return path, 4 * parameters

    def gpt(self):
        """Its queries, keys and values are columns of one weight, of which a rank has three pieces."""
        path, parameters = large.gpt(self.folder, layers=self.LAYERS, hidden=2 * self.HIDDEN, heads=self.HEADS, vocabulary=1024,
                                     positions=64, type=TensorProto.FLOAT)  # fmt: skip
        numbers = np.arange(8, dtype=np.int64).reshape(1, 8)
        np.savez(self.folder / "inputs.npz", ids=numbers, places=numbers)
        return path, 4 * parameters

    def one_by_one(self):
        """Each expert has weights of its own, which are put together when they are loaded."""
        path, weights = self.decoder(inner=512, experts=8)
        model = onnx.load(path, load_external_data=False)
        graph, stacks = model.graph, []
        for stack in [tensor for tensor in graph.initializer if len(tensor.dims) == 3]:
            place = {entry.key: entry.value for entry in stack.external_data}
            size, names = int(place["length"]) // stack.dims[0], [f"{stack.name}.{e}" for e in range(stack.dims[0])]
            for expert, name in enumerate(names):
                part = graph.initializer.add(name=name, data_type=stack.data_type, dims=[1, *stack.dims[1:]],
                                             data_location=TensorProto.EXTERNAL)  # fmt: skip
                where = {"location": place["location"], "offset": int(place["offset"]) + expert * size, "length": size}
                for key, value in where.items():
                    part.external_data.add(key=key, value=str(value))
            stacks.append(onnx.helper.make_node("Concat", names, [stack.name], name=stack.name, axis=0))
            graph.initializer.remove(stack)
        nodes = [*stacks, *graph.node]
        del graph.node[:]
        graph.node.extend(nodes)
        onnx.save(model, path)
        return path, weights

    def peak(self, model, *flags):
        """Of a run on all ranks, in bytes: pages of files that are mapped count as well."""
        artifact = self.folder / "model.shard"
        self.run_ok("shardc", model, *flags, "-o", artifact)
        # A process begins with the peak of the one that starts it: not with this one's, which knows NumPy.
        waits = "import os, subprocess, sys; _, status, usage = os.wait4(subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL).pid, 0)"
        command = [sys.executable, "-S", "-E", "-c", f"{waits}; print(status, usage.ru_maxrss)",
                   BIN / "shardrun", artifact, "--inputs", self.folder / "inputs.npz", "--repeat", "2"]  # fmt: skip
        status, peak = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True).stdout.split()
        self.assertEqual(status, "0")
        shutil.rmtree(artifact)
        return int(peak) * 1024

    def test_under_any_plan(self):
        for name, make in (("dense", lambda: self.decoder(inner=4096)), ("experts", lambda: self.decoder(inner=512, experts=8)),
                           ("experts one by one", self.one_by_one), ("in pieces", self.gpt)):  # fmt: skip
            model, weights = make()
            rest = 60 << 20  # the program, its threads and the values of a run
            one = self.peak(model)
            self.assertLess(one, weights + rest)
            for flags in (["--tp", 2], ["--tp", 4, "--weights", "copy"], ["--tp", 2, "--pp", 3]):
                with self.subTest(name, flags=flags):
                    self.assertLess(self.peak(model, *flags), weights + rest)
            with self.subTest(name, flags="bf16"):
                self.assertLess(self.peak(model, "--tp", 2, "--compute", "bf16"), weights / 2 + rest)

    def test_estimate_of_what_is_computed(self):
        """Values that products pack, one of which several products read: there as a whole, and packed, one after the other."""
        size, layers = 1024, 8
        rng = np.random.default_rng(0)
        tensors = [onnx.numpy_helper.from_array(rng.standard_normal((size, size)).astype(np.float16), f"w{n}") for n in range(layers)]
        nodes = [onnx.helper.make_node("Cast", [f"w{n}"], [f"c{n}"], to=TensorProto.FLOAT) for n in range(layers)]
        steps = [0, 0, 0, *range(layers)]
        for n, weight in enumerate(steps):
            nodes.append(onnx.helper.make_node("MatMul", [f"h{n}" if n else "x", f"c{weight}"], [f"h{n + 1}"]))
        ports = [onnx.helper.make_tensor_value_info(name, TensorProto.FLOAT, ["s", size]) for name in ("x", f"h{len(steps)}")]
        graph = onnx.helper.make_graph(nodes, "g", ports[:1], ports[1:], tensors)
        model = self.folder / "model.onnx"
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10), model)
        np.savez(self.folder / "inputs.npz", x=np.zeros((1, size), np.float32))
        self.run_ok("shardc", model, "-o", self.folder / "estimated.shard")
        need = needed(self.folder / "estimated.shard")
        self.assertAlmostEqual(need, 4 * size * size * (layers + 1), delta=1 << 20)
        self.assertLess(self.peak(model), need + (24 << 20))

    def test_quantised_in_pieces(self):
        """Pieces of columns, and experts one by one, in 4 and 8 bits; the head keeps 8."""
        for name, make in (("in pieces", self.gpt), ("experts one by one", self.one_by_one)):
            model, weights = make()
            for bits in (4, 8):
                with self.subTest(name, bits=bits):
                    quantised = weights * bits / 32 * 1.15 + (2 << 20)  # with scales of groups of 32, the head and positions
                    self.assertLess(self.peak(model, "--tp", 2, "--weights-type", f"int{bits}"), quantised + (26 << 20))


class HostMemoryOfProcesses(ProcessTest):
    """Nobody but the processes themselves knows that they share a host."""

    def needs(self, artifact, places):
        """What each rank needs, by the error of a host that has nothing."""
        statuses, _, errors = self.with_limit(artifact, places, 0)
        self.assertEqual(statuses, [4] * len(places), errors)
        found = re.search(r"need \d+ bytes of memory, of which .* leaves 0 free: ([^;]*);", errors)
        self.assertIsNotNone(found, errors)
        return [int(need.rsplit(" ", 1)[1]) for need in re.split(", (?=rank)", found[1])]

    def with_limit(self, artifact, places, limit, *arguments):
        places = [place | {"SHARDC_HOST_MEMORY": limit} for place in places]
        return self.finish(self.start(places, artifact, "--inputs", data_sets("llama-dynamo-op18")[0], *arguments))

    def test_ranks_that_start_by_hand_count_each_other(self):
        artifact = self.artifact(model_file("llama-dynamo-op18"), "--tp 4")
        for start in (by_hand, srun, torchrun):
            with self.subTest(start.__name__):
                needs = self.needs(artifact, start(4))
                self.assertEqual(len(needs), 4)
                limit = int(max(needs) / 0.6)  # each rank needs 60 % of it
                statuses, _, errors = self.with_limit(artifact, start(4), limit, "--outputs", self.folder / "results")
                self.assertEqual(statuses, [4] * 4, errors)
                self.assertRegex(errors, rf"4 ranks on .* need {sum(needs)} bytes of memory, of which SHARDC_HOST_MEMORY "
                                         rf"leaves {limit} free: rank 0 .*{needs[0]}, rank 1 .*{needs[1]}, .*; 1 rank would "
                                         rf"fit on it: run the others on other machines")  # fmt: skip
                self.assertEqual(errors.count("bytes of memory"), 1, "one of them speaks for all")
                self.assertFalse((self.folder / "results").exists())
                statuses, _, errors = self.with_limit(artifact, start(4), sum(needs))
                self.assertEqual(statuses, [0] * 4, errors)

    def test_limits_of_each_process(self):
        """Where they are told different ones the smallest is that of the host."""
        artifact = self.artifact(model_file("llama-dynamo-op18"), "--tp 2")
        total = sum(self.needs(artifact, by_hand(2)))
        places = by_hand(2)
        places[1]["SHARDC_HOST_MEMORY"] = total - 1
        places[0]["SHARDC_HOST_MEMORY"] = "1T"
        statuses, _, errors = self.finish(self.start(places, artifact, "--inputs", data_sets("llama-dynamo-op18")[0]))
        self.assertEqual(statuses, [4] * 2, errors)
        self.assertIn(f"leaves {total - 1} free", errors)

    def test_room_that_is_left(self):
        onnx.save(caches.decoder(), self.folder / "model.onnx")
        artifact = self.artifact(self.folder / "model.onnx", "--tp 2")
        limited = lambda: [place | {"SHARDC_HOST_MEMORY": "10M"} for place in by_hand(2)]
        run = lambda *flags: self.finish(self.start(limited(), artifact, "--preflight", *flags))
        statuses, out, errors = run()
        self.assertEqual(statuses, [0, 0], errors)
        room = int(re.search(r"rank 0 .*, 10485760 free, room for (\d+) positions", out)[1])
        # Both take positions at the same time.
        self.assertEqual(run("--cache", room)[0], [0, 0])
        statuses, _, errors = run("--cache", room + 1)
        self.assertEqual(statuses, [4, 4], errors)
        self.assertRegex(errors, rf"2 ranks on .* of KV caches; 1 rank would fit .*there would be room for {room} positions")
