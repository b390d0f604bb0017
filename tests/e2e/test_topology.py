"""The order of the mesh's axes decides which ranks share a node; it changes no number."""

import json

from tests.support import EndToEnd, data_dims, data_sets, model_file, program

TOPOLOGY = {
    "nodes": 2,
    "devices_per_node": 2,
    "inside_node": {"gigabytes_per_second": 100, "microseconds": 2},
    "between_nodes": {"gigabytes_per_second": 10, "microseconds": 20},
}
MODEL = "llama-dynamo-op18"


class Topology(EndToEnd):
    def setUp(self):
        super().setUp()
        self.file = self.folder / "topology.json"
        self.file.write_text(json.dumps(TOPOLOGY))

    def report(self, *flags):
        file = self.folder / "report.json"
        dims = data_dims(MODEL, data_sets(MODEL)[0])
        self.run_ok("shardc", model_file(MODEL), *flags, *dims, "--topology", self.file, "--explain-json", file)
        return json.loads(file.read_text())

    def test_ranks_share_nodes_by_their_order(self):
        for order, tp_nodes, pp_nodes in (("tp,ep,cp,pp,dp", 1, 2), ("pp,tp", 2, 1)):
            with self.subTest(order):
                report = self.report("--tp", 2, "--pp", 2, "--rank-order", order)
                self.assertEqual({c["nodes"] for c in report["collectives"]}, {tp_nodes})
                self.assertEqual({t["nodes"] for t in report["transfers"]}, {pp_nodes})
                inner, outer = order.split(",")[0], "pp" if order[0] == "t" else "tp"
                self.assertEqual(report["ranks"][1]["coords"], {inner: 1, outer: 0})

    def test_times_follow_from_the_links(self):
        for order, (latency, speed) in (("tp,pp", (2e-6, 100e9)), ("pp,tp", (20e-6, 10e9))):
            for entry in self.report("--tp", 2, "--pp", 2, "--rank-order", order)["collectives"]:
                steps = 2 if entry["kind"] == "all_reduce" else 1  # over two ranks
                self.assertAlmostEqual(entry["seconds"], steps * (latency + entry["bytes"] / 2 / speed), places=9)

    def test_stages_send_parts_of_what_ranks_hold_alike(self):
        slow = {"gigabytes_per_second": 1, "microseconds": 1}
        self.file.write_text(json.dumps({**TOPOLOGY, "nodes": 4, "between_nodes": slow}))
        data = data_sets(MODEL)[0]
        flags = ["--pp", 2, "--plan-dims", "batch=8,sequence=512"]
        for more, parts, gathers in ((["--rank-order", "tp,pp"], 2, 1), (["--rank-order", "pp,tp"], 1, 0)):
            with self.subTest(more):
                report = self.report("--tp", 2, *flags, *more)
                whole = self.report("--tp", 2, "--pp", 2, "--plan-dims", "batch=1,sequence=1", *more)
                for a, b in zip(report["transfers"], whole["transfers"], strict=True):
                    self.assertEqual(a["bytes"] * parts, b["bytes"])
                why = "parts that the stage before sent"
                self.assertEqual([entry["why"] for entry in report["collectives"]].count(why), gathers)
        one = self.execute(self.compile(model_file(MODEL), 1, to="one.shard"), data)
        for more in ([], ["--dp", 2, "--micro-batches", 2], ["--cp", 2], ["--sp"]):
            with self.subTest(more):
                artifact = self.compile(model_file(MODEL), 2, *flags, *more, "--topology", self.file)
                self.assert_same_numbers(self.execute(artifact, data), one)

    def test_text(self):
        dims = data_dims(MODEL, data_sets(MODEL)[0])
        flags = ["--tp", 2, "--pp", 2, "--explain", *dims]
        text = self.run_ok("shardc", model_file(MODEL), *flags, "--topology", self.file)
        self.assertRegex(text, r"all_reduce over tp, .* on the wire\), inside a node, \d+\.\d us at ")
        self.assertRegex(text, r"stage 0 to 1, .* a rank, between 2 nodes, \d+\.\d us at ")
        self.assertNotIn("inside a node", self.run_ok("shardc", model_file(MODEL), *flags))

    def test_the_numbers_stay(self):
        data = data_sets(MODEL)[0]
        one = self.execute(self.compile(model_file(MODEL), 1, to="one.shard"), data)
        for flags in (
            ["--pp", 2, "--rank-order", "pp,tp"],
            ["--pp", 2, "--dp", 2, "--cp", 2, "--sp", "--rank-order", "dp,tp,pp,cp"],
            ["--pp", 2, "--dp", 2, "--weights", "copy", "--rank-order", "pp,dp,tp"],
            ["--cp", 2, "--rank-order", "cp,tp"],
        ):
            with self.subTest(flags):
                artifact = self.compile(model_file(MODEL), 2, *flags)
                self.assert_same_numbers(self.execute(artifact, data), one)
                axes = [axis["name"] for axis in json.loads((artifact / "manifest.json").read_text())["mesh"]]
                self.assertEqual(axes, flags[-1].split(",")[::-1])

    def test_a_trace_names_ranks_by_their_order(self):
        artifact = self.compile(model_file(MODEL), 2, "--pp", 2, "--rank-order", "pp,tp")
        trace = self.folder / "trace.json"
        # Weights read beside the first run would have tracks as well.
        self.run_ok("shardrun", artifact, "--inputs", data_sets(MODEL)[0], "--trace", trace, "--load-first")
        events = json.loads(trace.read_text())["traceEvents"]
        names = sorted(event["args"]["name"] for event in events if event["name"] == "thread_name")
        self.assertEqual(names, [f"rank {r} (tp {r // 2}, pp {r % 2})" for r in range(4)])

    def test_mistakes(self):
        for text, flags, expected in (
            ("{", [], "is no JSON object; expected"),
            (json.dumps({**TOPOLOGY, "nodes": 1}), ["--pp", 2], "has 2 devices, the plan needs 4; use fewer ways"),
        ):
            self.file.write_text(text)
            done = program("shardc", model_file(MODEL), "--tp", 2, *flags, "--explain", "--topology", self.file)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"error: --topology {self.file}: {expected}", done.stderr)
        done = program("shardc", model_file(MODEL), "--explain", "--topology", self.folder / "none.json")
        self.assertEqual(done.returncode, 2)
        self.assertIn("cannot be read", done.stderr)
        for order, expected in (
            ("tp,xp", 'there is no axis "xp"'),
            ("tp,tp", '"tp" comes twice'),
            ("tp,cp", '"pp" has 2 ways and no place'),
        ):
            done = program("shardc", model_file(MODEL), "--tp", 2, "--pp", 2, "--explain", "--rank-order", order)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"error: --rank-order {order}: {expected}; expected each axis once", done.stderr)
            self.assertIn("tp,ep,cp,fsdp,pp,dp", done.stderr)
