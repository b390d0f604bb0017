"""Images: convolutions, pools, other sizes and positions."""

import numpy as np
from onnx import TensorProto

from tests.fuzz.operators.case import F32, I64, MICROSOFT, case


def windows(draw, rank, kernel, transposed=False):
    """Attributes of what slides."""
    more = {"strides": draw.shape(rank, high=3), "dilations": draw.shape(rank, high=2), "kernel_shape": kernel}
    if transposed:
        more["dilations"] = None
    how = draw.one("NOTSET", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")
    attributes = draw.some(more)
    if how == "NOTSET":
        attributes |= draw.some({"pads": [draw.int(0, min(kernel) - 1) for _ in range(2 * rank)]})
    else:
        attributes["auto_pad"] = how
        if how.startswith("SAME"):
            attributes.pop("dilations", None)
            attributes["strides"] = [min(size, limit) for size, limit in zip(more["strides"], kernel)]
    return attributes


def conv(draw):
    rank, groups = draw.int(1, 2), draw.one(1, 1, 2)
    kernel = draw.shape(rank, high=3)
    inputs, outputs = groups * draw.int(1, 2), groups * draw.int(1, 2)
    image = draw.floats(draw.int(1, 2), inputs, *draw.shape(rank, low=6, high=8))
    transposed = draw.chance(0.3)
    dims = (inputs, outputs // groups) if transposed else (outputs, inputs // groups)
    bias = draw.one(None, draw.floats(outputs))
    more = windows(draw, rank, kernel, transposed)
    if transposed:
        more = {k: v for k, v in more.items() if k != "auto_pad"}
    op = "ConvTranspose" if transposed else "Conv"
    return case(draw, op, image, draw.floats(*dims, *kernel), bias, weights=(1, 2), group=groups, **more)


def pool(draw):
    rank = draw.int(1, 2)
    kernel = draw.shape(rank, low=2, high=3)
    op = draw.one("MaxPool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool", "NhwcMaxPool")
    image = draw.floats(draw.int(1, 2), draw.int(1, 3), *draw.shape(rank, low=5, high=8))
    if op.startswith("Global"):
        return case(draw, op, image)
    more = windows(draw, rank, kernel) | {"kernel_shape": kernel}
    if op != "LpPool" or "auto_pad" not in more:
        more |= draw.some({"ceil_mode": draw.int(0, 1)}) if "auto_pad" not in more else {}
    if op == "NhwcMaxPool":
        x = draw.ints(-100, 100, 2, *draw.shape(2, low=5, high=8), 3, dtype=np.int8)
        more = {k: v for k, v in windows(draw, 2, [2, 3]).items()} | {"kernel_shape": [2, 3]}
        return case(draw, op, x, domain=MICROSOFT, references=("ort",), element=TensorProto.INT8, **more)
    if op == "AveragePool":
        more.pop("dilations", None)
        more |= draw.some({"count_include_pad": draw.int(0, 1)})
    if op == "LpPool":
        more.pop("dilations", None)
        more |= draw.some({"p": draw.int(1, 3)})
    opset = 18 if op == "LpPool" else draw.one(11, 12, 19, 22)
    return case(draw, op, image, opset=opset, references=("ort", "onnx"), **more)


def resize(draw):
    rank = draw.int(1, 2)
    image = draw.floats(1, 2, *draw.shape(rank, low=2, high=6))
    opset = draw.one(10, 10, 11, 13, 18, 19)
    scales = [1.0, 1.0, *(draw.one(0.5, 0.6, 1.5, 2.0, 3.0) for _ in range(rank))]
    if opset == 10:
        return case(draw, "Resize", image, np.array(scales, F32), weights=(1,), opset=10, references=("ort",), mode=draw.one("nearest", "linear"))
    mode = draw.one("nearest", "linear", "cubic" if rank == 2 else "linear")
    transform = draw.one("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric")
    more = draw.some({"nearest_mode": draw.one("round_prefer_floor", "round_prefer_ceil", "floor", "ceil") if mode == "nearest" else None,
                      "cubic_coeff_a": -0.5 if mode == "cubic" else None, "exclude_outside": 1 if mode == "cubic" else None})  # fmt: skip
    more |= {"mode": mode, "coordinate_transformation_mode": transform}
    if draw.chance(0.5):
        sizes = np.array([1, 2, *(draw.int(2, 9) for _ in range(rank))], I64)
        return case(draw, "Resize", image, None, None, sizes, weights=(3,), opset=max(opset, 13), **more)
    return case(draw, "Resize", image, None if opset >= 13 else np.array([], F32), np.array(scales, F32), weights=(1, 2), opset=opset, **more)


def upsample(draw):
    image = draw.floats(1, 2, *draw.shape(2, low=2, high=4))
    scales = [1.0, 1.0, draw.one(1.0, 2.0, 3.0), draw.one(1.0, 2.0, 1.5)]
    mode = draw.some({"mode": draw.one("nearest", "linear")})
    if draw.chance(0.5):
        return case(draw, "Upsample", image, opset=draw.one(7, 8), references=("ort",), scales=scales, **mode)
    return case(draw, "Upsample", image, np.array(scales, F32), weights=(1,), opset=9, references=("ort",), **mode)


def grid_sample(draw):
    image = draw.floats(2, 2, *draw.shape(2, low=2, high=5))
    grid = np.asarray(draw.numbers.uniform(-1.5, 1.5, (2, 3, 4, 2)), F32)
    opset = draw.one(16, 20)
    modes = ("bilinear", "nearest", "bicubic") if opset == 16 else ("linear", "nearest", "cubic")
    more = draw.some({"mode": draw.one(*modes), "padding_mode": draw.one("zeros", "border", "reflection"), "align_corners": draw.int(0, 1)})
    return case(draw, "GridSample", image, grid, opset=opset, references=("ort",), tolerance=1e-3, **more)


def depth(draw):
    block, batch, channels, h, w = draw.int(1, 3), *draw.shape(4, high=3)
    if draw.chance(0.5):
        return case(draw, "SpaceToDepth", draw.floats(batch, channels, block * h, block * w), blocksize=block)
    return case(draw, "DepthToSpace", draw.floats(batch, channels * block * block, h, w), blocksize=block, **draw.some({"mode": draw.one("DCR", "CRD")}))


FAMILIES = {f.__name__: f for f in (conv, pool, resize, upsample, grid_sample, depth)}
