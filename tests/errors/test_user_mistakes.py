"""Each mistake gets one line that names the file, node or flag, its exit code, and leaves nothing half-written."""

import json
import shutil

import numpy as np
from onnx import numpy_helper

from tests.support import MODELS, EndToEnd, program

FLAGS, MODEL, ARTIFACT = 2, 3, 4
BERT = MODELS / "bert-ts-op17"
NAMES = ("input_ids", "attention_mask", "token_type_ids")


class Mistakes(EndToEnd):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "out.shard"

    def assert_fails(self, done, code, *words, prefix="error: "):
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertTrue(lines[0].startswith(prefix), done.stderr)
        for word in words:
            self.assertIn(str(word), lines[0])

    def assert_no_compile(self, code, *words, arguments):
        """Fails so, and writes nothing into the folder of this test."""
        before = sorted(self.folder.rglob("*"))
        self.assert_fails(program("shardc", *arguments), code, *words)
        self.assertEqual(sorted(self.folder.rglob("*")), before)


class VerifyFlags(Mistakes):
    def check(self, *flags, words, code=FLAGS):
        self.assert_no_compile(code, *words, arguments=["verify", BERT / "model.onnx", "--tp", 2, *flags])

    def test_unknown_size(self):
        self.check("--dims", "rows=3", words=["--dims rows", "no such size", "batch sequence"])

    def test_no_inputs_there(self):
        self.check("--inputs", self.folder, words=["input_0.pb is missing", "input_ids"])

    def test_no_programs_there(self):
        self.check("--programs", self.folder / "none.mlir", words=["--programs", "none.mlir"])

    def test_unknown_precision(self):
        self.assert_no_compile(FLAGS, "--precision", "f16", "f64",
                               arguments=["verify", BERT / "model.onnx", "--precision", "f16"])  # fmt: skip

    def test_impossible_degree(self):
        self.check("--pp", 40, words=["--pp 40", "use --pp"], code=MODEL)


class CompileFlags(Mistakes):
    def check(self, *flags, words):
        self.assert_no_compile(FLAGS, *words, arguments=[BERT / "model.onnx", "-o", self.out, *flags])

    def test_no_rank(self):
        self.check("--tp", 0, words=["--tp 0", "use --tp 1"])

    def test_fewer_than_no_rank(self):
        self.check("--tp", -1, words=["--tp -1", "use --tp 1"])

    def test_no_number(self):
        self.check("--tp", "two", words=["--tp two: expected an integer"])

    def test_too_many_ranks(self):
        self.check("--tp", 100000, words=["--tp 100000", "65536"])

    def test_unknown_flag(self):
        self.check("--frobnicate", words=["--frobnicate", "--help"])

    def test_misspelt_flag(self):
        self.check("--tpp", 2, words=["--tpp: there is no such flag; did you mean --tp?"])
        self.check("--explain-jsn=plan.json", words=["--explain-jsn: there is no such flag", "--explain-json?"])
        self.assert_no_compile(FLAGS, "--sed: there is no such flag; did you mean --seed?",
                               arguments=["verify", BERT / "model.onnx", "--sed", 3])  # fmt: skip

    def test_argument_too_much(self):
        self.check("other.onnx", words=["other.onnx: expected no such argument"])

    def test_unknown_phase(self):
        self.check("--to", "nowhere", words=["--to", "nowhere", "partitioned"])

    def test_unknown_weights(self):
        self.check("--weights", "some", words=["--weights", "some", "copy"])

    def test_dims_to_plan_for(self):
        self.check("--plan-dims", "batch", words=["--plan-dims batch", "batch=1"])
        self.check("--plan-dims", "rows=3", words=["--plan-dims rows", "no such size", "batch sequence"])

    def test_mode_of_an_axis(self):
        self.check("--ep-mode", "rows", words=["--ep-mode", "rows", "tensor", "batch"])

    def test_dims_without_size(self):
        self.check("--dims", "batch", words=["--dims batch", "batch=1"])

    def test_phases_in_the_wrong_order(self):
        self.check("--from", "staged", "--to", "sharded", words=["--to sharded", "--from staged"])

    def test_phase_of_an_onnx_file(self):
        self.check("--from", "sharded", words=["--from sharded", ".mlir"])

    def test_flags_of_phases_that_text_has_behind_it(self):
        text = self.folder / "sharded.mlir"
        text.write_text(program("shardc", BERT / "model.onnx", "--tp", 2, "--to", "sharded").stdout)
        for flags in (["--sp"], ["--pin", "x=[{}]"], ["--load-plan", "plan.json"], ["--ep-mode", "batch"], ["--no-recovery"]):
            self.assert_no_compile(FLAGS, f"{flags[0]}: is read on the way to phase", "is one of phase sharded; leave it out",
                                   arguments=[text, "--from", "sharded", *flags, "--to", "staged"])  # fmt: skip
        done = program("shardc", text, "--from", "sharded", "--overlap", "off", "--to", "lowered")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_annotations_that_are_not_there(self):
        self.check("--annotations", "tp2", words=["--annotations tp2", "has no multi-device annotations; leave it out"])

    def test_computing_in_other_types(self):
        self.check("--compute", "f8", words=["--compute", "bf16"])
        self.check("--compute", "bf16", "--precision", "f64", words=["--compute bf16: --precision f64", "leave one"])
        self.check("--compute", "int8", "--target", "cuda", words=["--compute int8: ", "--target cuda", "leave one"])
        self.check("--bitwise", "--target", "cuda", words=["--bitwise: ", "--target cuda", "leave one"])
        self.check("--bitwise", "--emit", "onnx", words=["--bitwise: ", "--emit onnx", "leave one"])
        self.check("--bitwise", "--cp", "2", "--cp-mode", "ring", words=["--bitwise: ", "--cp-mode gather"])
        self.check("--compute", "bf16", "--emit", "onnx", words=["--compute bf16: ", "--emit onnx", "leave one"])

    def test_nothing_to_do(self):
        self.assert_no_compile(FLAGS, "-o", arguments=[BERT / "model.onnx"])

    def test_no_model(self):
        self.assert_no_compile(FLAGS, "model", arguments=["-o", self.out])

    def test_explanation_that_cannot_be_written(self):
        file = self.folder / "no" / "plan.json"
        self.check("--explain-json", file, words=["--explain-json", file])

    def test_output_that_is_the_model(self):
        file = self.folder / "model.onnx"
        shutil.copy(BERT / "model.onnx", file)
        before = file.read_bytes()
        for flag in ("--explain-json", "--reproducer"):
            same = self.folder / ".." / self.folder.name / "model.onnx"
            self.assert_no_compile(FLAGS, flag, "is the model itself", arguments=[file, "-o", self.out, flag, same])
        self.assertEqual(file.read_bytes(), before)

    def test_dump_that_cannot_be_written(self):
        file = self.folder / "file"
        file.write_text("")
        self.check("--dump-dir", file, words=["--dump-dir", file])


class IdleFlags(EndToEnd):
    """Flags that change nothing are done as asked, and told."""

    def warnings(self, *flags):
        done = program("shardc", *flags)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [line for line in done.stderr.splitlines() if "changes nothing" in line]

    def test_flags_that_need_others(self):
        for flags, needed in ((["--sp"], "--tp 2"), (["--micro-batches", 2], "--pp 2"), (["--cp-mode", "ring"], "--cp 2"),
                              (["--ep-mode", "tensor"], "--ep 2"), (["--weights", "copy"], "-o"),
                              (["--dims", "batch=1"], "--explain")):  # fmt: skip
            with self.subTest(flags):
                [line] = self.warnings(BERT / "model.onnx", "--to", "imported", *flags)
                self.assertRegex(line, f"^warning: {flags[0]}: changes nothing without {needed}")

    def test_flags_that_have_them(self):
        flags = ["--tp", 2, "--sp", "--pp", 2, "--micro-batches", 2, "--explain", "--dims", "batch=2"]
        self.assertEqual(self.warnings(BERT / "model.onnx", *flags), [])
        kept = ["--tp", 2, "--dims", "batch=2", "--topology", "h100:1x2", "-o", self.folder / "kept.shard"]
        self.assertEqual(self.warnings(BERT / "model.onnx", *kept), [])

    def test_verify(self):
        [line] = self.warnings("verify", BERT / "model.onnx", "--sp")
        self.assertIn("--sp", line)


class Dumps(EndToEnd):
    def test_alone(self):
        folder = self.folder / "dump"
        self.run_ok("shardc", BERT / "model.onnx", "--tp", 2, "--dump-dir", folder)
        phases = ["1-imported", "2-sharded", "3-staged", "4-partitioned", "5-lowered"]
        self.assertEqual(sorted(file.stem for file in folder.iterdir()), phases)


class CompileModel(Mistakes):
    def check(self, model, *words, flags=()):
        self.assert_no_compile(MODEL, *words, arguments=[model, "--tp", 2, "-o", self.out, *flags])

    def test_missing(self):
        self.check(self.folder / "nowhere.onnx", "nowhere.onnx")

    def test_missing_text(self):
        self.check(self.folder / "nowhere.mlir", "nowhere.mlir")

    def test_truncated(self):
        model = self.folder / "model.onnx"
        model.write_bytes((BERT / "model.onnx").read_bytes()[:-1000])
        self.check(model, "model.onnx")

    def test_text_of_another_phase(self):
        text = self.folder / "model.mlir"
        text.write_text(self.run_ok("shardc", BERT / "model.onnx", "--tp", 2, "--to", "imported"))
        self.check(text, text, "--from partitioned", "dist.mesh", flags=["--from", "partitioned"])

    def test_folder(self):
        self.check(BERT, BERT, "is a folder", f"did you mean {BERT}/model.onnx?")


class Output(Mistakes):
    def compile_to(self, out, *flags):
        return program("shardc", BERT / "model.onnx", "--tp", 2, "-o", out, *flags)

    def test_folder_that_is_no_artifact(self):
        self.out.mkdir()
        (self.out / "precious").write_text("kept")
        self.assert_fails(self.compile_to(self.out), ARTIFACT, self.out, "no artifact")
        self.assertEqual([file.name for file in self.folder.rglob("*")], ["out.shard", "precious"])

    def test_file(self):
        self.out.write_text("kept")
        self.assert_fails(self.compile_to(self.out), ARTIFACT, self.out)
        self.assertEqual([file.name for file in self.folder.rglob("*")], ["out.shard"])
        self.assertEqual(self.out.read_text(), "kept")

    def test_parent_that_is_a_file(self):
        (self.folder / "file").write_text("")
        self.assert_fails(self.compile_to(self.folder / "file/out.shard"), ARTIFACT, "file/out.shard")
        self.assertEqual([file.name for file in self.folder.rglob("*")], ["file"])

    def test_a_failure_keeps_the_old_artifact(self):
        self.assertEqual(self.compile_to(self.out).returncode, 0)
        before = (self.out / "manifest.json").read_bytes()
        done = program("shardc", self.folder / "nowhere.onnx", "--tp", 2, "-o", self.out)
        self.assertEqual(done.returncode, MODEL)
        self.assertEqual((self.out / "manifest.json").read_bytes(), before)

    def test_a_slash_at_the_end_is_no_mistake(self):
        self.assertEqual(self.compile_to(f"{self.out}/").returncode, 0)
        self.assertEqual([file.name for file in self.folder.iterdir()], ["out.shard"])


class Run(Mistakes):
    def setUp(self):
        super().setUp()
        self.home = self.folder / "model"
        self.home.mkdir()
        shutil.copy(BERT / "model.onnx", self.home)
        self.data = self.folder / "data"
        shutil.copytree(BERT / "test_data_set_0", self.data)
        self.results = self.folder / "results"

    def assert_run_fails(self, code, *words, flags=(), artifact=None):
        arguments = [artifact or self.out, "--outputs", self.results, *flags]
        if "--inputs" not in flags:
            arguments += ["--inputs", self.data]
        self.assert_fails(program("shardrun", *arguments), code, *words, prefix="shardrun: error: ")
        wrote = self.results.exists()
        shutil.rmtree(self.results, ignore_errors=True)
        self.assertFalse(wrote)


class RunArtifact(Run):
    """Damaged artifacts and changed weights."""

    def check_damage(self, artifact, data_set):
        """Every file of an artifact: a bit flipped at some places, its end cut off, missing."""
        for file in sorted(path for path in artifact.rglob("*") if path.is_file()):
            good = file.read_bytes()
            for place in (0, len(good) // 3, len(good) // 2, len(good) - 1):
                bad = bytearray(good)
                bad[place] ^= 1
                file.write_bytes(bad)
                with self.subTest(file=file.name, flipped=place):
                    self.assert_run_fails(ARTIFACT, file.name, artifact=artifact)
            for length in (0, len(good) // 2, len(good) - 3):
                file.write_bytes(good[:length])
                with self.subTest(file=file.name, length=length):
                    self.assert_run_fails(ARTIFACT, file.name, artifact=artifact)
            file.unlink()
            with self.subTest(file=file.name, missing=True):
                self.assert_run_fails(ARTIFACT, file.name, artifact=artifact)
            file.write_bytes(good)
        self.run_ok("shardrun", artifact, "--inputs", data_set)

    def test_damaged(self):
        self.check_damage(self.compile(self.home / "model.onnx", 2), self.data)

    def test_damaged_copies(self):
        artifact = self.compile(self.home / "model.onnx", 2, "--weights", "copy")
        self.assertGreaterEqual(len([path for path in artifact.rglob("*") if path.is_file()]), 5)
        self.check_damage(artifact, self.data)

    def test_another_version(self):
        self.compile(self.home / "model.onnx", 2, to="out.shard")
        file = self.out / "manifest.json"
        manifest = json.loads(file.read_text())
        manifest["format"] += 1
        file.write_text(json.dumps(manifest))
        self.assert_run_fails(ARTIFACT, "manifest.json", f"format {manifest['format']}", "compile the model again")

    def test_no_artifact(self):
        self.assert_run_fails(ARTIFACT, self.folder / "nowhere", artifact=self.folder / "nowhere")
        self.assert_run_fails(ARTIFACT, self.data, artifact=self.data)
        self.assert_run_fails(ARTIFACT, "model.onnx", artifact=self.home / "model.onnx")

    def test_weights_changed(self):
        self.compile(self.home / "model.onnx", 2, to="out.shard")
        file = self.home / "model.onnx"
        good = file.read_bytes()
        changed = bytearray(good)
        changed[len(good) // 2] ^= 1
        for bad in (bytes(changed), good[:-1000], good + b"\0", b""):
            file.write_bytes(bad)
            with self.subTest(size=len(bad)):
                self.assert_run_fails(ARTIFACT, "weights changed since compile", "model/model.onnx")
        file.unlink()
        self.assert_run_fails(ARTIFACT, "model.onnx", "--weights-root")
        file.write_bytes(good)
        self.run_ok("shardrun", self.out, "--inputs", self.data)

    def test_weights_root_that_leads_nowhere(self):
        self.compile(self.home / "model.onnx", 2, to="out.shard")
        nowhere = self.folder / "nowhere"
        self.assert_run_fails(ARTIFACT, nowhere / "model.onnx", flags=["--weights-root", nowhere])


class RunInputs(Run):
    def setUp(self):
        super().setUp()
        self.compile(self.home / "model.onnx", 2, to="out.shard")

    def write(self, *arrays, names=NAMES):
        """New inputs in place of those in the data folder."""
        for file in self.data.glob("input_*.pb"):
            file.unlink()
        for i, (array, name) in enumerate(zip(arrays, names, strict=True)):
            tensor = numpy_helper.from_array(array, name)
            (self.data / f"input_{i}.pb").write_bytes(tensor.SerializeToString())

    def ids(self, *shape):
        return np.ones(shape, np.int64)

    def test_type(self):
        self.write(np.ones((2, 9), np.float32), self.ids(2, 9), self.ids(2, 9))
        self.assert_run_fails(FLAGS, "input_ids", "expected int64", "found float32")

    def test_rank(self):
        self.write(self.ids(2, 9), self.ids(9), self.ids(2, 9))
        self.assert_run_fails(FLAGS, "attention_mask", "[batch, sequence]", "[9]")

    def test_sizes_that_disagree(self):
        self.write(self.ids(2, 9), self.ids(2, 9), self.ids(2, 5))
        self.assert_run_fails(FLAGS, "token_type_ids", "5", "sequence = 9")

    def test_name(self):
        self.write(self.ids(2, 9), self.ids(2, 9), self.ids(2, 9), names=("ids", *NAMES[1:]))
        self.assert_run_fails(FLAGS, "input_0.pb", "'ids'", "'input_ids'")

    def test_too_few(self):
        self.write(self.ids(2, 9), self.ids(2, 9), names=NAMES[:2])
        self.assert_run_fails(FLAGS, "input_2.pb", "token_type_ids")

    def test_too_many(self):
        self.write(*[self.ids(2, 9)] * 4, names=(*NAMES, "more"))
        self.assert_run_fails(FLAGS, "input_3.pb", "3 inputs")

    def test_too_few_in_npz(self):
        np.savez(self.folder / "data.npz", input_ids=self.ids(2, 9), attention_mask=self.ids(2, 9))
        self.assert_run_fails(FLAGS, "token_type_ids", flags=["--inputs", self.folder / "data.npz"])

    def test_damaged_tensor(self):
        file = self.data / "input_1.pb"
        file.write_bytes(file.read_bytes()[:-20])
        self.assert_run_fails(FLAGS, "input_1.pb")

    def test_no_folder(self):
        self.assert_run_fails(FLAGS, self.folder / "nowhere", flags=["--inputs", self.folder / "nowhere"])

    def test_no_expected_output(self):
        (self.data / "output_0.pb").unlink()
        self.assert_run_fails(FLAGS, "output_0.pb", "logits", flags=["--expect", self.data])

    def test_more_positions_than_the_model_has(self):
        self.write(*[self.ids(1, 200)] * 3)
        self.assert_run_fails(FLAGS, "guard", "Slice", "sequence", "at most 128", "200")

    def test_as_many_positions_as_the_model_has(self):
        self.write(*[self.ids(1, 128)] * 3)
        self.run_ok("shardrun", self.out, "--inputs", self.data)

    def test_nothing_in_the_batch(self):
        self.write(*[self.ids(0, 4)] * 3)
        self.assert_run_fails(FLAGS, "guard", "batch", "at least 1", "found 0")

    def test_index_beyond_the_vocabulary(self):
        self.write(self.ids(1, 4) * 99999, self.ids(1, 4), self.ids(1, 4) * 0)
        self.assert_run_fails(FLAGS, "input_ids", "no row 99999", "table of 1024")

    def test_outputs_that_differ(self):
        file = self.data / "output_0.pb"
        array = np.zeros((2, 4), np.float32)
        file.write_bytes(numpy_helper.from_array(array, "logits").SerializeToString())
        done = program("shardrun", self.out, "--inputs", self.data, "--expect", self.data)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("output 0 'logits'", done.stdout)
        self.assertIn("differs", done.stdout)


class RunFlags(Run):
    def setUp(self):
        super().setUp()
        self.compile(self.home / "model.onnx", 1, to="out.shard")

    def test_no_inputs(self):
        self.assert_fails(program("shardrun", self.out), FLAGS, "--inputs", prefix="shardrun: error: ")

    def test_values_that_are_empty(self):
        for flag in ("--outputs", "--trace", "--device", "--tolerance", "--expect"):
            done = program("shardrun", self.out, "--inputs", self.data, flag, "")
            self.assert_fails(done, FLAGS, flag, "expected a value, found none", prefix="shardrun: error: ")

    def test_unknown_flag(self):
        self.assert_run_fails(FLAGS, "--frobnicate", "--help", flags=["--frobnicate"])

    def test_misspelt_flag(self):
        self.assert_run_fails(FLAGS, "--output: there is no such flag; did you mean --outputs?", flags=["--output", "x"])

    def test_repeat(self):
        self.assert_run_fails(FLAGS, "--repeat", "0", flags=["--repeat", 0])

    def test_tolerance(self):
        self.assert_run_fails(FLAGS, "--tolerance", "tight", flags=["--tolerance", "tight"])

    def test_outputs_that_cannot_be_written(self):
        (self.folder / "file").write_text("")
        done = program("shardrun", self.out, "--inputs", self.data, "--outputs", self.folder / "file/outputs")
        self.assert_fails(done, FLAGS, "file/outputs", prefix="shardrun: error: ")

    def test_trace_that_cannot_be_written(self):
        file = self.folder / "no" / "trace.json"
        done = program("shardrun", self.out, "--inputs", self.data, "--trace", file)
        self.assert_fails(done, FLAGS, file, prefix="shardrun: error: ")


del Mistakes, Run  # have no tests of their own
