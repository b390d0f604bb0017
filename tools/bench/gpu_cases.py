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
from onnx import TensorProto, helper, numpy_helper

import numpy as np

import weights

ROOT = Path(__file__).resolve().parents[2]

LLAMA_8B = {"hidden": 4096, "layers": 32, "heads": 32, "kv_heads": 8, "ffn": 14336, "vocab": 128256}
LLAMA_TINY = {"hidden": 64, "layers": 2, "heads": 4, "kv_heads": 2, "ffn": 192, "vocab": 512}
BERT = {"hidden": 768, "layers": 12, "heads": 12, "ffn": 3072, "vocab": 30522, "length": 128}
VIT = {"hidden": 768, "layers": 12, "heads": 12, "ffn": 3072, "image": 224, "patch": 16, "classes": 2}
# A layer of a mixture alone; its batches are tokens.
MIXTURE_8 = {"family": "mixture", "hidden": 4096, "ffn": 14336, "experts": 8, "chosen": 2}
MIXTURE_128 = {"family": "mixture", "hidden": 2048, "ffn": 768, "experts": 128, "chosen": 8}
MIXTURE_TINY = {"family": "mixture", "hidden": 32, "ffn": 48, "experts": 5, "chosen": 2}
CASES = {
    "llama-3-8b-f16": {"family": "llama", "dtype": "float16", "prefill": 2048, "past": 512, "batches": [1, 32], **LLAMA_8B},
    "llama-3-8b-bf16": {"family": "llama", "dtype": "bfloat16", "prefill": 2048, "past": 512, "batches": [1, 32], **LLAMA_8B},
    "llama-tiny-f32": {"family": "llama", "dtype": "float32", "prefill": 32, "past": 8, "batches": [1, 2], **LLAMA_TINY},
    "bert-base-f32": {"family": "bert", "dtype": "float32", "batches": [32], **BERT},
    "vit-base-f32": {"family": "vit", "dtype": "float32", "batches": [32], **VIT},
    "mixture-of-8-f16": {"dtype": "float16", "batches": [8, 64, 2048], **MIXTURE_8},
    "mixture-of-128-f16": {"dtype": "float16", "batches": [8, 64, 2048], **MIXTURE_128},
    "mixture-tiny-f32": {"dtype": "float32", "batches": [2, 20], **MIXTURE_TINY},
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


def mixture(case):
    """x and the router's scores to y, with the weights in a file that is not there."""
    kind = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16}[case["dtype"]]
    hidden, ffn, experts = case["hidden"], case["ffn"], case["experts"]
    initializers, offset = [], 0
    for name, dims in (("up", (experts, 2 * ffn, hidden)), ("down", (experts, hidden, ffn))):
        size = int(np.prod(dims)) * helper.tensor_dtype_to_np_dtype(kind).itemsize
        tensor = TensorProto(name=name, data_type=kind, dims=dims, data_location=TensorProto.EXTERNAL)
        for key, value in (("location", "model.onnx.data"), ("offset", offset), ("length", size)):
            tensor.external_data.add(key=key, value=str(value))
        initializers.append(tensor)
        offset += size
    node = helper.make_node("MoE", ["x", "router", "up", "", "down"], ["y"], "mixture", domain="com.microsoft", k=case["chosen"],
                            activation_type="swiglu", swiglu_fusion=1, activation_alpha=1.0, activation_beta=0.0,
                            normalize_routing_weights=1)  # fmt: skip
    value = helper.make_tensor_value_info
    inputs = [value("x", kind, ["tokens", hidden]), value("router", kind, ["tokens", experts])]
    graph = helper.make_graph([node], "mixture", inputs, [value("y", kind, ["tokens", hidden])], initializers)
    opsets = [helper.make_opsetid("", 23), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def make_model(case, skeletons, folder):
    if case["family"] == "llama":
        sizes = [f"--{key.replace('_', '-')}={case[key]}" for key in LLAMA_8B]
        command = [sys.executable, skeletons / "make_llama.py", *sizes, "--dtype", case["dtype"], "-o", folder]
        subprocess.run(command, check=True)
        last_logits_only(folder / "model.onnx")
    elif case["family"] == "mixture":
        onnx.save(mixture(case), folder / "model.onnx")
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
