"""Predicted against measured on this machine: models of some 100 million parameters under six plans of two ranks."""

import itertools
import os
import statistics

import numpy as np
from host import Host
from onnx import TensorProto

from tests.large import decoder, gpt

FLOAT = TensorProto.FLOAT
# Degrees, flags of the compiler, and what `shardc plan` is told beside the degrees.
PLANS = {
    "tp 1": ({}, [], []),
    "tp 2": ({"tp": 2}, [], ["--sp", "off"]),
    "tp 2, sp": ({"tp": 2}, ["--sp"], ["--sp", "on"]),
    "cp 2, ring": ({"cp": 2}, ["--cp-mode", "ring"], ["--cp-mode", "ring"]),
    "cp 2, ulysses": ({"cp": 2}, ["--cp-mode", "ulysses"], ["--cp-mode", "ulysses"]),
    "pp 2": ({"pp": 2}, [], ["--micro-batches", 1]),
}
GPT2 = {"layers": 12, "hidden": 768, "heads": 12, "vocabulary": 50257, "positions": 1024}
LLAMA = {"layers": 12, "hidden": 768, "heads": 12, "kv_heads": 12, "inner": 3072, "vocabulary": 32000}
WIDE = {"layers": 6, "hidden": 1536, "heads": 12, "kv_heads": 4, "inner": 4096, "vocabulary": 8192}


def of_gpt(sizes, batch, positions):
    ids = np.zeros((batch, positions), np.int64)
    return [ids, ids + np.arange(positions)]


def of_decoder(sizes, batch, positions):
    past = np.zeros((batch, sizes["kv_heads"], 0, sizes["hidden"] // sizes["heads"]), np.float32)
    return [np.zeros((batch, positions), np.int64)] + [past] * (2 * sizes["layers"])


# 124, 162 and 177 million parameters: builder, sizes, inputs, batch and positions.
CASES = {
    "gpt2-1x256": (gpt, GPT2, of_gpt, 1, 256),
    "gpt2-2x512": (gpt, GPT2, of_gpt, 2, 512),
    "llama-1x128": (decoder, LLAMA, of_decoder, 1, 128),
    "wide-1x512": (decoder, WIDE, of_decoder, 1, 512),
}


def compare(predictor, build, topologies, rounds, repeat, cases):
    """Prints each case; whether times are within 25 % and orders agree as far as they are apart."""
    host = Host(build, predictor.folder)
    held = True
    for name in cases:
        builder, sizes, inputs, batch, positions = CASES[name]
        model = predictor.model(builder, **sizes, type=FLOAT)
        data = host.data("data", inputs(sizes, batch, positions))
        predicted, artifacts = {}, {}
        for plan, (degrees, flags, fixed) in PLANS.items():
            dims = {"batch": batch, "seq": positions}
            topology = topologies[0] if degrees else topologies[1]
            predicted[plan] = 1e3 * predictor.plan(model, topology, dims, *fixed, **degrees)["seconds"]["prefill"]
            words = [word for axis, ways in degrees.items() for word in (f"--{axis}", ways)]
            artifacts[plan] = host.compile(model, plan.replace(" ", "").replace(",", "-"), *(words or ["--tp", 1]), *flags)
        times = {plan: [] for plan in PLANS}
        # In turn, so that a busy moment meets all of them.
        for _ in range(rounds):
            for plan, artifact in artifacts.items():
                times[plan].append(host.milliseconds(artifact, data, repeat))
        held &= report(name, predicted, {plan: statistics.median(list_) for plan, list_ in times.items()})
    return held


def report(name, predicted, measured):
    print(f"\n{name} (load {os.getloadavg()[0]:.1f})\n{'plan':16} {'measured':>10} {'predicted':>10}    error")
    errors = []
    for plan in sorted(measured, key=measured.get):
        error = 100 * (predicted[plan] / measured[plan] - 1)
        errors.append(abs(error))
        print(f"{plan:16} {measured[plan]:10.1f} {predicted[plan]:10.1f} ms {error:+6.1f} %")
    pairs = list(itertools.combinations(measured, 2))
    agree = sum((measured[a] < measured[b]) == (predicted[a] < predicted[b]) for a, b in pairs)
    # Plans that are as fast as each other have no order.
    apart = [(a, b) for a, b in pairs if abs(measured[a] / measured[b] - 1) > 0.1]
    wrong = [(a, b) for a, b in apart if (measured[a] < measured[b]) != (predicted[a] < predicted[b])]
    print(f"mean error {statistics.mean(errors):.1f} %, largest {max(errors):.1f} %; of {len(pairs)} pairs {agree} in order, "
          f"of {len(apart)} that are 10 % apart {len(apart) - len(wrong)}")  # fmt: skip
    return max(errors) <= 25 and not wrong
