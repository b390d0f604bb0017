"""Decoders as ONNX Runtime GenAI writes them for local attention: caches of some layers keep the last tokens alone."""

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

from tests.graphs import GraphBuilder

HEADS, KEY_HEADS, SIZE, VOCABULARY, POSITIONS = 4, 2, 16, 40, 96
HIDDEN = HEADS * SIZE
MIXED = (4, None, 6, None)  # windows by layer; None: all tokens are seen
LOCAL = (4, 3)


def decoder(windows, keeps_all=False, room="past_sliding_length", position_ids=False):
    """`room`: how long the file says that caches of a window are, by layer or of all; `keeps_all`: they are whole ones."""
    graph = GraphBuilder(seed=9)
    node, weight, constant = graph.node, graph.weight, graph.constant
    angles = np.arange(POSITIONS)[:, None] * 10000.0 ** (-np.arange(SIZE // 2) / (SIZE // 2))
    graph.weights |= {"cos": np.cos(angles).astype(np.float32), "sin": np.sin(angles).astype(np.float32)}
    counts = node("ReduceSum", ["attention_mask", constant("columns", [1])], "counts", keepdims=0)
    node("Cast", [node("Sub", [counts, constant("one", 1)], "last")], "seqlens_k", to=TensorProto.INT32)
    length = node("Gather", [node("Shape", ["attention_mask"], "mask.dims"), "one"], "length", axis=0)
    node("Cast", [length], "total", to=TensorProto.INT32)
    x = node("Gather", [weight("words", VOCABULARY, HIDDEN), "input_ids"], "embedded")
    inputs, outputs = [], []
    for layer, window in enumerate(windows):
        name = f"l{layer}"
        q, k, v = (
            node("MatMul", [x, weight(f"{name}.{which}", HIDDEN, heads * SIZE)], f"{name}.{which}.flat")
            for which, heads in (("q", HEADS), ("k", KEY_HEADS), ("v", KEY_HEADS))
        )
        is_windowed = window is not None and not keeps_all
        past, present = ([f"{which}.{layer}.{each}" for each in ("key", "value")] for which in ("past", "present"))
        more = {"local_window_size": window} if window else {}
        more |= {"sliding_window_cache": 1} if is_windowed else {}
        given = [q, k, v, *past, "seqlens_k", "total", "cos", "sin", *(["position_ids"] if position_ids else [])]
        graph.nodes.append(helper.make_node("GroupQueryAttention", given, [f"{name}.mixed", *present], f"{name}.attention", domain="com.microsoft",
                                            num_heads=HEADS, kv_num_heads=KEY_HEADS, do_rotary=1, **more))  # fmt: skip
        x = node("Add", [x, node("MatMul", [f"{name}.mixed", weight(f"{name}.out", HIDDEN, HIDDEN)], f"{name}.out.flat")], f"{name}.x")
        size = (room[layer] if isinstance(room, tuple) else room) if is_windowed else "past_sequence_length"
        shown = size if isinstance(size, int) else size.replace("past", "total")
        inputs += [helper.make_tensor_value_info(each, TensorProto.FLOAT, ["batch", KEY_HEADS, size, SIZE]) for each in past]
        outputs += [helper.make_tensor_value_info(each, TensorProto.FLOAT, ["batch", KEY_HEADS, shown, SIZE]) for each in present]
    node("MatMul", [x, weight("head", HIDDEN, VOCABULARY)], "logits")
    of_tokens = ["input_ids", "position_ids"] if position_ids else ["input_ids"]
    ids = [helper.make_tensor_value_info(each, TensorProto.INT64, ["batch", "sequence_length"]) for each in of_tokens]
    mask = helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["batch", "total_sequence_length"])
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", "sequence_length", VOCABULARY])
    model = graph.model([*ids, mask, *inputs], [logits, *outputs])
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return model


class Reference:
    """ONNX Runtime with whole caches, of which a local layer sees its window: all of a text at once."""

    def __init__(self, windows, **more):
        model = decoder(windows, keeps_all=True, **more)
        self.session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])

    def logits(self, ids):
        ids = np.asarray(ids)
        given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "position_ids": np.broadcast_to(np.arange(ids.shape[1]), ids.shape)}
        empty = np.zeros((len(ids), KEY_HEADS, 0, SIZE), np.float32)
        names = [value.name for value in self.session.get_inputs()]
        return self.session.run(["logits"], {name: given.get(name, empty) for name in names})[0]

    def greedy(self, prompt, count):
        ids = list(prompt)
        for _ in range(count):
            ids.append(int(self.logits([ids])[0, -1].argmax()))
        return ids[len(prompt) :]


def request(past, ids, position_ids=False):
    """The inputs of positions behind `past` others, but for caches."""
    ids = np.asarray(ids)
    given = {"input_ids": ids, "attention_mask": np.ones((len(ids), past + ids.shape[1]), np.int64)}
    if position_ids:
        given["position_ids"] = np.broadcast_to(np.arange(past, past + ids.shape[1]), ids.shape).astype(np.int64)
    return given
