"""What a case means: its outputs with every float in double precision."""

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator

NARROW = {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16}


def widen(tensor):
    if tensor.data_type in NARROW:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float64), tensor.name))


def widen_graph(graph):
    for tensor in graph.initializer:
        widen(tensor)
    for value in [*graph.input, *graph.output]:
        if value.type.tensor_type.elem_type in NARROW:
            value.type.tensor_type.elem_type = TensorProto.DOUBLE
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.TENSOR:
                widen(attribute.t)
            elif attribute.type == AttributeProto.GRAPH:
                widen_graph(attribute.g)
            elif node.op_type == "Cast" and attribute.name == "to" and attribute.i in NARROW:
                attribute.i = TensorProto.DOUBLE


def in_double(case):
    model = onnx.ModelProto()
    model.CopyFrom(case.model())
    widen_graph(model.graph)
    feeds = {name: data.astype(np.float64) if data.dtype.kind == "f" else data for name, data in case.feeds.items()}
    with np.errstate(all="ignore"):
        return ReferenceEvaluator(model).run(None, feeds)
