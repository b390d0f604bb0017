"""`shardc verify` in double precision over the corpus beside the clone: plans compute what one rank computes.

    python -m tests.corpus.test_verify 'llama*' --tp 2 --pp 2      any models, any plan
"""

import json
import subprocess
import sys
import unittest

from tests.corpus.plan_table import CORPUS
from tests.support import BIN

PLANS = ("--tp 3 --sp", "--pp 2 --cp 2 --tp 2", "--dp 2 --cp 3 --ep 2", "--fsdp 3 --tp 2")
# Each kind of model, exporter and element type once.
MODELS = (
    "bert-dynamo-bf16", "clip-dynamo-op20", "deepseekv3-dynamo-op20", "distilbert-int8-dynamic", "gemma3-dynamo-op20",
    "gpt2-ort-fused", "gptoss-optimum-kv", "llama-genai-fp16-cuda", "llama-int4-matmulnbits", "mixtral-dynamo-op20",
    "modernbert-dynamo-op20", "phi3-optimum-kv", "t5-optimum-decoder-merged", "vit-int8-qdq", "whisper-dynamo-op20",
)  # fmt: skip


def verify(model, plan):
    """(largest error as a part of the tolerance, requests), or why it fails."""
    command = [BIN / "shardc", "verify", CORPUS / model / "model.onnx", *plan.split(), "--precision", "f64", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        return None, f"exit status {done.returncode}: {done.stderr[-1000:]} {done.stdout[-2000:]}"
    found = json.loads(done.stdout)
    return max(output["of_tolerance"] for r in found["requests"] for output in r["outputs"]), found


@unittest.skipUnless(CORPUS.is_dir(), "no corpus beside the clone")
class Corpus(unittest.TestCase):
    def test_plans_compute_what_one_rank_computes(self):
        for model in MODELS:
            for plan in PLANS:
                with self.subTest(model=model, plan=plan):
                    error, found = verify(model, plan)
                    self.assertIsNotNone(error, found)
                    self.assertLess(error, 1e-3)  # nothing is left but rounding of doubles
                    self.assertEqual(found["notes"], [], "no inputs could be made up")


def main():
    pattern, plan = sys.argv[1], " ".join(sys.argv[2:])
    wrong = 0
    for folder in sorted(CORPUS.glob(pattern)):
        if (folder / "model.onnx").exists():
            error, found = verify(folder.name, plan)
            wrong += error is None
            print(folder.name, found if error is None else f"{error:.3g} of the tolerance", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main() if len(sys.argv) > 1 else unittest.main()
