"""The decoder of caches.py with static caches: a place for each position that there may be, written where an input says."""

import numpy as np
import onnx
from onnx import TensorProto, helper

from tests.e2e.caches import HEADS, SIZE, decoder

ROOM = 32
SPELLINGS = ("index_copy", "index_put", "grid", "tensor_scatter")


class Nodes:
    """Nodes to be put in front of those of a graph."""

    def __init__(self):
        self.nodes = []

    def constant(self, name, value, element=TensorProto.INT64):
        tensor = helper.make_tensor(name, element, np.shape(value), np.ravel(value))
        self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        return name

    def node(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], **attributes))
        return output


def mask_of_places(add, shows_all=False, is_stored=False):
    """
    Keys up to each query's own place, of those that attention_mask shows; `shows_all`: also places that hold nothing;
    `is_stored`: the keys of a batch of one are looked up by indices that the file holds, as torch writes.
    """
    add.constant("shown", 0.0, TensorProto.FLOAT), add.constant("hidden", -1e9, TensorProto.FLOAT)
    add.constant("keys", np.arange(ROOM))
    add.node("Unsqueeze", ["cache_position", add.constant("column", [1])], "queries")
    add.node("LessOrEqual", ["keys", "queries"], "causal")
    if shows_all:
        add.node("Or", ["causal", add.node("Greater", ["keys", "queries"], "later")], "all")
    add.node("Cast", ["attention_mask"], "mask.bool", to=TensorProto.BOOL)
    if is_stored:
        indices = np.stack([np.zeros(ROOM, np.int64), np.arange(ROOM)], axis=-1).reshape(1, 1, 1, ROOM, 2)
        add.node("GatherND", ["mask.bool", add.constant("mask.indices", indices)], "mask.rows")
    else:
        add.node("Unsqueeze", ["mask.bool", add.constant("mask.places", [1, 2])], "mask.rows")
    add.node("And", ["all" if shows_all else "causal", "mask.rows"], "both")
    if shows_all:
        add.node("Or", ["both", "all"], "any")
    add.node("Where", ["any" if shows_all else "both", "shown", "hidden"], "mask")


def indices_of(add, spelling):
    """What says where: of index_copy and index_put as torch's exporters write them."""
    add.node("Shape", ["input_ids"], "ids.dims")
    if spelling == "index_copy":
        add.node("Unsqueeze", ["cache_position", add.constant("around", [0, 1, 3])], "places.4d")
        add.node("Gather", ["ids.dims", add.constant("batch.at", [0])], "batch.size")
        add.node("Gather", ["ids.dims", add.constant("seq.at", [1])], "seq.size")
        parts = ["batch.size", add.constant("heads", [HEADS]), "seq.size", add.constant("size", [SIZE])]
        return add.node("Expand", ["places.4d", add.node("Concat", parts, "added.dims", axis=0)], "indices")
    if spelling == "index_put":
        return add.node("Unsqueeze", ["cache_position", add.constant("last", [-1])], "indices")
    if spelling == "tensor_scatter":
        return add.node("Gather", ["cache_position", add.constant("first", [0])], "indices")
    add.node("Gather", ["ids.dims", add.constant("batch.at", [0])], "batch.size")
    add.node("Gather", ["ids.dims", add.constant("seq.at", [1])], "seq.size")
    add.node("Squeeze", ["batch.size"], "batch.scalar")
    add.constant("zero", 0), add.constant("one", 1)
    add.node("Range", ["zero", "batch.scalar", "one"], "b")
    add.node("Concat", ["batch.size", add.constant("heads", [HEADS]), "seq.size", add.constant("column.size", [1])], "grid", axis=0)
    columns = []
    for name, value, axes in (("b", "b", [1, 2, 3]), ("h", add.constant("h", np.arange(HEADS)), [0, 2, 3]), ("s", "cache_position", [0, 1, 3])):
        add.node("Unsqueeze", [value, add.constant(f"{name}.axes", axes)], f"{name}.4d")
        columns.append(add.node("Expand", [f"{name}.4d", "grid"], f"{name}.grid"))
    return add.node("Concat", columns, "indices", axis=-1)


def write(add, spelling, past, new, present):
    if spelling == "index_copy":
        add.node("ScatterElements", [past, "indices", new], present, axis=2)
    elif spelling == "grid":
        add.node("ScatterND", [past, "indices", new], present)
    elif spelling == "tensor_scatter":
        add.node("TensorScatter", [past, new, "indices"], present, axis=2)
    else:
        add.node("Transpose", [past], f"{past}.first", perm=[2, 0, 1, 3])
        add.node("Transpose", [new], f"{new}.first", perm=[2, 0, 1, 3])
        add.node("ScatterND", [f"{past}.first", "indices", f"{new}.first"], f"{present}.first")
        add.node("Transpose", [f"{present}.first"], present, perm=[1, 2, 0, 3])


def static_decoder(spelling, **mask):
    """Of `spelling`; its first inputs are those of text_decoder of test_rows.py, whose logits it has."""
    model = decoder()
    graph, add = model.graph, Nodes()
    mask_of_places(add, is_stored=spelling == "tensor_scatter", **mask)
    indices_of(add, spelling)
    nodes = list(graph.node)
    del graph.node[:]
    for node in nodes:
        if node.op_type == "Concat" and node.input[0].startswith("past"):
            write(add, spelling, *node.input, node.output[0])
        else:
            add.nodes.append(node)
    graph.node.extend(add.nodes)
    batch = 1 if spelling == "tensor_scatter" else "batch"
    for value in list(graph.input):
        if value.name.startswith("past"):
            value.CopyFrom(helper.make_tensor_value_info(value.name, TensorProto.FLOAT, [batch, HEADS, ROOM, SIZE]))
        elif value.name == "mask":
            value.CopyFrom(helper.make_tensor_value_info("attention_mask", TensorProto.INT64, [batch, ROOM]))
        elif value.name in ("input_ids", "position_ids"):
            value.CopyFrom(helper.make_tensor_value_info(value.name, TensorProto.INT64, [batch, "seq"]))
    if spelling == "tensor_scatter":
        model.opset_import[0].version = 24
    graph.input.append(helper.make_tensor_value_info("cache_position", TensorProto.INT64, ["seq"]))
    return model
