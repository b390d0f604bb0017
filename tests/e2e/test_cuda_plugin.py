"""The CUDA plugin on a simulated CUDA (tests/conformance/cuda): whole artifacts on GPUs that are none."""

import json
import os
import shutil
import subprocess
import unittest

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.e2e import caches
from tests.graphs import GraphBuilder
from tests.support import BIN, BUILD, LAYERS, EndToEnd, data_sets, model_file, read_outputs

PLUGIN = BUILD / "lib/simulated/libshardrt_cuda.so"
PLANS = {"tp1": [1], "tp2": [2], "tp2sp": [2, "--sp"], "pp2": [1, "--pp", 2], "tp2pp2": [2, "--pp", 2]}
HIDDEN, HEADS, ROWS, COLUMNS = 16, 4, 24, 8


def products(doubled=False):
    """Lookups, products and casts: two layers of attention without a softmax, then a head. `doubled`: looks up twice the ids,
    so that only the run finds that there is no such row."""
    graph = GraphBuilder(seed=7)
    weight, node = graph.weight, graph.node
    graph.constant("split", [0, 0, HEADS, HIDDEN // HEADS])
    graph.constant("merged", [0, 0, HIDDEN])
    graph.constant("rows", [-1, HIDDEN])
    ids = node("Add", ["ids", "ids"], "twice") if doubled else "ids"
    x = node("Gather", [weight("table", ROWS, HIDDEN, summed=1), ids], "embedded")
    for n in range(2):

        def heads(which, perm, x=x, n=n):
            flat = node("MatMul", [x, weight(f"w{which}{n}", HIDDEN, HIDDEN)], f"{which}{n}")
            return node("Transpose", [node("Reshape", [flat, "split"], f"{which}s{n}")], f"{which}t{n}", perm=perm)

        scores = node("MatMul", [heads("q", [0, 2, 1, 3]), heads("k", [0, 2, 3, 1])], f"scores{n}")
        mixed = node("MatMul", [scores, heads("v", [0, 2, 1, 3])], f"mixed{n}")
        merged = node("Reshape", [node("Transpose", [mixed], f"mt{n}", perm=[0, 2, 1, 3]), "merged"], f"merged{n}")
        out = node("MatMul", [merged, weight(f"wo{n}", HIDDEN, HIDDEN)], f"o{n}")
        up = node("MatMul", [out, weight(f"up{n}", HIDDEN, 3 * HIDDEN)], f"u{n}")
        x = node("MatMul", [up, weight(f"down{n}", 3 * HIDDEN, HIDDEN)], f"d{n}")
    node("Cast", [x], "wide", to=TensorProto.DOUBLE)
    flat = node("Reshape", [x, "rows"], "flat")
    node("Gemm", [flat, weight("head", COLUMNS, HIDDEN, summed=1), weight("bias", COLUMNS)], "y", transB=1)
    value = helper.make_tensor_value_info
    outputs = [value("wide", TensorProto.DOUBLE, ["batch", "seq", HIDDEN]), value("y", TensorProto.FLOAT, ["n", COLUMNS])]
    return graph.model([value("ids", TensorProto.INT64, ["batch", "seq"])], outputs)


@unittest.skipUnless(PLUGIN.exists(), "the CUDA plugin was not built")
class CudaPlugin(EndToEnd):
    def start(self, artifact, *flags, device="cuda", **environment):
        command = [BIN / "shardrun", artifact, "--device", device, *flags]
        return subprocess.run([str(a) for a in command], capture_output=True, text=True, timeout=300,
                              env=os.environ | {"SHARDC_BACKENDS": str(PLUGIN.parent)} | environment)  # fmt: skip

    def outputs(self, artifact, data):
        """Of three runs, which are as expected, the same bits on all ranks that hold a copy."""
        out = self.folder / "outputs"
        done = self.start(artifact, "--inputs", data, "--expect", data, "--outputs", out, "--check-replicas", "--repeat", 3)
        self.assertEqual(done.returncode, 0, done.stdout[-500:] + done.stderr[-1000:])
        return read_outputs(out)

    def save_products(self, ids, **kind):
        model, data = products(**kind), self.folder / "data"
        onnx.save(model, self.folder / "model.onnx")
        data.mkdir()
        onnx.save_tensor(numpy_helper.from_array(ids, "ids"), data / "input_0.pb")
        expected = ReferenceEvaluator(model).run(None, {"ids": ids})
        for i, tensor in enumerate(expected):
            onnx.save_tensor(numpy_helper.from_array(tensor), data / f"output_{i}.pb")
        return data, expected

    def test_finds_its_devices(self):
        done = self.start("--devices", SHARDC_SIMULATED_DEVICES="2")
        self.assertRegex(done.stdout, r"(?m)^cuda:0  simulated GPU, sm_90, 4.0 GiB of memory, 4.0 GiB free$")
        self.assertNotIn("cuda:2", done.stdout)

    def test_products_are_as_expected_under_every_plan(self):
        data, expected = self.save_products(np.random.default_rng(1).integers(-ROWS, ROWS, (3, 5)))
        for name, (tp, *flags) in PLANS.items():
            with self.subTest(plan=name):
                artifact = self.compile(self.folder / "model.onnx", tp, "--kernels", "reference", *flags, to=name)
                self.assert_same_numbers(self.outputs(artifact, data), expected)

    def test_values_have_the_places_that_they_have_on_the_host(self):
        for name in ("bert-ts-op17", "llama-dynamo-op18"):
            for plan, (tp, *flags) in PLANS.items():
                with self.subTest(model=name, plan=plan):
                    artifact = self.compile(model_file(name), tp, "--target", "cuda", *flags, to=f"{name}-{plan}")
                    planned = {}
                    for device in ("host", "cuda"):
                        stats = self.folder / f"{device}.json"
                        done = self.start(artifact, "--inputs", data_sets(name)[0], "--stats-json", stats, device=device)
                        self.assertEqual(done.returncode, 0, done.stderr)
                        planned[device] = [rank["value_bytes"] for rank in json.loads(stats.read_text())["ranks"]]
                    self.assertEqual(planned["cuda"], planned["host"])
                    self.assertGreater(min(planned["host"]), 0)

    def test_preflight_says_which_devices_do_not_reach_each_other(self):
        artifact = self.compile(model_file("llama-dynamo-op18"), 4, "--target", "cuda")
        done = self.start(artifact, "--preflight", SHARDC_SIMULATED_FABRIC="2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("do not reach each other's memory"), 4, done.stdout)
        self.assertIn("ranks 1 and 2: cuda:1 and cuda:2 do not reach", done.stdout)
        self.assertTrue(done.stdout.endswith("preflight passed\n"), done.stdout)
        self.assertNotIn("do not reach", self.start(artifact, "--preflight").stdout)

    def test_profilers_see_the_nodes(self):
        data, _ = self.save_products(np.array([[1, 2]]))
        artifact = self.compile(self.folder / "model.onnx", 2, "--kernels", "reference")
        log, listener = self.folder / "nvtx.log", BUILD / "lib/tests/nvtx-listener.so"
        done = self.start(artifact, "--inputs", data, NVTX_INJECTION64_PATH=str(listener), SHARDC_NVTX_LOG=str(log))
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = log.read_text().splitlines()
        opened = [line.removeprefix("open ") for line in lines if line.startswith("open ")]
        self.assertEqual(len(opened), lines.count("close "))
        self.assertEqual(opened.count("MatMul u0"), 2, "of two ranks")
        self.assertEqual(opened.count("all_reduce d0"), 2)

    def test_a_second_process_asks_no_heuristics(self):
        data, _ = self.save_products(np.array([[1, 2]]))
        artifact = self.compile(self.folder / "model.onnx", 1, "--kernels", "reference")
        settings = {"SHARDC_CACHE_DIR": str(self.folder / "cache"), "SHARDC_SIMULATED_CUBLASLT": "130002"}
        silent = settings | {"SHARDC_SIMULATED_HEURISTICS": "0"}
        run = lambda **environment: self.start(artifact, "--inputs", data, "--expect", data, **environment)
        moved = "warning: runs on the host: MatMul at node 'u0': cuBLASLt has no product of"
        for environment, has_products in (
            (silent, False),
            (settings, True),
            (silent, True),
            (silent | {"SHARDC_CUBLASLT_CACHE": "0"}, False),
        ):
            done = run(**environment)
            self.assertEqual(done.returncode, 0, done.stderr)
            (self.assertNotIn if has_products else self.assertIn)(moved, done.stderr)

    def trace(self, artifact, data, *flags, **environment):
        """Slices by their track's name, and the tracks' times in microseconds."""
        file = self.folder / "trace.json"
        done = self.start(artifact, "--inputs", data, "--trace", file, *flags, **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        events = json.loads(file.read_text())["traceEvents"]
        names = {event["tid"]: event["args"]["name"] for event in events if event["ph"] == "M"}
        tracks = {name: [] for name in names.values()}
        for event in events:
            if event["ph"] == "X":
                tracks[names[event["tid"]]].append(event)
        return tracks, done.stdout

    def test_times_are_those_that_the_gpu_notes(self):
        data, _ = self.save_products(np.array([[1, 2]]))
        cupti = str(BUILD / "lib/tests/simulated-cupti.so")
        for name, (tp, *flags) in PLANS.items():
            with self.subTest(plan=name):
                artifact = self.compile(self.folder / "model.onnx", tp, "--kernels", "reference", *flags, to=name)
                tracks, said = self.trace(artifact, data, "--profile", "--repeat", 3, SHARDC_CUPTI=cupti)
                for track, slices in tracks.items():
                    if not track.endswith(": kernels and copies"):
                        continue
                    by_node = {}
                    for slice in slices:
                        self.assertIn(slice["name"], ("simulated", "copy"))
                        by_node.setdefault(slice["args"]["node"], []).append(slice)
                    # An instruction's slice is from the first to the last of what the GPU did for its node.
                    for slice in tracks[track.removesuffix(": kernels and copies")]:
                        parts = by_node[slice["args"]["node"]]
                        self.assertGreaterEqual(slice["ts"] + 1e-3, min(part["ts"] for part in parts))
                        self.assertLessEqual(slice["ts"] + slice["dur"], max(part["ts"] + part["dur"] for part in parts) + 1e-3)
                    self.assertIn("u0", by_node) if name in ("tp1", "tp2") else None
                self.assertIn("roofline", said)
                plain, _ = self.trace(artifact, data, SHARDC_CUPTI="nowhere")
                self.assertFalse([track for track in plain if track.endswith(": kernels and copies")])
                self.assertTrue(all(plain.values()), "without CUPTI times are the host's")
                self.assertEqual(len([t for t in tracks if t.endswith(": kernels and copies")]), len(plain))

    def test_an_index_out_of_range_is_named(self):
        data, _ = self.save_products(np.array([[1, 2]]), doubled=True)
        onnx.save_tensor(numpy_helper.from_array(np.array([[1, ROWS - 1]]), "ids"), data / "input_0.pb")
        for tp in (1, 2):
            artifact = self.compile(self.folder / "model.onnx", tp, "--kernels", "reference", to=f"tp{tp}")
            done = self.start(artifact, "--inputs", data)
            self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
            self.assertRegex(done.stderr, r"rank \d.*Gather at node 'embedded' .*an index is outside of its dim")

    def test_what_kernels_of_the_gpu_do_not_take_runs_on_the_host(self):
        """cuBLASLt has no products of int64; what comes before and after them stays on the GPU."""
        rng = np.random.default_rng(5)
        x, w = rng.integers(-9, 9, (6, 4)), rng.integers(-9, 9, (4, 8))
        nodes = [
            helper.make_node("Add", ["x", "x"], ["twice"], name="twice"),
            helper.make_node("MatMul", ["twice", "w"], ["product"], name="product"),
            helper.make_node("Mul", ["product", "product"], ["y"], name="square"),
        ]
        graph = helper.make_graph(
            nodes, "integers", [helper.make_tensor_value_info("x", onnx.TensorProto.INT64, ["n", 4])],
            [helper.make_tensor_value_info("y", onnx.TensorProto.INT64, ["n", 8])], [numpy_helper.from_array(w, "w")],
        )  # fmt: skip
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), self.folder / "model.onnx")
        data = self.folder / "data"
        data.mkdir()
        onnx.save_tensor(numpy_helper.from_array(x, "x"), data / "input_0.pb")
        onnx.save_tensor(numpy_helper.from_array((2 * x @ w) ** 2, "y"), data / "output_0.pb")
        for tp in (1, 2):
            artifact = self.compile(self.folder / "model.onnx", tp, "--kernels", "reference", to=f"tp{tp}")
            self.assert_same_numbers(self.outputs(artifact, data), [(2 * x @ w) ** 2])
            said = self.start(artifact, "--inputs", data).stderr
            self.assertIn("warning: runs on the host: MatMul at node 'product': the GPU multiplies matrices of floats", said)
            self.assertEqual(said.count("runs on the host"), 1)

    def test_the_host_scales_an_addend_where_there_is_nothing_to_sum(self):
        value = helper.make_tensor_value_info
        graph = helper.make_graph(
            [helper.make_node("Gemm", ["x", "w", "c"], ["y"], name="gemm", beta=0.5)], "nothing",
            [value("x", TensorProto.FLOAT, [3, "k"]), value("w", TensorProto.FLOAT, ["k", 4])],
            [value("y", TensorProto.FLOAT, [3, 4])], [numpy_helper.from_array(np.arange(4, dtype=np.float32), "c")],
        )  # fmt: skip
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), self.folder / "model.onnx")
        artifact = self.compile(self.folder / "model.onnx", 1, "--target", "cuda")
        for k in (0, 2):
            data = self.folder / f"k{k}"
            data.mkdir()
            for i, dims in enumerate([(3, k), (k, 4)]):
                onnx.save_tensor(numpy_helper.from_array(np.ones(dims, np.float32)), data / f"input_{i}.pb")
            expected = np.broadcast_to(k + np.arange(4, dtype=np.float32) / 2, (3, 4))
            onnx.save_tensor(numpy_helper.from_array(expected.copy(), "y"), data / "output_0.pb")
            self.assert_same_numbers(self.outputs(artifact, data), [expected])
            said = self.start(artifact, "--inputs", data).stderr
            self.assertEqual("runs on the host: Gemm at node 'gemm': Gemm: nothing to sum" in said, k == 0, said)

    def test_ranks_share_a_device(self):
        """NCCL refuses two of them there: their values go through the host."""
        data, expected = self.save_products(np.array([[3, 1, 4, 1, 5]]))
        artifact = self.compile(self.folder / "model.onnx", 2, "--kernels", "reference")
        out = self.folder / "outputs"
        done = self.start(artifact, "--inputs", data, "--outputs", out, device="cuda:0")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_same_numbers(read_outputs(out), expected)

    def launches(self, artifact, *flags, **environment):
        """Outputs of five runs and how ranks have launched them."""
        out, stats = self.folder / "outputs", self.folder / "stats.json"
        done = self.start(artifact, *flags, "--outputs", out, "--stats-json", stats, "--repeat", 5, **environment)
        self.assertEqual(done.returncode, 0, done.stdout[-500:] + done.stderr[-1000:])
        files = sorted(out.rglob("*.pb"))
        return [file.read_bytes() for file in files], json.loads(stats.read_text())["launches"]

    def assert_replays(self, artifact, *flags, runs, replayed):
        """The same bits as launch after launch, of which so many are replays."""
        plain, counts = self.launches(artifact, *flags, SHARDC_GRAPHS="0")
        self.assertEqual(counts, {"launched": runs, "captured": 0, "updated": 0, "replayed": 0})
        found, counts = self.launches(artifact, *flags)
        self.assertEqual(found, plain)
        self.assertEqual((sum(counts.values()), counts["replayed"]), (runs, replayed))

    def test_what_was_captured_is_replayed(self):
        data, _ = self.save_products(np.array([[3, 1, 4, 1, 5]]))
        for name, (tp, *flags) in PLANS.items():
            with self.subTest(plan=name):
                artifact = self.compile(self.folder / "model.onnx", tp, "--kernels", "reference", *flags, to=name)
                ranks = {"tp1": 1, "tp2pp2": 4}.get(name, 2)
                self.assert_replays(artifact, "--inputs", data, runs=5 * ranks, replayed=3 * ranks)

    def test_shapes_have_graphs_of_their_own(self):
        """Runs of two shapes in turn: each is plain once, captured once, then replayed."""
        data, _ = self.save_products(np.array([[3, 1, 4, 1, 5]]))
        longer = self.folder / "longer"
        longer.mkdir()
        onnx.save_tensor(numpy_helper.from_array(np.array([[9, 2, 6, 5, 3, 5, 8], [0] * 7]), "ids"), longer / "input_0.pb")
        for tp in (1, 2):
            artifact = self.compile(self.folder / "model.onnx", tp, "--kernels", "reference", to=f"tp{tp}")
            self.assert_replays(artifact, "--inputs", data, "--inputs", longer, runs=10 * tp, replayed=6 * tp)

    def test_collectives_lie_in_registered_memory(self):
        """Of intermediate values too, which a longer request gives another place."""
        short, _ = self.save_products(np.array([[3, 1, 4, 1, 5]]))
        longer = self.folder / "longer"
        longer.mkdir()
        ids = np.random.default_rng(2).integers(0, 9, (3, 300))
        onnx.save_tensor(numpy_helper.from_array(ids), longer / "input_0.pb")
        for name in ("tp2", "tp2pp2"):
            tp, *flags = PLANS[name]
            artifact = self.compile(self.folder / "model.onnx", tp, "--kernels", "reference", *flags, to=name)
            requests = ["--inputs", short, "--inputs", longer, "--inputs", short]
            expected, _ = self.launches(artifact, *requests)
            for graphs in ("0", "1"):
                with self.subTest(plan=name, graphs=graphs):
                    found, _ = self.launches(artifact, *requests, SHARDC_GRAPHS=graphs, SHARDC_SIMULATED_REGISTERED="1")
                    self.assertEqual(found, expected)

    def test_caches_are_replayed_where_they_stay(self):
        """A prompt and a step: shapes and caches are the same in each repetition."""
        requests = self.save_cached([np.array([[1, 5, 2]]), np.array([[7]])])
        for tp in (1, 2):
            artifact = self.compile(self.folder / "cached.onnx", tp, "--kernels", "reference", to=f"tp{tp}")
            flags = [flag for data in requests for flag in ("--inputs", data)]
            self.assert_replays(artifact, "--cache", 8, *flags, runs=10 * tp, replayed=6 * tp)

    def test_steps_of_decoding_update_what_was_captured(self):
        """Each has a length that comes once in a run: of its launches only those are set anew that changed."""
        steps = 12
        requests = self.save_cached([np.array([[1, 5, 2]])] + [np.array([[7 + i]]) for i in range(steps)])
        flags = [flag for data in requests for flag in ("--inputs", data)]
        for tp in (1, 2):
            artifact = self.compile(self.folder / "cached.onnx", tp, "--kernels", "reference", to=f"steps{tp}")
            plain, _ = self.launches(artifact, "--cache", 16, *flags, SHARDC_GRAPHS="0")
            found, counts = self.launches(artifact, "--cache", 16, *flags)
            self.assertEqual(found, plain)
            self.assertEqual(sum(counts.values()), 5 * (1 + steps) * tp)
            # Four plans are kept, and each is plain once and captured once.
            self.assertLessEqual(counts["launched"], 4 * tp, counts)
            self.assertLessEqual(counts["captured"], 6 * tp, counts)

    def test_a_step_of_decoding_costs_little_of_the_host(self):
        """Calls, which the simulation prices: of a step that is updated, nothing that a graph was to save."""
        requests = self.save_cached([np.array([[1, 5, 2]])] + [np.array([[7 + i % 9]]) for i in range(24)])
        file = self.folder / "costs.json"
        for tp in (1, 2):
            artifact = self.compile(self.folder / "cached.onnx", tp, "--kernels", "reference", to=f"costs{tp}")

            def costs(count, artifact=artifact):
                flags = [flag for data in requests[:count] for flag in ("--inputs", data)]
                done = self.start(artifact, "--cache", 32, *flags, SHARDC_SIMULATED_COSTS=str(file))
                self.assertEqual(done.returncode, 0, done.stderr)
                return json.loads(file.read_text())

            few, many = costs(17), costs(25)
            step = {name: (many[name] - few[name]) / 8 / tp for name in many}
            with self.subTest(tp=tp, step=step):
                self.assertEqual(step["instantiate"], 0)
                self.assertEqual(step["nccl_call"], 0)
                self.assertEqual(step["graph_launch"], 1)
                self.assertLessEqual(step["node_update"], 4)
                self.assertLessEqual(step["launch"], 7)
                # The product with the keys, which are one more each time.
                self.assertLessEqual(step["heuristics"], 1)
                self.assertLessEqual(step["allocation"], 1)
                self.assertLessEqual(step["microseconds"], 250)

    def test_frees_may_wait_for_all_work(self):
        """As those of a GPU do: no rank frees while it holds up another one."""
        data, expected = self.save_products(np.array([[3, 1, 4, 1, 5]]))
        longer = self.folder / "longer"
        longer.mkdir()
        onnx.save_tensor(numpy_helper.from_array(np.random.default_rng(2).integers(0, 9, (3, 300))), longer / "input_0.pb")
        for name in ("tp2", "tp2pp2"):
            tp, *flags = PLANS[name]
            artifact = self.compile(self.folder / "model.onnx", tp, "--kernels", "reference", *flags, to=name)
            requests = ["--inputs", data, "--inputs", longer, "--inputs", data]
            plain, _ = self.launches(artifact, *requests)
            found, _ = self.launches(artifact, *requests, SHARDC_SIMULATED_FREES="wait")
            self.assertEqual(found, plain)

    def test_threads_in_any_order_give_the_same_bits(self):
        for model in ("bert-ts-op17", "llama-dynamo-op18"):
            artifact = self.compile(model_file(model), 2, "--target", "cuda", to=model)
            flags = ["--inputs", data_sets(model)[0]]
            plain, _ = self.launches(artifact, *flags)
            for order in ("reverse", "random:1", "random:2"):
                with self.subTest(model, order=order):
                    found, _ = self.launches(artifact, *flags, SHARDC_SIMULATED_ORDER=order)
                    self.assertEqual(found, plain)

    def test_caches_take_memory_as_they_grow(self):
        """In the artifact of either target, on either device, with past from a state or from outside."""
        model, lengths, page = caches.decoder(), [5, 1, 60, 1], 4096
        onnx.save(model, self.folder / "model.onnx")
        ids = np.random.default_rng(6).integers(0, caches.VOCABULARY, (2, sum(lengths)))
        steps = caches.write_steps(self.folder / "steps", model, ids, lengths)
        out, stats = self.folder / "outputs", self.folder / "stats.json"

        def outputs(artifact, inputs, device, *flags):
            done = self.start(artifact, "--inputs", *inputs, "--outputs", out, "--stats-json", stats, *flags, device=device,
                              SHARDC_SIMULATED_PAGE=str(page))  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stderr)
            return [read_outputs(out / str(i) if len(inputs) > 1 else out) for i in range(len(inputs))]

        def follow(step, before, to):
            """The step with what was present before it as past."""
            shutil.copytree(step, to)
            for i, tensor in enumerate(before[1:]):
                onnx.save_tensor(numpy_helper.from_array(tensor), to / f"input_{3 + i}.pb")
            return to

        expected = None
        for tp in (1, 2):
            of_position = 2 * caches.HEADS * caches.SIZE * 4 // tp  # bytes of a batch of two in one cache of a rank
            for target in ("host", "cuda"):
                artifact = self.compile(self.folder / "model.onnx", tp, "--target", target, "--kernels", "reference", to=f"{target}{tp}")
                for device in ("host", "cuda"):
                    with self.subTest(tp=tp, target=target, device=device):
                        found = [step[0] for step in outputs(artifact, steps, device, "--cache", 4096)]
                        expected = expected or found
                        self.assert_same_numbers(found, expected)
                        taken = json.loads(stats.read_text())["caches"]
                        self.assertEqual([cache["rank"] for cache in taken], list(range(tp)))
                        for cache in taken:
                            self.assertEqual(cache["reserved_bytes"], 4 * 4096 * of_position)
                            if (target, device) == ("cuda", "cuda"):
                                self.assertEqual(cache["committed_bytes"], 4 * -(-sum(lengths) * of_position // page) * page)
                            elif target == "host":
                                self.assertGreater(cache["committed_bytes"], cache["reserved_bytes"] // 2)
                        first = outputs(artifact, steps[:1], device)[0]
                        second = follow(steps[1], first, self.folder / f"{target}-{device}-{tp}")
                        self.assert_same_numbers([first[0], outputs(artifact, [second], device)[0][0]], expected[:2])

    def save_cached(self, steps):
        """Scores of each token against all that came before it, whose keys are kept."""
        rng = np.random.default_rng(3)
        weights = {"table": (ROWS, HIDDEN), "wq": (HIDDEN, HIDDEN), "wk": (HIDDEN, HIDDEN)}
        tensors = [numpy_helper.from_array(rng.standard_normal(dims).astype(np.float32), name) for name, dims in weights.items()]
        tensors.append(numpy_helper.from_array(np.array([0, 0, HEADS, HIDDEN // HEADS], np.int64), "split"))
        nodes = [helper.make_node("Gather", ["table", "ids"], ["x"], name="embedded")]
        for which in "qk":
            nodes.append(helper.make_node("MatMul", ["x", f"w{which}"], [f"{which}m"], name=f"{which}m"))
            nodes.append(helper.make_node("Reshape", [f"{which}m", "split"], [f"{which}r"], name=f"{which}r"))
            nodes.append(helper.make_node("Transpose", [f"{which}r"], [f"{which}t"], name=f"{which}t", perm=[0, 2, 1, 3]))
        nodes.append(helper.make_node("Concat", ["past_key_values.0.key", "kt"], ["present.0.key"], name="append", axis=2))
        nodes.append(helper.make_node("Transpose", ["present.0.key"], ["keys"], name="keys", perm=[0, 1, 3, 2]))
        nodes.append(helper.make_node("MatMul", ["qt", "keys"], ["scores"], name="scores"))
        value, heads, size = helper.make_tensor_value_info, HEADS, HIDDEN // HEADS
        inputs = [value("ids", TensorProto.INT64, ["batch", "seq"]),
                  value("past_key_values.0.key", TensorProto.FLOAT, ["batch", heads, "past", size])]  # fmt: skip
        outputs = [value("scores", TensorProto.FLOAT, ["batch", heads, "seq", "past + seq"]),
                   value("present.0.key", TensorProto.FLOAT, ["batch", heads, "past + seq", size])]  # fmt: skip
        graph = helper.make_graph(nodes, "cached", inputs, outputs, tensors)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
        onnx.save(model, self.folder / "cached.onnx")
        requests = []
        for number, ids in enumerate(steps):
            requests.append(self.folder / f"step{number}")
            requests[-1].mkdir()
            onnx.save_tensor(numpy_helper.from_array(ids, "ids"), requests[-1] / "input_0.pb")
        return requests

    def test_a_replay_names_the_node_that_failed(self):
        data, _ = self.save_products(np.array([[1, 2]]), doubled=True)
        wrong = self.folder / "wrong"
        wrong.mkdir()
        onnx.save_tensor(numpy_helper.from_array(np.array([[1, ROWS - 1]]), "ids"), wrong / "input_0.pb")
        for tp in (1, 2):
            artifact = self.compile(self.folder / "model.onnx", tp, "--kernels", "reference", to=f"tp{tp}")
            flags = [flag for folder in (data, data, data, wrong) for flag in ("--inputs", folder)]
            done = self.start(artifact, *flags)
            self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
            self.assertRegex(done.stderr, r"rank \d.*Gather at node 'embedded' .*an index is outside of its dim")

    def test_times_are_those_of_launches(self):
        data, _ = self.save_products(np.array([[1, 2]]))
        artifact = self.compile(self.folder / "model.onnx", 1, "--kernels", "reference")
        _, counts = self.launches(artifact, "--inputs", data, "--profile")
        self.assertEqual(counts, {"launched": 5, "captured": 0, "updated": 0, "replayed": 0})

    def test_models_are_as_expected(self):
        for model in LAYERS:
            for name, (tp, *flags) in PLANS.items():
                with self.subTest(model, plan=name):
                    artifact = self.compile(model_file(model), tp, "--target", "cuda", *flags, to=f"{model}-{name}")
                    self.outputs(artifact, data_sets(model)[0])


if __name__ == "__main__":
    unittest.main()
