//===- Npz.h - NumPy's archives of arrays ---------------------------------===//
//
// What numpy.savez(path, input_ids=..., ...) writes: a zip of .npy members;
// savez_compressed deflates them.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_IO_NPZ_H
#define SHARDC_RUNTIME_IO_NPZ_H

#include "runtime/io/TensorProto.h"

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardc::runtime {

/// Reads all arrays, named without ".npy". Errors have code InvalidArgument.
Status readNpz(const std::string &path, std::vector<NamedTensor> &tensors);

using NamedTensorView = std::pair<std::string_view, const Tensor *>;

/// Writes them all, or nothing: an error where NumPy does not have an element
/// type, or where they are 4 GiB and more.
Status writeNpz(const std::string &path,
                std::span<const NamedTensorView> tensors);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_IO_NPZ_H
