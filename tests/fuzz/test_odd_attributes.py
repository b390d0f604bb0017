"""A node whose numbers no sensible model has is compiled or refused with one error, never a crash or a hang.

    .venv/bin/python -m tests.fuzz.test_odd_attributes [FIRST COUNT]     more seeds, by hand

Overflows show in a build with sanitizers: SHARDC_TEST_BUILD names its folder.
"""

import copy
import tempfile
import unittest

import numpy as np
from onnx import AttributeProto, TensorProto, numpy_helper

from tests.fuzz.test_odd_ranks import SEEDS, SHARDC, complaint, main, node_models

INTEGERS = [-1, 0, 1, 2, 7, 1 << 16, (1 << 31) - 1, 1 << 31, 1 << 40, 1 << 62, (1 << 63) - 1, -(1 << 63)]
SIZES = [0, 1, 1 << 31, 1 << 40, 1 << 62, "n"]
FLOATS = [0.0, -1.0, 1e38, 1e-38, np.inf, np.nan]
MOST = 32  # elements of a constant that is changed


def freeze(model, arrays, rng):
    """Makes constants of inputs that are small, of integers nearly always: shapes, axes, pads, repeats."""
    for number in reversed(range(len(model.graph.input))):
        value, array = model.graph.input[number], arrays[number]
        if array is None or array.size > MOST or value.type.tensor_type.elem_type == TensorProto.STRING:
            continue
        is_shape = array.dtype.kind in "iu" and array.dtype.itemsize >= 4
        if rng.random() < (0.95 if is_shape else 0.5):
            model.graph.initializer.append(numpy_helper.from_array(array, value.name))
            del model.graph.input[number]


def change_element(tensor, rng):
    array = numpy_helper.to_array(tensor).copy()
    if array.dtype.kind == "f":
        new = rng.choice(FLOATS)
    elif array.dtype.kind in "iu":
        new = int(np.clip(rng.choice(INTEGERS), np.iinfo(array.dtype).min, np.iinfo(array.dtype).max))
    else:
        return
    with np.errstate(over="ignore"):
        array.reshape(-1)[rng.randrange(array.size)] = new
    tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))


def change_size(model, dim, rng):
    """Often of all dims of that size, so that operands fit each other still."""
    new, old = rng.choice(SIZES), dim.dim_value
    dims = [dim]
    if rng.random() < 0.6:
        dims += [d for v in model.graph.input for d in v.type.tensor_type.shape.dim if d.dim_value == old]
    for dim in dims:
        dim.Clear()
        setattr(dim, "dim_param" if new == "n" else "dim_value", new)


def changes(model, rng):
    """What may be changed, by what it stands in: an attribute, a constant, the dims of an input."""
    for attribute in (attribute for node in model.graph.node for attribute in node.attribute):
        if attribute.type == AttributeProto.INT:
            yield lambda a=attribute: setattr(a, "i", rng.choice(INTEGERS))
        elif attribute.type == AttributeProto.FLOAT:
            yield lambda a=attribute: setattr(a, "f", rng.choice(FLOATS))
        elif attribute.type == AttributeProto.INTS and attribute.ints:
            yield lambda a=attribute: a.ints.__setitem__(rng.randrange(len(a.ints)), rng.choice(INTEGERS))
    for tensor in model.graph.initializer:
        if 0 < np.prod(tensor.dims, dtype=int) <= MOST:
            yield lambda t=tensor: change_element(t, rng)
    for dims in (value.type.tensor_type.shape.dim for value in model.graph.input):
        if dims:
            yield lambda d=dims: change_size(model, rng.choice(d), rng)


def odd_model(model, arrays, rng):
    """A copy in which one to three numbers are others."""
    odd = copy.deepcopy(model)
    freeze(odd, arrays, rng)
    possible = list(changes(odd, rng))
    for _ in range(rng.randint(1, 3) if possible else 0):
        rng.choice(possible)()
    for output in odd.graph.output:
        if output.type.HasField("tensor_type"):
            output.type.tensor_type.ClearField("shape")
    return odd


@unittest.skipUnless(SHARDC.exists(), "shardc is not built")
class OddAttributes(unittest.TestCase):
    def test_compiles_or_refuses(self):
        models = node_models()
        with tempfile.TemporaryDirectory() as folder:
            wrong = [c for seed in range(SEEDS) if (c := complaint(models, seed, folder, odd_model))]
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    main(odd_model)
