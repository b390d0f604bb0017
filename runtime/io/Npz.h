//===- Npz.h - NumPy's archives of arrays ---------------------------------===//
//
// What numpy.savez(path, input_ids=..., ...) writes: a zip of .npy members,
// stored without compression. savez_compressed is an error that says so.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_IO_NPZ_H
#define SHARDC_RUNTIME_IO_NPZ_H

#include "runtime/io/TensorProto.h"

#include <string>
#include <vector>

namespace shardc::runtime {

/// Reads all arrays, named without ".npy". Errors have code InvalidArgument.
Status readNpz(const std::string &path, std::vector<NamedTensor> &tensors);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_IO_NPZ_H
