//===- InputFiles.h - Tensors from and to a folder ------------------------===//
//
// ONNX's test data layout: DIR/input_0.pb, input_1.pb, ... in the order of the
// model's inputs; output_0.pb, ... likewise. Or one .npz file by name.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TOOLS_TENSORS_INPUTFILES_H
#define SHARDC_TOOLS_TENSORS_INPUTFILES_H

#include "runtime/io/TensorProto.h"

#include <span>
#include <string>
#include <vector>

namespace shardc::tensors {

// Files of tensors that a state keeps (`kept`, by number) are passed over.

/// Reads the inputs of the model from a folder or a .npz file.
shardc::runtime::Status
readInputs(const std::string &path,
           std::span<const shardc::runtime::TensorInfo> infos,
           std::span<const char> kept,
           std::vector<shardc::runtime::NamedTensor> &tensors);

/// Reads DIR/output_I.pb for each of the model's outputs.
shardc::runtime::Status
readExpected(const std::string &folder,
             std::span<const shardc::runtime::TensorInfo> infos,
             std::span<const char> kept,
             std::vector<shardc::runtime::NamedTensor> &tensors);

/// Writes DIR/output_I.pb, creating DIR where needed: all of them or none.
shardc::runtime::Status
writeOutputs(const std::string &folder,
             std::span<const shardc::runtime::TensorInfo> infos,
             std::span<const char> kept,
             std::span<const shardc::runtime::Tensor> tensors);

} // namespace shardc::tensors

#endif // SHARDC_TOOLS_TENSORS_INPUTFILES_H
