"""KV caches that stay with the ranks: a prompt and 32 steps give what one long run gives."""

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from tests.e2e.caches import HEADS, SIZE, VOCABULARY, decoder, feed, inputs_of, write_steps
from tests.support import ROOT, EndToEnd, program, read_outputs

PROMPT, STEPS = 5, 32


class Caches(EndToEnd):
    def setUp(self):
        super().setUp()
        self.model = decoder()
        self.file = self.folder / "model.onnx"
        onnx.save(self.model, self.file)

    def requests(self, model, ids, lengths):
        """Folders of requests that hold so many ids each, one after the other."""
        folder = self.folder / f"requests{len(lengths)}"
        if folder.exists():
            return [folder / str(i) for i in range(len(lengths))]
        return write_steps(folder, model, ids, lengths)

    def logits(self, artifact, folders, *flags):
        out = self.folder / "out"
        for old in sorted(out.glob("**/*"), reverse=True):
            old.rmdir() if old.is_dir() else old.unlink()
        self.run_ok("shardrun", artifact, "--inputs", *folders, "--outputs", out, "--check-replicas", *flags)
        parts = [out / str(i) for i in range(len(folders))] if len(folders) > 1 else [out]
        return np.concatenate([read_outputs(part)[0] for part in parts], axis=1)

    def test_prompt_and_steps_are_one_run(self):
        total = PROMPT + STEPS
        ids = np.random.default_rng(3).integers(0, VOCABULARY, (2, total))
        for tp in (1, 2, 4):
            with self.subTest(tp=tp):
                artifact = self.compile(self.file, tp)
                whole = self.logits(artifact, self.requests(self.model, ids, [total]))
                stepwise = self.requests(self.model, ids, [PROMPT] + [1] * STEPS)
                self.assert_same_numbers([self.logits(artifact, stepwise, "--cache", total)], [whole])
                chunks = self.requests(self.model, ids, [PROMPT, STEPS - 9, 9])
                chunked = self.logits(artifact, chunks, "--cache", total + 50, "--repeat", 2)
                self.assert_same_numbers([chunked], [whole])

    def test_caches_of_another_type_than_the_sums(self):
        """Kept in the narrower type, whichever side that is; the reference is ONNX's own evaluator."""
        ids = np.random.default_rng(4).integers(0, VOCABULARY, (2, PROMPT + 6))
        wide, narrow = TensorProto.FLOAT, TensorProto.FLOAT16
        for cached, joined in ((wide, narrow), (narrow, wide)):
            model = decoder(cached=cached, joined=joined)
            onnx.save(model, self.file)
            whole = {v.name: feed(v.name, 0, ids) for v in inputs_of(model)}
            element = helper.tensor_dtype_to_np_dtype(cached)
            whole = {n: np.zeros((2, HEADS, 0, SIZE), element) if v is None else v for n, v in whole.items()}
            expected = ReferenceEvaluator(model).run(["logits"], whole)[0]
            for tp in (1, 2):
                with self.subTest(cached=cached, tp=tp):
                    artifact = self.compile(self.file, tp, to=f"{cached}-{tp}.shard")
                    self.folder = self.folder / f"{cached}-{tp}"
                    stepwise = self.requests(model, ids, [PROMPT] + [1] * 6)
                    found = self.logits(artifact, stepwise, "--cache", 20)
                    self.folder = self.folder.parent
                    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-3)
        lowered = self.run_ok("shardc", self.file, "--tp", "1", "--to=lowered", "--kernels", "reference")
        casts = [line for line in lowered.splitlines() if '"Cast"' in line]
        self.assertEqual(len(casts), 8)  # of past for the sums, and of what is new: none of present

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
