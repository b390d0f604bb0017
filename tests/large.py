"""Models of any size, whose weights take no disk: one file with a hole in it."""

import os

from onnx import TensorProto, helper, save

HALF, INDEX = TensorProto.FLOAT16, TensorProto.INT64
BYTES = {TensorProto.FLOAT16: 2, TensorProto.FLOAT: 4}


class SparseGraph:
    def __init__(self, type=HALF):
        self.nodes, self.initializers, self.offset, self.parameters, self.type = [], [], 0, 0, type

    def weight(self, name, *dims):
        count = 1
        for dim in dims:
            count *= dim
        size = BYTES[self.type] * count
        tensor = TensorProto(name=name, data_type=self.type, dims=dims, data_location=TensorProto.EXTERNAL)
        for key, value in (("location", "weights"), ("offset", self.offset), ("length", size)):
            tensor.external_data.add(key=key, value=str(value))
        self.initializers.append(tensor)
        self.offset += size
        self.parameters += count
        return name

    def constant(self, name, values):
        self.initializers.append(helper.make_tensor(name, INDEX, [len(values)], values))
        return name

    def node(self, op, inputs, *outputs, **attributes):
        self.nodes.append(helper.make_node(op, inputs, outputs, name=outputs[0], **attributes))
        return outputs[0]

    def write(self, folder, inputs, outputs):
        made = helper.make_model(
            helper.make_graph(self.nodes, "model", inputs, outputs, self.initializers),
            opset_imports=[helper.make_opsetid("", 23), helper.make_opsetid("com.microsoft", 1)],
            ir_version=11,
        )
        save(made, folder / "model.onnx")
        with open(folder / "weights", "wb") as file:
            os.truncate(file.fileno(), self.offset)
        return folder / "model.onnx"


def decoder(folder, *, layers, hidden, heads, kv_heads, inner, vocabulary, experts=0, type=HALF):
    """
    Writes model.onnx: RMS norms, grouped heads, a gated MLP or a mixture of experts of which a token chooses two, caches.
    Its inputs are `ids` [batch, seq] and past_key_N, past_value_N [batch, kv_heads, past, hidden / heads]. Returns its path
    and how many parameters it has.
    """
    graph = SparseGraph(type)
    size = hidden // heads
    node, weight = graph.node, graph.weight
    split = graph.constant("split", [0, 0, -1, size])
    merged = graph.constant("merged", [0, 0, hidden])
    rows_of = graph.constant("rows", [-1, hidden])
    inputs, outputs = [helper.make_tensor_value_info("ids", INDEX, ["batch", "seq"])], []

    def norm(x, name):
        return node("RMSNormalization", [x, weight(f"{name}.scale", hidden)], name)

    def spread(x, name, count):
        flat = node("MatMul", [x, weight(f"{name}.weight", hidden, count * size)], f"{name}.flat")
        return node("Transpose", [node("Reshape", [flat, split], f"{name}.split")], name, perm=[0, 2, 1, 3])

    def mlp(h, n):
        gate = node("MatMul", [h, weight(f"gate{n}", hidden, inner)], f"gated{n}")
        act = node("Mul", [gate, node("Sigmoid", [gate], f"sigmoid{n}")], f"act{n}")
        wide = node("Mul", [act, node("MatMul", [h, weight(f"up{n}", hidden, inner)], f"upped{n}")], f"wide{n}")
        return node("MatMul", [wide, weight(f"down{n}", inner, hidden)], f"downed{n}")

    def mixture(h, n):
        rows = node("Reshape", [h, rows_of], f"rows{n}")
        scores = node("MatMul", [rows, weight(f"router{n}", hidden, experts)], f"scores{n}")
        up, down = weight(f"up{n}", experts, 2 * inner, hidden), weight(f"down{n}", experts, hidden, inner)
        mixed = node("MoE", [rows, scores, up, "", down], f"experts{n}", domain="com.microsoft", activation_type="swiglu", k=2,
                     normalize_routing_weights=1, swiglu_fusion=1)  # fmt: skip
        return node("Reshape", [mixed, node("Shape", [h], f"shape{n}")], f"downed{n}")

    x = node("Gather", [weight("words", vocabulary, hidden), "ids"], "x")
    for n in range(layers):
        h = norm(x, f"norm{n}")
        past = [f"past_key_{n}", f"past_value_{n}"]
        present = [f"present_key_{n}", f"present_value_{n}"]
        for name in past:
            inputs.append(helper.make_tensor_value_info(name, type, ["batch", kv_heads, "past", size]))
        for name in present:
            outputs.append(helper.make_tensor_value_info(name, type, ["batch", kv_heads, "past + seq", size]))
        q, k, v = (spread(h, f"{which}{n}", count) for which, count in (("q", heads), ("k", kv_heads), ("v", kv_heads)))
        node("Attention", [q, k, v, "", *past], f"mixed{n}", *present, is_causal=1)
        flat = node("Reshape", [node("Transpose", [f"mixed{n}"], f"back{n}", perm=[0, 2, 1, 3]), merged], f"merged{n}")
        x = node("Add", [x, node("MatMul", [flat, weight(f"o{n}", hidden, hidden)], f"out{n}")], f"middle{n}")
        h = norm(x, f"norm{n}b")
        x = node("Add", [x, (mixture if experts else mlp)(h, n)], f"x{n + 1}")
    node("MatMul", [norm(x, "last"), weight("head", hidden, vocabulary)], "logits")
    outputs.insert(0, helper.make_tensor_value_info("logits", type, ["batch", "seq", vocabulary]))
    return graph.write(folder, inputs, outputs), graph.parameters


def gpt(folder, *, layers, hidden, heads, vocabulary, positions, type=HALF):
    """
    Writes model.onnx: GPT-2's layers (LayerNorm, packed q, k and v, GELU, four times as wide inside, a tied head) without
    caches. Its inputs are `ids` and `places`
    [batch, seq]. Returns its path and how many parameters it has.
    """
    graph = SparseGraph(type)
    size = hidden // heads
    node, weight = graph.node, graph.weight
    split = graph.constant("split", [0, 0, heads, size])
    merged = graph.constant("merged", [0, 0, hidden])

    def norm(x, name):
        return node("LayerNormalization", [x, weight(f"{name}.scale", hidden), weight(f"{name}.bias", hidden)], name)

    def product(x, name, rows, columns):
        flat = node("MatMul", [x, weight(f"{name}.weight", rows, columns)], f"{name}.flat")
        return node("Add", [flat, weight(f"{name}.bias", columns)], name)

    words = weight("words", vocabulary, hidden)
    x = node("Add", [node("Gather", [words, "ids"], "word"), node("Gather", [weight("wpe", positions, hidden), "places"], "place")], "x")
    for n in range(layers):
        parts = [f"{which}{n}" for which in "qkv"]
        node("Split", [product(norm(x, f"norm{n}"), f"qkv{n}", hidden, 3 * hidden)], *parts, axis=-1, num_outputs=3)
        q, k, v = (
            node("Transpose", [node("Reshape", [part, split], f"{part}.split")], f"{part}.heads", perm=[0, 2, 1, 3]) for part in parts
        )
        mixed = node("Transpose", [node("Attention", [q, k, v], f"mixed{n}", is_causal=1)], f"back{n}", perm=[0, 2, 1, 3])
        out = product(node("Reshape", [mixed, merged], f"merged{n}"), f"out{n}", hidden, hidden)
        x = node("Add", [x, out], f"middle{n}")
        wide = node("Gelu", [product(norm(x, f"norm{n}b"), f"up{n}", hidden, 4 * hidden)], f"wide{n}", approximate="tanh")
        x = node("Add", [x, product(wide, f"down{n}", 4 * hidden, hidden)], f"x{n + 1}")
    node("MatMul", [norm(x, "last"), node("Transpose", [words], "head", perm=[1, 0])], "logits")
    inputs = [helper.make_tensor_value_info(name, INDEX, ["batch", "seq"]) for name in ("ids", "places")]
    return graph.write(folder, inputs, [helper.make_tensor_value_info("logits", type, ["batch", "seq", vocabulary])]), graph.parameters
