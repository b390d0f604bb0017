"""Writes the seeds of the harnesses `import` and `phase-text`, which are checked in.

    python3 -m tests.fuzz.make_seeds               in the root, with shardc for phase-text

`import` starts from a model of each family of tests/fuzz/operators, and from what these do not have: bodies of control
flow, functions, sequences, data outside of the file. `phase-text` starts from what some of them are in each phase.
"""

from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from tests.fuzz.operators import FAMILIES, build
from tests.support import program

SEEDS = Path(__file__).parent / "seeds"
PHASES = ("imported", "sharded", "staged", "partitioned", "lowered")
MOST = 8 << 10  # bytes of a seed
TEXTS = ("mlp", "branch", "loop", "function", "sequence", "decoder")


def value(name, dims, element=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, element, dims)


def constant(name, data):
    return numpy_helper.from_array(np.asarray(data), name)


def model(nodes, inputs, outputs, weights=(), **more):
    graph = helper.make_graph(nodes, "seed", inputs, outputs, list(weights))
    opsets = [helper.make_opsetid("", 18), *more.pop("opsets", ())]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8, **more)


def mlp():
    weights = [constant("a", np.ones((16, 32), np.float32)), constant("b", np.ones((32, 16), np.float32))]
    nodes = [
        helper.make_node("MatMul", ["x", "a"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("MatMul", ["r", "b"], ["p"]),
        helper.make_node("Add", ["p", "x"], ["y"]),
    ]
    return model(nodes, [value("x", ["batch", "seq", 16])], [value("y", ["batch", "seq", 16])], weights)


def branch():
    bodies = [
        helper.make_graph([helper.make_node(op, ["x", "x"], [f"{op}.y"])], op, [], [value(f"{op}.y", ["n", 4])])
        for op in ("Add", "Mul")
    ]
    nodes = [
        helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0),
        helper.make_node("Greater", ["sum", "zero"], ["c"]),
        helper.make_node("If", ["c"], ["y"], then_branch=bodies[0], else_branch=bodies[1]),
    ]
    return model(nodes, [value("x", ["n", 4])], [value("y", ["n", 4])], [constant("zero", np.float32(0))])


def loop():
    body = helper.make_graph(
        [
            helper.make_node("Add", ["carried", "x"], ["next"]),
            helper.make_node("Identity", ["going"], ["goes"]),
            helper.make_node("Identity", ["next"], ["scanned"]),
        ],
        "body",
        [value("i", [], TensorProto.INT64), value("going", [], TensorProto.BOOL), value("carried", ["n", 4])],
        [value("goes", [], TensorProto.BOOL), value("next", ["n", 4]), value("scanned", ["n", 4])],
    )
    nodes = [helper.make_node("Loop", ["trips", "", "x"], ["y", "all"], body=body)]
    outputs = [value("y", ["n", 4]), value("all", ["t", "n", 4])]
    return model(nodes, [value("x", ["n", 4])], outputs, [constant("trips", np.int64(3))])


def scan():
    body = helper.make_graph(
        [helper.make_node("Add", ["s", "row"], ["t"]), helper.make_node("Identity", ["t"], ["out"])],
        "body",
        [value("s", [4]), value("row", [4])],
        [value("t", [4]), value("out", [4])],
    )
    nodes = [helper.make_node("Scan", ["s0", "x"], ["s1", "y"], body=body, num_scan_inputs=1)]
    return model(nodes, [value("s0", [4]), value("x", ["n", 4])], [value("s1", [4]), value("y", ["n", 4])])


def function():
    twice = helper.make_function(
        "own", "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])], [helper.make_opsetid("", 18)]
    )
    nodes = [
        helper.make_node("Twice", ["x"], ["h"], domain="own"),
        helper.make_node("Twice", ["h"], ["y"], domain="own"),
    ]
    opsets = [helper.make_opsetid("own", 1)]
    return model(nodes, [value("x", ["n", 4])], [value("y", ["n", 4])], functions=[twice], opsets=opsets)


def sequence():
    nodes = [
        helper.make_node("SplitToSequence", ["x"], ["s"], axis=1, keepdims=1),
        helper.make_node("SequenceInsert", ["s", "x"], ["more"]),
        helper.make_node("ConcatFromSequence", ["more"], ["y"], axis=1),
    ]
    return model(nodes, [value("x", ["n", 4])], [value("y", ["n", 8])])


def external():
    weight = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[4, 64], data_location=TensorProto.EXTERNAL)
    for key, text in (("location", "model.onnx"), ("offset", "0"), ("length", "64")):
        weight.external_data.add(key=key, value=text)
    return model(
        [helper.make_node("MatMul", ["x", "w"], ["y"])], [value("x", ["n", 4])], [value("y", ["n", 64])], [weight]
    )


def decoder():
    nodes = [
        helper.make_node("Concat", ["past", "x"], ["present"], axis=2),
        helper.make_node("Transpose", ["present"], ["k"], perm=[0, 1, 3, 2]),
        helper.make_node("MatMul", ["x", "k"], ["scores"]),
        helper.make_node("Softmax", ["scores"], ["weights"], axis=-1),
        helper.make_node("MatMul", ["weights", "present"], ["y"]),
    ]
    inputs = [value("x", ["batch", 2, "seq", 4]), value("past", ["batch", 2, "past_len", 4])]
    return model(nodes, inputs, [value("y", ["batch", 2, "seq", 4]), value("present", ["batch", 2, "total", 4])])


OWN = {made.__name__: made for made in (mlp, branch, loop, scan, function, sequence, external, decoder)}


def write(folder, name, data):
    (SEEDS / folder).mkdir(parents=True, exist_ok=True)
    (SEEDS / folder / name).write_bytes(data)


def main():
    models = {name: made().SerializeToString() for name, made in OWN.items()}
    for number, name in enumerate(FAMILIES):
        made = build(name, 2).model()
        made.model_version = number % 8  # the plan
        models[name] = made.SerializeToString()
    for name, data in models.items():
        if len(data) <= MOST:
            write("import", name, data)
    for name in TEXTS:
        for phase in PHASES:
            # Texts name the model's folder: as it is called from the root.
            done = program("shardc", (SEEDS / "import" / name).relative_to(Path.cwd()), "--tp", 2, f"--to={phase}", "--kernels", "reference")
            if done.returncode == 0 and len(done.stdout) <= MOST:
                write("phase-text", f"{name}-{phase}", f"// {phase}\n{done.stdout}".encode())


if __name__ == "__main__":
    main()
