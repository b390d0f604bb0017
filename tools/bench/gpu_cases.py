#!/usr/bin/env python3
"""Compiles the models that tools/gpu-bench times, without their weights: those are made where they are timed.

    tools/bench/gpu_cases.py SKELETONS -o .cache/gpu/bench         as tools/dev/gpu-bundle does it
    tools/bench/gpu_cases.py SKELETONS -o FOLDER --cases llama-tiny-f32

SKELETONS holds make_llama.py and bert-base-dynamo.onnx, vit-base-dynamo.onnx, graphs whose weights lie in files that are not
there. Each case becomes FOLDER/CASE with model.onnx, model.shard and case.json. An artifact knows its weights by a
fingerprint, so they are made here too for a moment: 16 GB of disk for the largest.
"""
import argparse
import json
import subprocess
import sys
from pathlib import Path

import onnx
from onnx import helper, numpy_helper

import numpy as np

import weights

ROOT = Path(__file__).resolve().parents[2]

LLAMA_8B = {"hidden": 4096, "layers": 32, "heads": 32, "kv_heads": 8, "ffn": 14336, "vocab": 128256}
LLAMA_TINY = {"hidden": 64, "layers": 2, "heads": 4, "kv_heads": 2, "ffn": 192, "vocab": 512}
BERT = {"hidden": 768, "layers": 12, "heads": 12, "ffn": 3072, "vocab": 30522, "length": 128}
VIT = {"hidden": 768, "layers": 12, "heads": 12, "ffn": 3072, "image": 224, "patch": 16, "classes": 2}
CASES = {
    "llama-3-8b-f16": {"family": "llama", "dtype": "float16", "prefill": 2048, "past": 512, "batches": [1, 32], **LLAMA_8B},
    "llama-3-8b-bf16": {"family": "llama", "dtype": "bfloat16", "prefill": 2048, "past": 512, "batches": [1, 32], **LLAMA_8B},
    "llama-tiny-f32": {"family": "llama", "dtype": "float32", "prefill": 32, "past": 8, "batches": [1, 2], **LLAMA_TINY},
    "bert-base-f32": {"family": "bert", "dtype": "float32", "batches": [32], **BERT},
    "vit-base-f32": {"family": "vit", "dtype": "float32", "batches": [32], **VIT},
}


def last_logits_only(file):
    """Generation asks for the logits of the last position, and so do exports for it: the LM head gets that row alone."""
    model = onnx.load(file, load_external_data=False)
    graph = model.graph
    head = next(node for node in graph.node if "logits" in node.output)
    graph.initializer.append(numpy_helper.from_array(np.array([-1], np.int64), "last_position"))
    last = helper.make_node("Gather", [head.input[0], "last_position"], ["last_hidden"], name="/lm_head/last", axis=1)
    graph.node.insert(list(graph.node).index(head), last)
    head.input[0] = "last_hidden"
    dims = next(output for output in graph.output if output.name == "logits").type.tensor_type.shape.dim
    dims[1].dim_value = 1
    onnx.save(model, file)


def make_model(case, skeletons, folder):
    if case["family"] == "llama":
        sizes = [f"--{key.replace('_', '-')}={case[key]}" for key in LLAMA_8B]
        command = [sys.executable, skeletons / "make_llama.py", *sizes, "--dtype", case["dtype"], "-o", folder]
        subprocess.run(command, check=True)
        last_logits_only(folder / "model.onnx")
    else:
        model = onnx.load(skeletons / f"{case['family']}-base-dynamo.onnx", load_external_data=False)
        for tensor in model.graph.initializer:
            for entry in tensor.external_data:
                if entry.key == "location":
                    entry.value = "model.onnx.data"
        onnx.save(model, folder / "model.onnx")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("skeletons", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--cases", nargs="*", choices=CASES, default=list(CASES))
    args = parser.parse_args()
    for name in args.cases:
        folder, case = args.output / name, CASES[name]
        folder.mkdir(parents=True, exist_ok=True)
        make_model(case, args.skeletons, folder)
        case = case | {"weight_bytes": weights.fill(folder)}
        (folder / "case.json").write_text(json.dumps(case, indent=1))
        shardc = [args.build / "bin/shardc", folder / "model.onnx", "--target", "cuda", "-o", folder / "model.shard"]
        subprocess.run(shardc, check=True)
        (folder / "model.onnx.data").unlink()


if __name__ == "__main__":
    main()
