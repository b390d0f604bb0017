"""What --to=PHASE prints parses, passes the checks of its phase and compiles on to the same outputs."""

import json
import unittest

from tests.support import EndToEnd, data_sets, model_file, program

PHASES = ("raw", "imported", "sharded", "staged", "partitioned", "lowered")
BEFORE_MESH = ("raw", "imported")


def without_layers(collectives):
    """They are found in what is imported."""
    return [{key: value for key, value in entry.items() if key != "layer"} for entry in collectives]


class Text(EndToEnd):
    def check(self, model, tp):
        data_set = data_sets(model)[0]
        artifact = self.compile(model_file(model), tp)
        expected = self.execute(artifact, data_set)
        collectives = json.loads((artifact / "manifest.json").read_text())["collectives"]
        for phase in PHASES:
            with self.subTest(phase=phase):
                text = self.run_ok("shardc", model_file(model), "--tp", tp, "--to", phase)
                file = self.folder / "module.mlir"
                file.write_text(text)
                flags = ["--from", phase] + (["--tp", tp] if phase in BEFORE_MESH else [])
                again = self.folder / "again.shard"
                self.run_ok("shardc", file, *flags, "-o", again)
                for a, b in zip(self.execute(again, data_set), expected, strict=True):
                    self.assertEqual(a.tobytes(), b.tobytes())
                if phase != "lowered":  # the plan is gone by then
                    known = collectives if phase in BEFORE_MESH else without_layers(collectives)
                    self.assertEqual(json.loads((again / "manifest.json").read_text())["collectives"], known)
                if phase != "raw":
                    self.run_ok("shard-opt", file, f"--shardc-verify-phase=phase={phase}", "-o", self.folder / "out")

    def test_bert(self):
        self.check("bert-ts-op17", 2)

    def test_gpt2(self):
        self.check("gpt2-dynamo-op20", 3)

    def test_llama(self):
        self.check("llama-dynamo-op18", 8)

    def test_vit(self):
        self.check("vit-ts-static-op17", 1)

    def test_prints_what_it_read(self):
        for phase in PHASES:
            with self.subTest(phase=phase):
                first = self.run_ok("shardc", model_file("bert-ts-op17"), "--tp", 2, "--to", phase)
                file = self.folder / "module.mlir"
                file.write_text(first)
                self.assertEqual(self.run_ok("shardc", file, "--from", phase, "--to", phase), first)

    def test_dumps_each_phase(self):
        dump = self.folder / "dump"
        self.compile(model_file("bert-ts-op17"), 2, "--dump-dir", dump)
        names = sorted(file.name for file in dump.iterdir())
        self.assertEqual(names, [f"{i}-{phase}.mlir" for i, phase in enumerate(PHASES) if phase != "raw"])
        for phase, name in zip(PHASES[1:], names, strict=True):
            printed = self.run_ok("shardc", model_file("bert-ts-op17"), "--tp", 2, "--to", phase)
            self.assertEqual((dump / name).read_text(), printed)

    def test_a_claimed_phase_is_checked(self):
        text = self.run_ok("shardc", model_file("bert-ts-op17"), "--tp", 2, "--to", "partitioned")
        file = self.folder / "module.mlir"
        changed = text.replace("onnx.Sub", "onnx.Add", 1)
        self.assertNotEqual(changed, text)
        file.write_text(changed)
        done = program("shardc", file, "--from", "partitioned", "-o", self.folder / "out.shard")
        self.assertEqual(done.returncode, 3)
        self.assertTrue(done.stderr.startswith("error: "), done.stderr)
        self.assertFalse((self.folder / "out.shard").exists())


if __name__ == "__main__":
    unittest.main()
