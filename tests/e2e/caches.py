"""A decoder in two layers, small enough to be computed by numpy as well, and requests to any decoder."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.graphs import GraphBuilder

HEADS, SIZE, VOCABULARY = 4, 8, 40
HIDDEN = HEADS * SIZE


def decoder(layers=2, cached=TensorProto.FLOAT, joined=TensorProto.FLOAT, key_heads=HEADS, kv_type=None):
    """
    Greedy to read: no norms, learned positions, one matrix each for q, k, v and out. Caches come and go as `cached`;
    past and new entries are joined as `joined`. Of fewer key heads each is repeated for its queries. What attention reads
    is rounded to 8 bits as `kv_type` of `--kv-type` does.
    """
    graph = GraphBuilder(seed=5)
    matrix, node, constant = graph.weight, graph.node, graph.constant

    def cast(value, output, to, have):
        return node("Cast", [value], output, to=to) if to != have else value

    def repeated(value, name):
        if key_heads == HEADS:
            return value
        one = node("Reshape", [value, constant(f"{name}.one", [0, key_heads, 1, -1, SIZE])], f"{name}.single")
        all_of = node("Expand", [one, constant(f"{name}.group", [1, 1, HEADS // key_heads, 1, 1])], f"{name}.groups")
        return node("Reshape", [all_of, constant(f"{name}.all", [0, HEADS, -1, SIZE])], f"{name}.repeated")

    def rounded(value, name):
        if not kv_type:
            return value
        most = node("ReduceMax", [node("Abs", [value], f"{name}.sizes"), constant(f"{name}.last", [-1])], f"{name}.most")
        largest = numpy_helper.from_array(np.float32(127 if kv_type == "int8" else 448))
        scale = node("Div", [most, node("Constant", [], f"{name}.largest", value=largest)], f"{name}.scale")
        times = node("Div", [value, scale], f"{name}.times")
        if kv_type == "int8":
            kept = node("Round", [times], f"{name}.kept")
        else:
            kept = cast(cast(times, f"{name}.f8", TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT), f"{name}.kept", TensorProto.FLOAT, 0)
        return node("Mul", [kept, scale], f"{name}.rounded")

    splits = {heads: constant(f"split.{heads}", [0, 0, heads, SIZE]) for heads in (HEADS, key_heads)}
    merged = constant("merged", [0, 0, HIDDEN])
    x = node("Gather", [matrix("words", VOCABULARY, HIDDEN), "input_ids"], "embedded")
    x = node("Add", [x, node("Gather", [matrix("places", 200, HIDDEN), "position_ids"], "placed")], "x")
    inputs, outputs = [], []
    for layer in range(layers):

        def heads(which, name=f"l{layer}"):
            count = HEADS if which == "q" else key_heads
            flat = node("MatMul", [x, matrix(f"{name}.{which}", HIDDEN, count * SIZE)], f"{name}.{which}.flat")
            return node(
                "Transpose",
                [node("Reshape", [flat, splits[count]], f"{name}.{which}.split")],
                f"{name}.{which}.heads",
                perm=[0, 2, 1, 3],
            )

        present = {}
        for which in ("k", "v"):
            past, name = f"past.{layer}.{which}", f"present.{layer}.{which}"
            inputs.append(helper.make_tensor_value_info(past, cached, ["batch", key_heads, "past", SIZE]))
            outputs.append(helper.make_tensor_value_info(name, cached, None))
            both = [cast(past, f"{past}.cast", joined, cached), cast(heads(which), f"{past}.new", joined, TensorProto.FLOAT)]
            whole = node("Concat", both, name if joined == cached else f"{name}.joined", axis=2)
            cast(whole, name, cached, joined)
            present[which] = repeated(rounded(cast(whole, f"{name}.read", TensorProto.FLOAT, joined), name), name)
        keys = node("Transpose", [present["k"]], f"l{layer}.keys", perm=[0, 1, 3, 2])
        scores = node("Add", [node("MatMul", [heads("q"), keys], f"l{layer}.scores"), "mask"], f"l{layer}.masked")
        mixed = node("MatMul", [node("Softmax", [scores], f"l{layer}.p", axis=-1), present["v"]], f"l{layer}.mixed")
        rows = node("Reshape", [node("Transpose", [mixed], f"l{layer}.t", perm=[0, 2, 1, 3]), merged], f"l{layer}.rows")
        out = node("MatMul", [rows, matrix(f"l{layer}.out", HIDDEN, HIDDEN)], f"l{layer}.projected")
        x = node("Add", [x, out], f"l{layer}.x")
    node("MatMul", [x, matrix("head", HIDDEN, VOCABULARY)], "logits")
    ids = [helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", "seq"]) for n in ("input_ids", "position_ids")]
    mask = helper.make_tensor_value_info("mask", TensorProto.FLOAT, ["batch", 1, "seq", "past + seq"])
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, None)
    return graph.model([*ids, mask, *inputs], [logits, *outputs])


def feed(name, past, ids):
    """What a request with these ids, `past` positions being there already, gives for an input by that name."""
    batch, length = ids.shape
    if name in ("input_ids", "decoder_input_ids"):
        return ids
    if name == "position_ids":
        return np.broadcast_to(np.arange(past, past + length), ids.shape).astype(np.int64)
    if name == "attention_mask":
        return np.ones((batch, past + length), np.int64)
    if name == "mask":
        seen = np.arange(past + length) <= np.arange(past, past + length)[:, None]
        return np.broadcast_to(np.where(seen, 0, -1e9).astype(np.float32), (batch, 1, length, past + length))
    return None  # a cache


def inputs_of(model):
    """The inputs that are no weights."""
    weights = {weight.name for weight in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in weights]


def write_request(folder, model, past, ids, example=None):
    """ONNX test data; an input that has not to do with positions is as in the folder `example`, a cache else empty."""
    folder.mkdir(parents=True)
    for i, value in enumerate(inputs_of(model)):
        tensor = feed(value.name, past, ids)
        if value.type.tensor_type.elem_type == TensorProto.BOOL:
            tensor = np.array([past > 0])  # a merged decoder's branch
        if tensor is None and example:
            tensor = numpy_helper.to_array(onnx.load_tensor(example / f"input_{i}.pb"))
        elif tensor is None:
            element = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
            heads = value.type.tensor_type.shape.dim[1].dim_value
            tensor = np.zeros((ids.shape[0], heads, 0, SIZE), element)
        onnx.save_tensor(numpy_helper.from_array(np.ascontiguousarray(tensor), value.name), folder / f"input_{i}.pb")
    return folder


def write_steps(folder, model, ids, lengths):
    """Folders of requests that hold so many of the ids each, one after the other."""
    folders, past = [], 0
    for i, length in enumerate(lengths):
        folders.append(write_request(folder / str(i), model, past, ids[:, past : past + length]))
        past += length
    return folders
