"""KV caches that stay with the ranks: a prompt and 32 steps give what one long run gives."""

import numpy as np
import onnx

from tests.e2e.caches import VOCABULARY, decoder, write_request
from tests.support import ROOT, EndToEnd, program, read_outputs

CORPUS = ROOT.parent / "shared/corpus"
PROMPT, STEPS = 5, 32


class Caches(EndToEnd):
    def setUp(self):
        super().setUp()
        self.model = decoder()
        self.file = self.folder / "model.onnx"
        onnx.save(self.model, self.file)

    empty = None  # data of the model with empty caches

    def requests(self, model, ids, lengths):
        """Folders of requests that hold so many ids each, one after the other."""
        folders, past = [], 0
        for i, length in enumerate(lengths):
            name = self.folder / f"requests{len(lengths)}" / str(i)
            if not name.exists():
                write_request(name, model, past, ids[:, past : past + length], self.empty)
            folders.append(name)
            past += length
        return folders

    def logits(self, artifact, folders, *flags):
        out = self.folder / "out"
        for old in sorted(out.glob("**/*"), reverse=True):
            old.rmdir() if old.is_dir() else old.unlink()
        self.run_ok("shardrun", artifact, "--inputs", *folders, "--outputs", out, "--check-replicas", *flags)
        parts = [out / str(i) for i in range(len(folders))] if len(folders) > 1 else [out]
        return np.concatenate([read_outputs(part)[0] for part in parts], axis=1)

    def check(self, file, model, vocabulary, batch=2, relative=1e-5):
        total = PROMPT + STEPS
        ids = np.random.default_rng(3).integers(0, vocabulary, (batch, total))
        for tp in (1, 2, 4):
            with self.subTest(model=file.parent.name, tp=tp):
                artifact = self.compile(file, tp)
                whole = self.logits(artifact, self.requests(model, ids, [total]))
                stepwise = self.requests(model, ids, [PROMPT] + [1] * STEPS)
                steps = self.logits(artifact, stepwise, "--cache", total)
                self.assertEqual(steps.shape, whole.shape)
                self.assertLessEqual(np.abs(steps - whole).max(), 1e-6 + relative * np.abs(whole).max())
                chunks = self.requests(model, ids, [PROMPT, STEPS - 9, 9])
                chunked = self.logits(artifact, chunks, "--cache", total + 50, "--repeat", 2)
                self.assertLessEqual(np.abs(chunked - whole).max(), 1e-6 + relative * np.abs(whole).max())

    def test_prompt_and_steps_are_one_run(self):
        self.check(self.file, self.model, VOCABULARY)

    def test_a_full_cache_says_so(self):
        artifact = self.compile(self.file, 2)
        ids = np.zeros((1, 8), np.int64)
        folders = self.requests(self.model, ids, [5, 3])
        done = program("shardrun", artifact, "--inputs", *folders, "--cache", 7)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"cache of 'past\.0\.k' is full: it holds 7 positions, 5 are taken and 3 more")
        self.run_ok("shardrun", artifact, "--inputs", *folders, "--cache", 8)

    def test_a_model_without_caches_says_so(self):
        artifact = self.compile(ROOT / "tests/models/llama-dynamo-op18/model.onnx", 1)
        data = ROOT / "tests/models/llama-dynamo-op18/test_data_set_0"
        done = program("shardrun", artifact, "--inputs", data, "--cache", 8)
        self.assertEqual(done.returncode, 2)
        self.assertIn("has no cache to keep", done.stderr)

    def test_models_of_the_corpus(self):
        """Where it lies beside the clone: other exporters, other layouts."""
        for name in ("llama-optimum-kv", "llama-dynamo-kv-op23", "llama-genai-fp32", "gpt2-optimum-kv", "qwen3-hf5-ort-cuda"):
            file = CORPUS / name / "model.onnx"
            if file.exists():
                model = onnx.load(file, load_external_data=False)
                self.folder.joinpath(name).mkdir()
                self.folder, home = self.folder / name, self.folder
                self.empty = file.parent / "test_data_set_0"
                self.check(file, model, 500)
                self.folder = home
