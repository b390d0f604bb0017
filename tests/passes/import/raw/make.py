#!/usr/bin/env python3
"""Writes a small model: make.py CASE FOLDER, into FOLDER/model.onnx."""
import sys
from pathlib import Path

import numpy as np
from onnx import AttributeProto, TensorProto, helper, numpy_helper, save

F32, I64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
node, array = helper.make_node, numpy_helper.from_array


def value(name, shape, element=F32):
    return helper.make_tensor_value_info(name, element, shape)


def model(nodes, inputs, outputs, initializers=(), opset=17, functions=(), domains=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(initializers))
    opsets = [helper.make_opsetid("", opset), *[helper.make_opsetid(d, 1) for d in domains]]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, functions=list(functions))


def mlp(folder):
    """Two weights, one in float_data; a small bias; an unused initializer."""
    up = array(np.ones((16, 64), np.float32), "up")
    down = helper.make_tensor("down", F32, [64, 16], np.ones(1024, np.float32))
    bias = array(np.arange(4, dtype=np.float32), "bias")
    unused = array(np.zeros(4, np.float32), "unused")
    nodes = [
        node("MatMul", ["x", "up"], ["h"], name="/mlp/up"),
        node("Relu", ["h"], ["a"]),
        node("MatMul", ["a", "down"], ["d"], name="/mlp/down"),
        node("Reshape", ["d", "shape"], ["r"], name="/mlp/heads"),
        node("Add", ["r", "bias"], ["y"], name="/mlp/bias"),
    ]
    shape = array(np.array([0, -1, 4]), "shape")
    return model(nodes, [value("x", ["batch", 16])], [value("y", ["batch", 4, 4])], [unused, up, down, bias, shape])


def constants(folder):
    half = np.array([1.5, -2], np.float16)
    words = {"f16": half, "i8": np.array([-1, 2], np.int8), "u8": np.array([255], np.uint8),
             "u64": np.array([2**63], np.uint64), "f64": np.array([0.5]), "none": np.zeros((0, 2), np.float32)}
    inits = [array(v, k) for k, v in words.items()]
    inits += [helper.make_tensor("bf16", TensorProto.BFLOAT16, [2], [1.0, -0.5]),
              helper.make_tensor("flags", BOOL, [3], [True, False, True]),
              array(np.array([True, False]), "raw_flags"),
              helper.make_tensor("typed", I64, [2], [7, -7])]
    nodes = [node("Constant", [], ["a"], value_int=5), node("Constant", [], ["b"], value_floats=[0.5, 2.0]),
             node("Constant", [], ["c"], value_ints=[1, 2]), node("Constant", [], ["d"], value_float=3.0),
             node("Constant", [], ["e"], value=array(np.arange(3)))]
    names = [i.name for i in inits] + list("abcde")
    outputs = [helper.make_tensor_value_info("out_" + n, F32, None) for n in names]
    nodes += [node("Identity", [n], ["out_" + n]) for n in names]
    return model(nodes, [value("x", [1])], outputs, inits)


def optional(folder):
    """Absent operands in the middle and at the end; a result that nobody wants."""
    nodes = [node("Clip", ["x", "", "high"], ["a"], name="clip"), node("Clip", ["a", "", ""], ["b"], name="nothing"),
             node("LayerNormalization", ["b", "s"], ["c", "", "inv"], name="norm"),
             node("Dropout", ["c"], ["y", ""], name="drop")]
    inits = [array(np.array(6, np.float32), "high"), array(np.ones(4, np.float32), "s")]
    return model(nodes, [value("x", [2, 4])], [value("y", [2, 4]), value("inv", [2, 1])], inits)


def defaults(folder):
    """ONNX's defaults of the opset: Softmax's axis was 1 before opset 13."""
    nodes = [node("Softmax", ["x"], ["a"]), node("Gemm", ["a", "w"], ["b"], alpha=0.5),
             node("Cast", ["b"], ["y"], to=I64)]
    return model(nodes, [value("x", [4, 4])], [value("y", [4, 4])], [array(np.ones((4, 4), np.float32), "w")],
                 opset=int(folder.name.rsplit("-", 1)[1]))


def dims(folder):
    inputs = [value("ids", ["batch", "seq"], I64), value("past", ["batch", "4", "past_seq", 16]),
              value("mask", ["batch", "past_seq + seq"], I64), value("half", ["seq // 2", "seq*2"]),
              value("free", ["batch-size", None, "?"]), value("scalar", [])]
    return model([node("Identity", ["ids"], ["y"])], inputs, [value("y", ["batch", "seq"], I64)])


def initialized(folder):
    """Inputs with initializers are constants; an output may be an input."""
    inputs = [value("w", [2]), value("x", [2])]
    return model([node("Add", ["x", "w"], ["y"])], inputs, [value("y", [2]), value("x", [2])],
                 [array(np.array([1, 2], np.float32), "w")])


def external(folder):
    """A weight and a shape in another file; a length may be absent."""
    w, shape = array(np.zeros((8, 16), np.float32), "w"), array(np.zeros(2, np.int64), "shape")
    for tensor, keys in [(w, {"location": "data/w.bin", "offset": "64"}),
                         (shape, {"location": "data/w.bin", "offset": "16", "length": "16"})]:
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, text in keys.items():
            tensor.external_data.add(key=key, value=text)
    (folder / "data").mkdir(exist_ok=True)
    (folder / "data/w.bin").write_bytes(bytes(16) + np.array([4, 32]).tobytes() + bytes(32 + 512))
    nodes = [node("Reshape", ["w", "shape"], ["r"]), node("MatMul", ["x", "r"], ["y"])]
    return model(nodes, [value("x", [2, 4])], [value("y", [2, 32])], [w, shape])


def functions(folder):
    """A function in a function, attributes with and without defaults."""
    ops = [helper.make_opsetid("", 17), helper.make_opsetid("mine", 1)]
    scale = node("LeakyRelu", ["a"], ["b"])
    scale.attribute.append(helper.make_attribute_ref("alpha", AttributeProto.FLOAT, ref_attr_name="slope"))
    inner = helper.make_function("mine", "Inner", ["a"], ["b"], [scale], ops, attribute_protos=[helper.make_attribute("slope", 0.25)])
    outer = helper.make_function("mine", "Outer", ["p"], ["r"], [
        node("Inner", ["p"], ["q"], domain="mine", name="call"), node("Relu", ["q"], ["r"], name="relu")], ops)
    nodes = [node("Outer", ["x"], ["m"], domain="mine", name="block"),
             node("Inner", ["m"], ["y"], domain="mine", name="last", slope=0.5)]
    return model(nodes, [value("x", [2])], [value("y", [2])], functions=[inner, outer], domains=["mine"])


def bodies(folder):
    """CastLike is no operator of ours, but ONNX defines it by Cast."""
    nodes = [node("CastLike", ["x", "like"], ["y"], name="cast")]
    return model(nodes, [value("x", [2]), value("like", [1], TensorProto.FLOAT16)], [value("y", [2], TensorProto.FLOAT16)])


def control(folder):
    """A loop with a branch in it: names of a body end with it, a weight is the same for all."""
    then = helper.make_graph([node("MatMul", ["h", "w"], ["m"], name="/loop/up")], "then", [], [value("m", None)])
    other = helper.make_graph([node("Neg", ["h"], ["m"], name="/loop/neg")], "else", [], [value("m", None)])
    body = helper.make_graph(
        [node("If", ["go"], ["next"], then_branch=then, else_branch=other, name="/loop/if")],
        "body",
        [value("i", [], I64), value("go", [1], BOOL), value("h", None)],
        [value("go", [1], BOOL), value("next", None), value("next", None)],
    )
    nodes = [node("Loop", ["trips", "", "x"], ["y", "rows"], body=body, name="/loop"), node("MatMul", ["y", "w"], ["z"], name="/last")]
    weight = array(np.ones((32, 32), np.float32), "w")
    outputs = [value("z", None), value("rows", None)]
    return model(nodes, [value("trips", [], I64), value("x", ["n", 32])], outputs, [weight])


if __name__ == "__main__":
    case, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    save(globals()[case](folder), folder / "model.onnx")
