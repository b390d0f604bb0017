"""Networks with a state, and transforms."""

import numpy as np

from tests.fuzz.operators.case import I32, I64, case

ACTIVATIONS = ["Relu", "Tanh", "Sigmoid", "Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu", "Softsign", "Softplus"]
WITH_ALPHA = {"Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu"}
WITH_BETA = {"Affine", "ScaledTanh", "HardSigmoid"}


def recurrent(draw):
    op, gates, functions = draw.one(("LSTM", 4, 3), ("GRU", 3, 2), ("RNN", 1, 1))
    steps, batch, size, hidden = draw.shape(4, high=4)
    direction = draw.one("forward", "reverse", "bidirectional")
    both = 2 if direction == "bidirectional" else 1
    operands = [draw.floats(steps, batch, size), draw.floats(both, gates * hidden, size), draw.floats(both, gates * hidden, hidden)]
    bias = draw.one(None, draw.floats(both, 2 * gates * hidden))
    lengths = draw.one(None, None, draw.ints(1, steps, batch, dtype=I32))
    state = draw.one(None, draw.floats(both, batch, hidden))
    operands += [bias, lengths, state]
    if op == "LSTM":
        operands += [draw.one(None, draw.floats(both, batch, hidden)), draw.one(None, draw.floats(both, 3 * hidden))]
    attributes = {"clip": 0.8}
    if draw.chance(0.6):
        usual = draw.chance(0.4)
        names = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}[op] * both
        names = names if usual else [draw.one(*ACTIVATIONS) for _ in range(both * functions)]
        attributes["activations"] = names
        alphas, betas = [0.4 for n in names if n in WITH_ALPHA], [0.6 for n in names if n in WITH_BETA]
        attributes |= {"activation_alpha": alphas or None, "activation_beta": betas or None}
    chosen = {k: v for k, v in attributes.items() if v is not None and (k != "clip" or draw.chance(0.3))}
    chosen |= {"linear_before_reset": 1} if op == "GRU" and draw.chance(0.5) else {}
    chosen |= {"input_forget": 1} if op == "LSTM" and draw.chance(0.15) else {}
    while operands[-1] is None:
        operands.pop()
    return case(draw, op, *operands, weights=(1, 2, 3, 7), results=2 if op != "LSTM" else 3, opset=draw.one(7, 14, 17), hidden_size=hidden,
                direction=direction, references=("ort",), tolerance=1e-3, **chosen)  # fmt: skip


def fourier(draw):
    batch, points = draw.int(1, 2), draw.int(2, 6)
    x = draw.floats(batch, points, draw.int(1, 2))
    half = draw.int(0, 1) if x.shape[-1] == 1 else 0
    return case(draw, "DFT", x, draw.one(None, np.array(points + 1, I64)), weights=(1,), opset=17, axis=1, onesided=half, inverse=draw.int(0, 1) * (1 - half))


FAMILIES = {f.__name__: f for f in (recurrent, fourier)}
