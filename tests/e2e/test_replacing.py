"""An artifact takes the place of another one in one step, and of nothing else."""

import subprocess

from tests.support import BIN, EndToEnd, data_sets, model_file, program

BERT = "bert-ts-op17"


class Replacing(EndToEnd):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "model.shard"

    def test_files_of_the_one_before_go(self):
        self.run_ok("shardc", model_file(BERT), "--tp", 2, "--pp", 2, "--weights", "copy", "-o", self.out)
        self.assertEqual(len(list(self.out.glob("*.program"))), 2)
        self.run_ok("shardc", model_file(BERT), "--tp", 1, "-o", self.out)
        self.assertEqual(len(list(self.out.glob("*.program"))), 1)
        self.assertFalse((self.out / "weights").exists())
        self.assertEqual([path.name for path in self.folder.iterdir()], ["model.shard"])

    def check_kept(self, foreign, text="kept"):
        foreign.parent.mkdir(exist_ok=True)
        foreign.write_text(text)
        before = {path: path.read_bytes() for path in self.out.rglob("*") if path.is_file()}
        done = program("shardc", model_file(BERT), "--tp", 1, "-o", self.out)
        self.assertEqual(done.returncode, 4)
        self.assertIn(str(foreign.relative_to(self.out)), done.stderr)
        self.assertEqual({path: path.read_bytes() for path in self.out.rglob("*") if path.is_file()}, before)
        foreign.unlink()

    def test_files_of_others_stay(self):
        self.run_ok("shardc", model_file(BERT), "--tp", 2, "-o", self.out)
        self.check_kept(self.out / "notes.txt")
        self.check_kept(self.out / "kernels" / "mine.so")
        self.run_ok("shardc", model_file(BERT), "--tp", 1, "-o", self.out)

    def test_manifest_that_says_nothing(self):
        self.run_ok("shardc", model_file(BERT), "--tp", 2, "-o", self.out)
        (self.out / "manifest.json").write_text("{")
        done = program("shardc", model_file(BERT), "--tp", 1, "-o", self.out)
        self.assertEqual(done.returncode, 4)
        self.assertIn("manifest.json", done.stderr)
        self.assertEqual((self.out / "manifest.json").read_text(), "{")

    def test_a_link_stays_a_link(self):
        real = self.folder / "real.shard"
        self.run_ok("shardc", model_file(BERT), "--tp", 2, "-o", real)
        self.out.symlink_to(real)
        self.run_ok("shardc", model_file(BERT), "--tp", 1, "-o", self.out)
        self.assertTrue(self.out.is_symlink())
        self.run_ok("shardrun", self.out, "--inputs", data_sets(BERT)[0])
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["model.shard", "real.shard"])

    def test_who_reads_meanwhile_finds_one_of_them(self):
        """Another program reads while the artifact is made anew, again and again."""
        self.run_ok("shardc", model_file(BERT), "--tp", 2, "-o", self.out)
        writer = subprocess.Popen(
            ["sh", "-c", f"for i in 1 2 3 4 5 6; do {BIN}/shardc {model_file(BERT)} --tp $((i % 2 + 1)) -o {self.out} "
                         "|| exit 1; done"])  # fmt: skip
        runs = 0
        while writer.poll() is None or runs < 5:
            done = program("shardrun", self.out, "--inputs", data_sets(BERT)[0])
            self.assertEqual(done.returncode, 0, done.stderr)
            runs += 1
        self.assertEqual(writer.returncode, 0)
