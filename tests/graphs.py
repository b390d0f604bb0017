"""ONNX graphs by hand, node by node, with weights from a seed."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper


class GraphBuilder:
    """
    Nodes are named after their only output:

        graph = GraphBuilder(seed=5)
        y = graph.node("MatMul", ["x", graph.weight("w", 8, 16)], "y")
        graph.model([inputs], [outputs])
    """

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.weights = [], {}

    def weight(self, name, *dims, summed=0):
        """Of float32; products that sum dim `summed` neither grow nor shrink."""
        self.weights[name] = (self.rng.standard_normal(dims) / np.sqrt(dims[summed])).astype(np.float32)
        return name

    def constant(self, name, values):
        self.weights[name] = np.array(values, np.int64)
        return name

    def node(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def model(self, inputs, outputs, opset=20, ir_version=9):
        tensors = [numpy_helper.from_array(tensor, name) for name, tensor in self.weights.items()]
        graph = helper.make_graph(self.nodes, "graph", inputs, outputs, tensors)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version)


def placed_encoder(words=40, positions=16, size=8):
    """Embeddings of tokens and of their places: of longer texts only the run knows that there is no such place."""
    graph = GraphBuilder(seed=3)
    found = graph.node("Gather", [graph.weight("words", words, size), "input_ids"], "embedded")
    length = graph.node("Gather", [graph.node("Shape", ["input_ids"], "sizes"), graph.constant("one", 1)], "length")
    places = graph.node("Range", [graph.constant("zero", 0), length, "one"], "places")
    graph.node("Add", [found, graph.node("Gather", [graph.weight("positions", positions, size), places], "placed")], "last_hidden_state")
    ids = helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "sequence"])
    return graph.model([ids], [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, None)])
