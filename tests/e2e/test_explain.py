"""What --explain says of profiles, sums and caches."""

import onnx

from tests.e2e.caches import HEADS, SIZE, decoder
from tests.support import EndToEnd, model_file, program

LINKS = """{"nodes": 1, "devices_per_node": 2, "inside_node": {"gigabytes_per_second": 100, "microseconds": 4},
            "between_nodes": {"gigabytes_per_second": 25, "microseconds": 12}}"""
POSITION = 2 * 2 * HEADS * SIZE * 4  # keys and values of two layers in f32


class Explain(EndToEnd):
    def setUp(self):
        super().setUp()
        self.file = self.folder / "decoder.onnx"
        onnx.save(decoder(), self.file)

    def totals(self, *flags, tp=2):
        report = self.explain(self.file, tp, *flags)
        self.assertEqual([t["profile"] for t in report["totals"]], [p["name"] for p in report["profiles"]] or [""])
        for total in report["totals"]:
            entries = [e for e in report["collectives"] if e.get("profile", "") == total["profile"]]
            self.assertEqual(total["collectives"], len(entries))
            if all(isinstance(e["bytes"], int) for e in entries):
                for key in ("bytes", "wire_bytes"):
                    self.assertEqual(total[key], sum(e[key] for e in entries))
            else:
                self.assertIsNone(total["bytes"])
        return {total["profile"]: total for total in report["totals"]}, report

    def test_each_profile_has_its_own_sizes(self):
        totals, _ = self.totals("--sp", "--dims", "batch=1,seq=128,past=0")
        alone, _ = self.totals("--dims", "batch=1,seq=1,past=0")
        self.assertEqual(totals["decode"]["dims"], {"batch": 1, "seq": 1, "past": 0})
        self.assertEqual(totals["prefill"]["dims"], {"batch": 1, "seq": 128, "past": 0})
        # A step sends what a plan sends whose only program runs at that size.
        self.assertEqual(totals["decode"]["bytes"], alone[""]["bytes"])
        self.assertGreater(totals["prefill"]["bytes"], 64 * totals["decode"]["bytes"])

    def test_a_size_that_another_profile_runs_is_none(self):
        totals, report = self.totals("--sp", "--dims", "batch=1,seq=1,past=0")
        self.assertEqual(totals["prefill"]["dims"], {"batch": 1, "past": 0})
        self.assertIsNone(totals["prefill"]["bytes"])
        self.assertIsInstance(totals["decode"]["bytes"], int)

    def test_stages(self):
        totals, report = self.totals("--pp", 2, "--sp", "--dims", "batch=1,seq=128,past=0")
        by_profile = {}
        for entry in report["transfers"]:
            by_profile.setdefault(entry["profile"], []).append(entry["bytes"])
        for name, total in totals.items():
            self.assertEqual(total["transfers"], len(by_profile[name]))
            self.assertEqual(total["transfer_bytes"], sum(by_profile[name]))
        self.assertGreater(totals["prefill"]["transfer_bytes"], totals["decode"]["transfer_bytes"])

    def test_structures_are_those_of_one_profile(self):
        _, one = self.totals()
        totals, both = self.totals("--sp")
        self.assertEqual(both["structures"], one["structures"])
        self.assertEqual(totals["decode"]["structures"], one["structures"])

    def test_seconds(self):
        links = self.folder / "links.json"
        links.write_text(LINKS)
        totals, report = self.totals("--topology", links, "--dims", "batch=1,seq=128,past=0")
        self.assertAlmostEqual(totals[""]["seconds"], sum(e["seconds"] for e in report["collectives"]))
        self.assertNotIn("seconds", self.totals("--dims", "batch=1,seq=128,past=0")[0][""])
        text = self.run_ok("shardc", self.file, "--tp", 2, "--explain", "--topology", links, "--dims",
                           "batch=1,seq=128,past=0")  # fmt: skip
        self.assertRegex(text, r"\n  in all \S+ KiB \(\S+ KiB on the wire\), \S+ us\n")

    def test_caches(self):
        for flags, ways in (([], 2), (["--sp"], 2), (["--pp", 2], 4)):
            with self.subTest(flags):
                report = self.explain(self.file, 2, *flags, "--dims", "batch=3,seq=5,past=11")
                for rank in report["ranks"]:
                    self.assertEqual(rank["kv_bytes_per_position"], 3 * POSITION // ways)
                    self.assertEqual(rank["kv_bytes"], 16 * 3 * POSITION // ways)
        self.assertEqual(self.explain(model_file("bert-ts-op17"), 2)["ranks"][0]["kv_bytes"], 0)

    def test_sizes_that_are_missing_are_named(self):
        text = self.run_ok("shardc", self.file, "--tp", 2, "--explain", "--dims", "batch=1,seq=128")
        self.assertIn("activations unknown (compile with --dims past=N)", text)
        self.assertEqual(self.explain(self.file, 2, "--dims", "batch=1,seq=128")["missing_dims"], ["past"])
        rank = self.explain(self.file, 2)["ranks"][0]
        self.assertEqual((rank["kv_bytes"], rank["kv_bytes_per_position"]), (None, None))

    def test_lowered_text_says_nothing(self):
        lowered = self.folder / "lowered.mlir"
        lowered.write_text(self.run_ok("shardc", self.file, "--tp", 2, "--to", "lowered"))
        done = program("shardc", lowered, "--from", "lowered", "--explain")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--from partitioned", done.stderr)

    def test_ranks_that_hold_as_much_are_one_line(self):
        done = program("shardc", model_file("llama-dynamo-op18"), "--tp", 4, "--pp", 2, "--explain")
        lines = done.stdout[done.stdout.index("\nranks\n") :].split("\n")[2:4]
        self.assertRegex(lines[0], r"^  0 to 3: weights .* each$")
        self.assertRegex(lines[1], r"^  4 to 7: weights .* each$")

    def test_parts_that_several_ranks_hold(self):
        """Keys and values of 4 heads over 8 ranks."""
        file = model_file("llama-dynamo-op18")
        copied = self.explain(file, 8)["copied_weights"]
        self.assertEqual({entry["copies"] for entry in copied}, {2})
        self.assertEqual(len(copied), 2 * 4, copied)
        self.assertEqual(self.explain(file, 4)["copied_weights"], [])
        text = program("shardc", file, "--tp", 8, "--explain").stdout
        self.assertRegex(text, r"several ranks hold the same part.*\n  8 on 2 ranks each, .*: \S+, \.\.\.\n")
