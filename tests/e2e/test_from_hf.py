"""shardc from-hf: which exporter is called, how, and what becomes of its output. The exporters are stand-ins that note how they
were called and copy a model that is there; what the real ones write is in the corpus."""

import json
import os
import re
import shutil
import subprocess
import sys

from tests.support import BIN, EndToEnd, model_file

GENAI = ["onnxruntime_genai.models.builder", "onnx_ir", "torch", "transformers"]
OPTIMUM = ["optimum.exporters.onnx.__main__"]
EXPORTER = """
import json, os, shutil, sys
arguments = sys.argv[1:]
out = arguments[arguments.index("-o") + 1] if "-o" in arguments else arguments[-1]
with open(os.environ["CALLS"], "a") as file:
    file.write(json.dumps({"arguments": arguments, "offline": os.environ.get("HF_HUB_OFFLINE")}) + "\\n")
if "NAME" in os.environ.get("FAILING", ""):
    open(os.path.join(out, "half.onnx"), "w").write("half")
    sys.exit("this architecture is not supported")
for name in os.listdir(os.environ["MODEL"]):
    if name.startswith("model.onnx"):
        shutil.copy(os.path.join(os.environ["MODEL"], name), out)
for name in os.environ.get("COPIES", "").split():
    shutil.copy(os.path.join(out, "model.onnx"), os.path.join(out, name))
"""


class FromHf(EndToEnd):
    def setUp(self):
        super().setUp()
        self.source = self.folder / "hf"
        self.source.mkdir()
        self.config("LlamaForCausalLM")
        (self.source / "tokenizer.json").write_text("{}")
        (self.source / "model.safetensors").write_text("weights")
        (self.source / "model.safetensors.index.json").write_text("{}")
        self.packages = self.folder / "packages"
        self.packages.mkdir()
        self.out = self.folder / "out"

    def config(self, architecture, **more):
        (self.source / "config.json").write_text(json.dumps({"architectures": [architecture]} | more))

    def install(self, modules, name):
        for module in modules:
            path = self.packages.joinpath(*module.split("."))
            path.parent.mkdir(parents=True, exist_ok=True)
            for folder in path.relative_to(self.packages).parents:
                if str(folder) != ".":
                    (self.packages / folder / "__init__.py").touch()
            path.with_suffix(".py").write_text(EXPORTER.replace("NAME", name) if "." in module else "")

    def run_it(self, *flags, python=sys.executable, cwd=None, **environment):
        calls = self.folder / "calls"
        calls.write_text("")
        done = subprocess.run(
            [BIN / "shardc", "from-hf", self.source, "-o", self.out, "--python", python, *flags], capture_output=True, text=True, cwd=cwd,
            env=os.environ | {"PYTHONPATH": str(self.packages), "CALLS": str(calls), "PYTHONDONTWRITEBYTECODE": "1",
                              "MODEL": str(model_file("llama-genai-int4").parent)} | environment)  # fmt: skip
        return done, [json.loads(line) for line in calls.read_text().splitlines()]

    def assert_nothing_left(self):
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["calls", "hf", "packages"])

    def test_a_decoder_by_the_model_builder(self):
        self.install(GENAI, "genai")
        self.install(OPTIMUM, "optimum")
        done, calls = self.run_it("--precision", "int4")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("out/model.onnx: opset", done.stdout)
        self.assertEqual(len(calls), 1)
        self.assertEqual(calls[0]["arguments"][:2], ["-i", str(self.source)])
        self.assertEqual(calls[0]["arguments"][4:8], ["-p", "int4", "-e", "cpu"])
        self.assertEqual(calls[0]["offline"], "1")
        self.assertEqual(sorted(path.name for path in self.out.iterdir()), ["config.json", "model.onnx", "model.onnx.data", "tokenizer.json"])
        self.run_ok("shardc", self.out / "model.onnx", "--serve", "-o", self.folder / "model.shard")

    def test_caches_are_whole(self):
        """Not of a window alone, where the builder has the choice."""
        self.install(GENAI, "genai")
        done, calls = self.run_it()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("windowed_kv_cache=false", calls[0]["arguments"])

    def told(self, package, version):
        """Its version is known."""
        folder = self.packages / f"{package.replace('-', '_')}-{version}.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")

    def test_an_exporter_that_is_too_old(self):
        """Another one is taken, and without one the older versions are told."""
        self.install(GENAI, "genai")
        self.told("onnxruntime-genai-cuda", "0.17.1")
        self.told("transformers", "4.57.6")
        done, calls = self.run_it("--precision", "int4")
        self.assertEqual((done.returncode, calls), (3, []))
        self.assertIn("no exporter for it: onnxruntime-genai-cuda 0.17.1 is there, expected 0.18 or newer, transformers 4.57.6 is there, "
                      'expected 5 or newer; pip install "onnxruntime-genai>=0.18" onnx-ir torch "transformers>=5")', done.stderr)  # fmt: skip
        self.install(OPTIMUM, "optimum")
        self.told("optimum-onnx", "0.1.0")
        done, calls = self.run_it()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([call["arguments"][0] for call in calls], ["--model"])

    def test_the_other_one_where_the_first_fails(self):
        self.install(GENAI, "genai")
        self.install(OPTIMUM, "optimum")
        done, calls = self.run_it(FAILING="genai")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([call["arguments"][0] for call in calls], ["-i", "--model"])
        self.assertIn("text-generation-with-past", calls[1]["arguments"])
        self.assertNotIn("half.onnx", [path.name for path in self.out.iterdir()])

    def test_models_that_are_no_decoders(self):
        self.install(GENAI, "genai")
        self.install(OPTIMUM, "optimum")
        for architecture, more, task in (
            ("BertModel", {}, "feature-extraction"),
            ("BertForSequenceClassification", {}, "text-classification"),
            ("WhisperForConditionalGeneration", {"is_encoder_decoder": True, "model_type": "whisper"}, "automatic-speech-recognition-with-past"),
            ("T5ForConditionalGeneration", {"is_encoder_decoder": True}, "text2text-generation-with-past"),
            ("GPT2LMHeadModel", {}, None),
        ):
            with self.subTest(architecture):
                self.config(architecture, **more)
                shutil.rmtree(self.out, ignore_errors=True)
                done, calls = self.run_it()
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(calls[0]["arguments"][:1], ["--model" if task else "-i"])
                self.assertEqual(task is None or task in calls[0]["arguments"], True)

    def test_a_merged_decoder_stands_for_its_two(self):
        self.install(OPTIMUM, "optimum")
        self.config("T5ForConditionalGeneration", is_encoder_decoder=True)
        done, _ = self.run_it(COPIES="decoder_model.onnx decoder_with_past_model.onnx decoder_model_merged.onnx encoder_model.onnx")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(re.findall(r"out/(\w+)\.onnx: opset", done.stdout), ["decoder_model_merged", "encoder_model", "model"])

    def test_small_weights_are_the_model_builders_alone(self):
        self.install(OPTIMUM, "optimum")
        done, calls = self.run_it("--precision", "int4")
        self.assertEqual((done.returncode, calls), (3, []))
        self.assertIn('pip install "onnxruntime-genai>=0.18"', done.stderr)
        self.assertNotIn("optimum-onnx", done.stderr)

    def test_the_folder_that_it_is_started_in_shadows_nothing(self):
        self.install(OPTIMUM, "optimum")
        self.config("BertModel")
        (self.folder / "hf/json.py").write_text("raise SystemExit('shadowed')")
        done, calls = self.run_it(cwd=self.source)
        self.assertEqual((done.returncode, len(calls)), (0, 1), done.stderr)

    def test_no_exporter(self):
        done, calls = self.run_it()
        self.assertEqual((done.returncode, calls), (3, []))
        self.assertIn('no exporter for it; pip install "onnxruntime-genai>=0.18" onnx-ir torch "transformers>=5", or pip install '
                      '"optimum-onnx>=0.1")', done.stderr)  # fmt: skip
        self.assert_nothing_left()
        done, _ = self.run_it(python="no-such-python")
        self.assertIn("no-such-python (does not start)", done.stderr)

    def test_an_exporter_that_fails(self):
        self.install(OPTIMUM, "optimum")
        done, _ = self.run_it(FAILING="optimum")
        self.assertEqual(done.returncode, 3)
        self.assertIn("the exporter failed: this architecture is not supported", done.stderr)
        self.assert_nothing_left()

    def test_a_damaged_config(self):
        self.install(OPTIMUM, "optimum")
        file = self.source / "config.json"
        for text, why in (("{", "is no JSON: Expecting property name"), ("[]", "is no object of JSON"), ("\xff", "is no JSON"),
                          ('{"architectures": [5]}', r"'architectures' is \[5\]: expected a list of names"),
                          ('{"architectures": "LlamaForCausalLM"}', "'architectures' is \"LlamaForCausalLM\": expected a list of names")):  # fmt: skip
            file.write_text(text, encoding="latin-1")
            done, calls = self.run_it()
            self.assertEqual((done.returncode, calls), (3, []))
            self.assertRegex(done.stderr, f"^error: {file}: {why}.*\n$")
            self.assert_nothing_left()
        file.unlink()
        file.mkdir()
        self.assertIn("config.json: cannot be read: Is a directory", self.run_it()[0].stderr)

    def test_wrong_folders(self):
        (self.source / "config.json").unlink()
        done, _ = self.run_it()
        self.assertEqual(done.returncode, 3)
        self.assertIn("has no config.json; expected a folder of Hugging Face", done.stderr)
        self.config("LlamaForCausalLM")
        self.out.mkdir()
        done, _ = self.run_it()
        self.assertEqual(done.returncode, 4)
        self.assertIn("it exists; choose another name", done.stderr)
