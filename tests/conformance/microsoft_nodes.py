"""Nodes of com.microsoft as the compiler's IR has them."""

import numpy as np
from onnx import AttributeProto

ELEMENTS = {"float32": "f32", "float16": "f16", "float64": "f64", "int8": "i8", "uint8": "ui8", "int32": "i32", "int64": "i64", "bool": "i1"}
PREAMBLE = "!u = tensor<*x!onnx.unknown>\n"


def constant(data):
    """As MLIR writes it."""
    data = np.asarray(data)
    type_ = f"tensor<{''.join(f'{size}x' for size in data.shape)}{ELEMENTS[data.dtype.name]}>"
    if data.size == 0:
        text = "dense<>"
    elif data.dtype == np.bool_:
        text = f"dense<{np.array2string(data, separator=', ', threshold=data.size + 1).lower()}>"
    else:
        text = f'dense<"0x{np.ascontiguousarray(data).tobytes().hex().upper()}">'
    return f"onnx.Constant {{value = {text} : {type_}}} : () -> {type_}", type_


def attribute(a):
    if a.type == AttributeProto.INT:
        return f"{a.i} : i64"
    if a.type == AttributeProto.FLOAT:
        return f"0x{np.float32(a.f).view(np.uint32):08X} : f32"
    if a.type == AttributeProto.STRING:
        return f'"{a.s.decode()}"'
    if a.type == AttributeProto.INTS:
        return f"array<i64: {', '.join(map(str, a.ints))}>"
    return "[" + ", ".join(f"0x{np.float32(x).view(np.uint32):08X} : f32" for x in a.floats) + "]"


def function(name, node, values, arguments=(), outputs=None):
    """One node on constants, but for operands that are `arguments`. Its results are `outputs`, or all."""
    lines, operands, types, given = ["  %none = onnx.None : () -> none"], [], [], []
    for i, operand in enumerate(node.input):
        text, type_ = constant(values[operand]) if operand else ("", "none")
        if operand in arguments:
            given.append(f"%x{i}: {type_}")
        elif operand:
            lines.append(f"  %x{i} = {text}")
        operands.append(f"%x{i}" if operand else "%none")
        types.append(type_)
    attributes = ", ".join(f"{a.name} = {attribute(a)}" for a in node.attribute)
    results = ", ".join(["!u"] * len(node.output))
    made = [f"%y#{i}" if len(node.output) > 1 else "%y" for i, name_ in enumerate(node.output) if outputs is None or name_ in outputs]
    returned = ", ".join(["!u"] * len(made))
    count = f":{len(node.output)}" if len(node.output) > 1 else ""
    lines.append(f'  %y{count} = "onnx.microsoft.{node.op_type}"({", ".join(operands)}) {{{attributes}}} : ({", ".join(types)}) -> ({results})')
    lines.append(f"  return {', '.join(made)} : {returned}")
    return f"func.func @{name}({', '.join(given)}) -> ({returned}) {{\n" + "\n".join(lines) + "\n}\n"
