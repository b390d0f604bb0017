"""Every decoder of the corpus that has caches: a prompt and 32 steps with a state are one long run.

Where a model quantises what it computes by the ranges that it finds, a chunk and a step differ by nature. Then the
reference is ONNX Runtime in the same chunks, or, where that is not installed or not exact, shardrun without a state.
"""

import json
import os
import unittest
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnx
from onnx import numpy_helper

from tests.corpus.plan_table import CORPUS
from tests.e2e.caches import inputs_of, write_request
from tests.support import EndToEnd, processor_has, program, read_outputs

try:
    import onnxruntime
except ImportError:
    onnxruntime = None

# Without these instructions ONNX Runtime's products of bytes saturate at 16 bits, and its steps are no reference.
MULTIPLIES_BYTES = processor_has("avx512_vnni", "avx_vnni")
PROMPT, STEPS = 5, 32
PLANS = ("--tp 1", "--tp 2", "--tp 4", "--tp 2 --sp", "--cp 2 --tp 2")
TOTAL = PROMPT + STEPS
LENGTHS = [PROMPT] + [1] * STEPS
TOLERANCES = {"f32": (1e-6, 1e-5), "low": (2e-2, 2e-2), "quant": (1e-3, 5e-2)}  # absolute, of the largest


def tensors(folder, names):
    return {name: numpy_helper.to_array(onnx.load_tensor(folder / f"input_{i}.pb")) for i, name in enumerate(names)}


def decoders():
    """Models whose first data set has an empty past."""
    for file in sorted(CORPUS.glob("*/model.onnx")):
        if any(0 in onnx.load_tensor(i).dims for i in file.parent.glob("test_data_set_0/input_*.pb")):
            yield file


class Decoder:
    def __init__(self, file, folder):
        self.file, self.folder = file, folder
        self.model = onnx.load(file, load_external_data=False)
        self.names = [value.name for value in inputs_of(self.model)]
        self.example = file.parent / "test_data_set_0"
        self.batch = len(tensors(self.example, self.names)["input_ids"])
        self.ids = np.random.default_rng(3).integers(0, 500, (self.batch, TOTAL))
        nodes = {node.op_type for node in self.model.graph.node}
        self.quantises_what_it_computes = "DynamicQuantizeLinear" in nodes
        self.absolute, self.relative = TOLERANCES[json.loads((file.parent / "meta.json").read_text())["tolerance"]]

    def requests(self, lengths):
        past, folders = 0, []
        for i, length in enumerate(lengths):
            folder = self.folder / f"in{len(lengths)}" / str(i)
            if not folder.exists():
                write_request(folder, self.model, past, self.ids[:, past : past + length], self.example)
            folders.append(folder)
            past += length
        return folders

    def run(self, command, *arguments):
        done = program(command, *arguments)
        if done.returncode != 0:
            raise RuntimeError(done.stderr[-1000:])

    def logits(self, artifact, lengths, *flags):
        out = self.folder / "out" / artifact.name / str(len(lengths))
        self.run("shardrun", artifact, "--inputs", *self.requests(lengths), "--outputs", out, *flags)
        parts = [out / str(i) for i in range(len(lengths))] if len(lengths) > 1 else [out]
        return np.concatenate([read_outputs(part)[0] for part in parts], axis=1)

    def chunked(self, run):
        """Logits of the chunks, each of which gets the presents of the one before, in their order."""
        logits, presents = [], None
        for folder in self.requests(LENGTHS):
            inputs = tensors(folder, self.names)
            pasts = [name for name, tensor in inputs.items() if 0 in tensor.shape]
            if presents:
                inputs.update(zip(pasts, presents, strict=True))
            first, *presents = run(inputs)
            logits.append(first)
        return np.concatenate(logits, axis=1)

    def without_a_state(self, artifact):
        data, out = self.folder / "chunk", self.folder / "chunk-out"
        data.mkdir(exist_ok=True)

        def run(inputs):
            for i, name in enumerate(self.names):
                onnx.save_tensor(numpy_helper.from_array(inputs[name], name), data / f"input_{i}.pb")
            self.run("shardrun", artifact, "--inputs", data, "--outputs", out)
            return read_outputs(out)

        return self.chunked(run)

    def in_onnx_runtime(self):
        session = onnxruntime.InferenceSession(self.file, providers=["CPUExecutionProvider"])
        return self.chunked(lambda inputs: session.run(None, inputs))

    def check(self, plan):
        artifact = self.folder / (plan.replace(" ", "") + ".shard")
        self.run("shardc", self.file, *plan.split(), "-o", artifact)
        steps = self.logits(artifact, LENGTHS, "--cache", TOTAL, "--check-replicas")
        if not self.quantises_what_it_computes:
            expected = self.logits(artifact, [TOTAL])
        elif onnxruntime and MULTIPLIES_BYTES:
            expected = self.in_onnx_runtime()
        else:
            expected = self.without_a_state(artifact)
        steps, expected = steps.astype(np.float64), expected.astype(np.float64)
        assert steps.shape == expected.shape, f"{steps.shape} instead of {expected.shape}"
        error = np.abs(steps - expected).max()
        limit = self.absolute + self.relative * np.abs(expected).max()
        assert error <= limit, f"differs by {error:.3g}, at most {limit:.3g} was expected"


@unittest.skipUnless(CORPUS.is_dir(), "no corpus beside the clone")
class Decoding(EndToEnd):
    def test_a_prompt_and_steps_are_one_run(self):
        files = list(decoders())
        self.assertTrue(files)

        def problems(file):
            found = []
            folder = self.folder / file.parent.name
            folder.mkdir()
            for plan in PLANS:
                try:
                    Decoder(file, folder).check(plan)
                except (AssertionError, RuntimeError) as error:
                    found.append(f"{plan}: {error}")
            return found

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            for file, found in zip(files, pool.map(problems, files), strict=True):
                with self.subTest(model=file.parent.name):
                    self.assertEqual(found, [])
