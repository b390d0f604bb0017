"""Fills a model's external data from a seed, the same bytes on any machine.

Matrices get normal values of standard deviation 1 / sqrt(rows), vectors 1 + 0.1 n. All are parts of one block of random
values, which is made once: 16 GB take as long as writing them.
"""
import hashlib

import numpy as np
import onnx

BLOCK = 1 << 24


def external(model):
    """(name, type, dims, file, offset, bytes) of each tensor that lies in a file of its own."""
    for tensor in model.graph.initializer:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            where = {entry.key: entry.value for entry in tensor.external_data}
            dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
            size = int(np.prod(tensor.dims, dtype=np.int64)) * dtype.itemsize
            yield tensor.name, dtype, tuple(tensor.dims), where["location"], int(where.get("offset", 0)), size


def normals(seed):
    """Nearly so, of variance 1: sums of four numbers of 16 bits. numpy promises the same integers in all its versions, but
    not the same normal values."""
    parts = np.random.PCG64(seed).random_raw(BLOCK).view(np.uint16).reshape(BLOCK, 4)
    return (parts.sum(axis=1, dtype=np.int32) - 2 * 65535).astype(np.float32) * np.float32(3**0.5 / 65536)


def fill(folder, seed=0):
    """Writes the data of folder/model.onnx; returns the bytes."""
    model = onnx.load(folder / "model.onnx", load_external_data=False)
    normal = normals(seed)
    blocks, files, total = {}, {}, 0
    for name, dtype, dims, location, offset, size in external(model):
        scale = None if len(dims) < 2 else float(np.prod(dims[:-1])) ** -0.5
        if (dtype, scale) not in blocks:
            values = 1 + 0.1 * normal if scale is None else normal * np.float32(scale)
            blocks[dtype, scale] = values.astype(dtype).view(np.uint8)
        if location not in files:
            files[location] = open(folder / location, "wb")
        file, block = files[location], blocks[dtype, scale]
        file.seek(offset)
        begin = int(hashlib.sha256(name.encode()).hexdigest(), 16) % BLOCK * dtype.itemsize
        left = size
        while left:
            part = block[begin : begin + left]
            file.write(part)
            left, begin = left - len(part), 0
        total += size
    for file in files.values():
        file.close()
    return total
