"""Writes generation.json: how decoders go on by a plain loop over ONNX Runtime, without caches, plans or batches.

    python3 -m tests.corpus.record_generation [MODEL ...]

For each decoder of the corpus, two prompts, with the likeliest tokens and with drawn ones. Prompts
are chosen so that logits which differ as the model's tolerance allows give the same tokens: what differs then is wrong.
Where ONNX Runtime cannot run a model (bfloat16), it is ONNX's own evaluator.
"""

import json
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

from tests.corpus.plan_table import CORPUS
from tests.e2e.caches import feed, inputs_of
from tests.python import support  # noqa: F401  before what follows

from shardrt.sampling import Sampling  # isort: skip

FILE = Path(__file__).with_name("generation.json")
LENGTHS, FIXED_LENGTHS, ENCODED, SEEDS = (3, 9), (3, 5), 6, 5000
# Those that take no steps of rows: without caches.
REQUESTS = ("deepseekv3-dynamo-op20", "gemma3-dynamo-op20", "gpt2-dynamo-op20", "gpt2-ort-fused", "gptoss-dynamo-op20",
            "llama-dynamo-fp16", "llama-dynamo-op18", "llama-dynamo-static", "mixtral-dynamo-op20", "qwen3-dynamo-op21",
            "qwen3moe-dynamo-op21", "whisper-dynamo-op20")  # fmt: skip
DRAWN = {"temperature": 0.9, "top_k": 50, "top_p": 0.95, "repetition_penalty": 1.1, "seed": 7}
# By tolerance class: noise on logits, of the largest one, and for how many tokens a prompt must stand it.
LIMITS = {"f32": (1e-4, 12), "low": (5e-3, 8), "quant": (2e-2, 5)}


class Reference:
    """Logits behind ids, all of them computed again."""

    def __init__(self, file):
        self.model, self.example = onnx.load(file), file.parent / "test_data_set_0"
        # Rows and positions of each run; 0: as many as there are.
        self.fixed = [dim.dim_value for dim in self.model.graph.input[0].type.tensor_type.shape.dim]
        try:
            import onnxruntime

            session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
            self.run = lambda inputs: session.run(["logits"], inputs)[0]
        except Exception as error:
            print(f"{file.parent.name}: not by ONNX Runtime: {str(error)[:100]}", file=sys.stderr)
            evaluator = ReferenceEvaluator(self.model)
            self.run = lambda inputs: evaluator.run(["logits"], inputs)[0]

    def logits(self, ids, extra):
        if all(self.fixed):
            return self.fixed_logits(ids)
        inputs = {}
        for value in inputs_of(self.model):
            tensor = feed(value.name, 0, np.array([ids]))
            tensor_type = value.type.tensor_type
            if value.name in extra:
                tensor = extra[value.name]
            elif tensor_type.elem_type == onnx.TensorProto.BOOL:
                tensor = np.array([False])  # a merged decoder's branch for prompts
            elif tensor is None:
                dims = [dim.dim_value for dim in tensor_type.shape.dim]
                last = dims[3] or self.head_size()
                tensor = np.zeros((1, dims[1], 0, last), helper.tensor_dtype_to_np_dtype(tensor_type.elem_type))
            inputs[value.name] = tensor
        return self.run(inputs)[0, -1].astype(np.float64)

    def fixed_logits(self, ids):
        """In the first row, behind which zeros are hidden; the others are zeros."""
        tokens, mask = np.zeros(self.fixed, np.int64), np.ones(self.fixed, np.int64)
        tokens[0, : len(ids)] = ids
        mask[0, len(ids) :] = 0
        return self.run({"input_ids": tokens, "attention_mask": mask})[0, len(ids) - 1].astype(np.float64)

    def head_size(self):
        """Where the inputs do not say it."""
        tensors = map(onnx.load_tensor, sorted(self.example.glob("input_*.pb")))
        return next(tensor.dims[3] for tensor in tensors if len(tensor.dims) == 4)


def extra_of(model, seed):
    """What an encoder gave, or is given."""
    rng, values = np.random.default_rng(seed), {}
    for value in inputs_of(model):
        if value.name == "encoder_hidden_states":
            size = value.type.tensor_type.shape.dim[2].dim_value
            values[value.name] = rng.normal(0, 1, (1, ENCODED, size)).astype(np.float32)
        if value.name == "input_features":  # of sound, for an encoder in the model
            dims = [dim.dim_value for dim in value.type.tensor_type.shape.dim[1:]]
            values[value.name] = rng.normal(0, 1, (1, *dims)).astype(np.float32)
        if value.name == "encoder_attention_mask":
            values[value.name] = np.ones((1, ENCODED), np.int64)
    return values


def prompt_of(length, seed):
    return np.random.default_rng(seed).integers(3, 500, length).tolist()


def go_on(reference, prompt, extra, sampling, noise, tokens):
    """So many tokens, or None where noise would change one."""
    ids, rng = list(prompt), np.random.default_rng(0)
    for _ in range(tokens):
        logits = reference.logits(ids, extra)
        token, _ = sampling.choose(logits, ids, len(ids))
        for _ in range(8):
            other = logits + rng.normal(0, noise, logits.shape) * np.abs(logits).max()
            if sampling.choose(other, ids, len(ids))[0] != token:
                return None
        ids.append(token)
    return ids[len(prompt) :]


def record(file):
    reference = Reference(file)
    noise, tokens = LIMITS[json.loads((file.parent / "meta.json").read_text())["tolerance"]]
    found, fixed = [], reference.fixed[1] if all(reference.fixed) else 0
    for length in FIXED_LENGTHS if fixed else LENGTHS:
        for seed in range(SEEDS):
            prompt, extra = prompt_of(length, seed), extra_of(reference.model, seed)
            texts = {}
            for name, sampling in (("greedy", Sampling()), ("drawn", Sampling(**DRAWN))):
                room = fixed - length + 1 if fixed else tokens
                texts[name] = go_on(reference, prompt, extra, sampling, noise, min(tokens, room))
                if texts[name] is None:
                    break
            else:
                found.append({"prompt": prompt, "seed": seed, **texts})
                break
        else:
            sys.exit(f"{file.parent.name}: no prompt is far enough from rounding")
    return found


def main(names):
    recorded = json.loads(FILE.read_text()) if FILE.exists() else {}
    for name in names or recorded:
        recorded[name] = record(CORPUS / name / "model.onnx")
    lines = ",\n".join(f"{json.dumps(name)}: [\n  " + ",\n  ".join(map(json.dumps, recorded[name])) + "]" for name in sorted(recorded))
    FILE.write_text(f"{{\n{lines}\n}}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
