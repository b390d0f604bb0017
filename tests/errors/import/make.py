#!/usr/bin/env python3
"""Writes a model that shardc must reject: make.py CASE FOLDER, into FOLDER/model.onnx."""
import os
import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

F32, I64 = TensorProto.FLOAT, TensorProto.INT64


def value(name, shape=("batch", 16), element=F32):
    return helper.make_tensor_value_info(name, element, shape)


def model(nodes, initializers=(), opset=17, inputs=None, domains=()):
    graph = helper.make_graph(nodes, "g", inputs or [value("x")], [value("y")], list(initializers))
    opsets = [helper.make_opsetid("", opset), *[helper.make_opsetid(d, 1) for d in domains]]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def linear(**options):
    """y = x * w, where w has 1024 bytes."""
    w = numpy_helper.from_array(np.ones((16, 16), np.float32), "w")
    return model([helper.make_node("MatMul", ["x", "w"], ["y"], name="linear")], [w], **options)


def external(folder, location="weights.bin", offset="0", length="1024", size=1024):
    """The same with w in another file of `size` bytes, unless size is None."""
    result = linear()
    w = result.graph.initializer[0]
    w.ClearField("raw_data")
    w.data_location = TensorProto.EXTERNAL
    for key, text in [("location", location), ("offset", offset), ("length", length)]:
        if text is not None:
            w.external_data.add(key=key, value=text)
    if size is not None:
        (folder / "weights.bin").write_bytes(bytes(size))
    return result


def symlink(folder):
    outside = folder.parent / (folder.name + ".outside")
    outside.write_bytes(bytes(1024))
    if not (folder / "link.bin").is_symlink():
        os.symlink(outside, folder / "link.bin")
    return external(folder, "link.bin")


def unsupported(folder):
    branch = helper.make_graph([helper.make_node("Identity", ["x"], ["z"])], "branch", [], [value("z")])
    nodes = [helper.make_node("FusedThing", ["x"], [f"m{i}"], name=f"/layer{i}/fused", domain="com.microsoft") for i in range(3)]
    nodes += [
        helper.make_node("If", ["c"], ["i"], then_branch=branch, else_branch=branch),
        helper.make_node("NoSuchOp", ["i"], ["n"], name="odd"),
        helper.make_node("Custom", ["n"], ["k"], name="mine", domain="org.example"),
        helper.make_node("Constant", [], ["s"], name="text", value_string="hello"),
        helper.make_node("Add", ["k", "f4"], ["y"]),
    ]
    f4 = helper.make_tensor("f4", TensorProto.FLOAT4E2M1, [1], b"\0", raw=True)
    c = value("c", (), TensorProto.BOOL)
    return model(nodes, [f4], inputs=[value("x"), c], domains=["com.microsoft", "org.example"])


def no_shape(folder):
    x = helper.make_tensor_value_info("x", F32, None)
    return linear(inputs=[x])


def sequence(folder):
    return linear(inputs=[helper.make_tensor_sequence_value_info("x", F32, None)])


def cycle(folder):
    return model([helper.make_node("Add", ["a", "x"], ["y"], name="second"), helper.make_node("Relu", ["y"], ["a"], name="first")])


def other_mask(folder):
    """Attention of 2 rows with lengths of 3."""
    weights = {"w": np.ones((16, 48), np.float32), "c": np.ones(48, np.float32), "m": np.ones(3, np.int32)}
    node = helper.make_node("Attention", ["x", "w", "c", "m"], ["y"], name="fused", domain="com.microsoft", num_heads=4)
    tensors = [numpy_helper.from_array(data, name) for name, data in weights.items()]
    return model([node], tensors, inputs=[value("x", (2, 5, 16))], domains=["com.microsoft"])


def wrong_arity(folder):
    return model([helper.make_node("MatMul", ["x"], ["y"], name="alone")])


def elements(folder):
    """Operands of elements that no opset has, in the graph and in a branch, and some that only older opsets have not."""
    B, I8, BF16 = TensorProto.BOOL, TensorProto.INT8, TensorProto.BFLOAT16
    branch = helper.make_graph([helper.make_node("Add", ["b", "b"], ["sum"], name="in a branch")], "g", [], [value("sum", element=B)])
    nodes = [
        helper.make_node("Relu", ["b"], ["r"], name="first"),
        helper.make_node("Relu", ["b"], ["r2"], name="second"),
        helper.make_node("Less", ["x", "x"], ["less"]),
        helper.make_node("Sqrt", ["less"], ["root"], name="of a result"),
        helper.make_node("If", ["c"], ["chosen"], then_branch=branch, else_branch=branch),
        helper.make_node("MatMul", ["i", "i"], ["product"]),  # kernels have it
        helper.make_node("LayerNormalization", ["h", "g"], ["norm"]),
        helper.make_node("Add", ["h", "h"], ["y"]),
    ]
    inputs = [value("x"), value("b", element=B), value("c", [], B), value("i", [4, 4], I8), value("h", element=BF16), value("g", [16], BF16)]
    return model(nodes, inputs=inputs)


def other_output(**declared):
    """One whose output is said to be what it is not."""
    result = linear()
    result.graph.output[0].CopyFrom(value("y", **declared))
    return result


def damaged(change):
    """Bytes of a good model, changed."""
    return lambda folder: change(linear().SerializeToString())


CASES = {
    "cycle": cycle,
    "elements": elements,
    "truncated": damaged(lambda data: data[:-100]),
    "flipped-byte": damaged(lambda data: bytes([data[0] ^ 0x03]) + data[1:]),
    "empty": damaged(lambda data: b""),
    "no-model": damaged(lambda data: b"once upon a time"),
    "short-tensor": damaged(lambda data: data.replace(b"\x08\x10\x08\x10", b"\x08\x10\x08\x11")),
    "missing-file": lambda folder: external(folder, size=None),
    "parent-folder": lambda folder: external(folder, "../weights.bin"),
    "absolute-path": lambda folder: external(folder, str(folder / "weights.bin")),
    "symlink-out": symlink,
    "beyond-end": lambda folder: external(folder, offset="4096", size=4608),
    "huge-offset": lambda folder: external(folder, offset="18446744073709551615"),
    "odd-offset": lambda folder: external(folder, offset="-1"),
    "wrong-length": lambda folder: external(folder, length="1000"),
    "no-location": lambda folder: external(folder, location=None),
    "unsupported": unsupported,
    "old-opset": lambda folder: linear(opset=6),
    "new-opset": lambda folder: linear(opset=999),
    "no-shape": no_shape,
    "sequence": sequence,
    "wrong-arity": wrong_arity,
    "other-mask": other_mask,
    "other-element": lambda folder: other_output(element=I64),
    "other-size": lambda folder: other_output(shape=("rows", 17)),
}

if __name__ == "__main__":
    case, folder = sys.argv[1], Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    made = CASES[case](folder)
    if isinstance(made, bytes):
        (folder / "model.onnx").write_bytes(made)
    else:
        save(made, folder / "model.onnx")
