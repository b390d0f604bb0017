"""What cannot be written is exit status 4 with a reason, wherever it was to go, and nothing half-written stays."""

import resource
import signal
import subprocess

from tests.support import BIN, EndToEnd, data_sets, model_file

BERT = "bert-ts-op17"
ARTIFACT = 4


def run(name, *arguments, most=None, stdout=subprocess.PIPE):
    """A program that cannot write files of more than `most` bytes: like a full disk, but for the reason."""

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        if most is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    return subprocess.run([str(a) for a in (BIN / name, *arguments)], stdout=stdout, stderr=subprocess.PIPE, text=True,
                          timeout=300, preexec_fn=limit)


class Limited(EndToEnd):
    def assert_fails(self, done, *words):
        self.assertEqual(done.returncode, ARTIFACT, done.stderr)
        for word in words:
            self.assertIn(str(word), done.stderr)


class FullDisk(Limited):
    def check_compile(self, *flags, words, most=1000):
        before = sorted(self.folder.rglob("*"))
        done = run("shardc", model_file(BERT), "--tp", 2, *flags, most=most)
        self.assert_fails(done, "File too large", *words)
        self.assertEqual(sorted(self.folder.rglob("*")), before)

    def test_explanation(self):
        file = self.folder / "plan.json"
        self.check_compile("--explain-json", file, words=["--explain-json", file])

    def test_explanation_keeps_the_one_before(self):
        file = self.folder / "plan.json"
        file.write_text("before")
        self.check_compile("--explain-json", file, words=[file])
        self.assertEqual(file.read_text(), "before")

    def test_dump(self):
        folder = self.folder / "dump"
        self.check_compile("--dump-dir", folder, words=["--dump-dir", "1-imported.mlir"])
        folder.mkdir()
        self.check_compile("--dump-dir", folder, words=["--dump-dir", "1-imported.mlir"])

    def test_artifact(self):
        self.check_compile("-o", self.folder / "out.shard", words=["out.shard"], most=20000)

    def test_copies_of_weights(self):
        flags = ["-o", self.folder / "a/b/out.shard", "--weights", "copy"]
        self.check_compile(*flags, words=["rank-00000.safetensors"], most=150000)

    def test_standard_output(self):
        for flags in (["--to=partitioned"], ["--explain"], ["--explain-json", "-"]):
            with self.subTest(flags), open("/dev/full", "w") as full:
                self.assert_fails(run("shardc", model_file(BERT), "--tp", 2, *flags, stdout=full),
                                  "No space left on device")
        for command in (["shardc", "--help"], ["shardc", "--version"], ["shardrun", "--help"]):
            with self.subTest(command), open("/dev/full", "w") as full:
                self.assert_fails(run(*command, stdout=full), "standard output", "No space left on device")
        for command in (["check", model_file(BERT)], ["verify", model_file(BERT), "--tp", 2]):
            with self.subTest(command), open("/dev/full", "w") as full:
                self.assert_fails(run("shardc", *command, stdout=full), "standard output", "No space left on device")

    def test_device_that_is_full(self):
        """It is written to as it is, not replaced by a file."""
        self.assert_fails(run("shardc", model_file(BERT), "--explain-json", "/dev/full"), "/dev/full", "No space left")

    def test_pipe_that_nobody_reads(self):
        program = subprocess.Popen([BIN / "shardc", model_file(BERT), "--to=partitioned"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        program.stdout.close()
        errors = program.stderr.read()
        program.stderr.close()
        self.assertEqual(program.wait(timeout=300), ARTIFACT)
        self.assertIn("standard output: Broken pipe", errors)


class FullDiskOfARun(Limited):
    def setUp(self):
        super().setUp()
        self.artifact = self.compile(model_file(BERT), 2)
        self.inputs = ["--inputs", data_sets(BERT)[0]]

    def check_run(self, *flags, words, most=20):
        before = sorted(self.folder.rglob("*"))
        self.assert_fails(run("shardrun", self.artifact, *self.inputs, *flags, most=most), "File too large", *words)
        self.assertEqual(sorted(self.folder.rglob("*")), before)

    def test_outputs(self):
        self.check_run("--outputs", self.folder / "results", words=["results/output_0.pb"])
        self.check_run("--outputs", self.folder / "results.npz", words=["results.npz"])

    def test_trace(self):
        self.check_run("--trace", self.folder / "t.json", words=["t.json"])

    def test_statistics(self):
        self.check_run("--stats-json", self.folder / "s.json", words=["s.json"])

    def test_standard_output(self):
        for flags in (self.inputs, ["--preflight"], ["--devices"]):
            with self.subTest(flags), open("/dev/full", "w") as full:
                done = run("shardrun", self.artifact, *flags, stdout=full)
                self.assert_fails(done, "shardrun: error: cannot write to standard output: No space left on device")

    def test_pipe_that_nobody_reads(self):
        program = subprocess.Popen([BIN / "shardrun", self.artifact, *map(str, self.inputs)], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        program.stdout.close()
        errors = program.stderr.read()
        program.stderr.close()
        self.assertEqual(program.wait(timeout=300), ARTIFACT)
        self.assertIn("standard output: Broken pipe", errors)


del Limited  # has no tests of its own
