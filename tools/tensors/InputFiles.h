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

/// Reads DIR/output_I.pb for each of the model's outputs, or a .npz file that
/// has them by name.
shardc::runtime::Status
readExpected(const std::string &path,
             std::span<const shardc::runtime::TensorInfo> infos,
             std::span<const char> kept,
             std::vector<shardc::runtime::NamedTensor> &tensors);

/// Writes DIR/output_I.pb, creating DIR where needed, or a .npz file: all of
/// them or none. What a folder has from an earlier run under such names goes.
shardc::runtime::Status
writeOutputs(const std::string &path,
             std::span<const shardc::runtime::TensorInfo> infos,
             std::span<const char> kept,
             std::span<const shardc::runtime::Tensor> tensors);

/// Where one of several requests has its outputs: DIR/2, or out.2.npz.
std::string requestPath(const std::string &path, size_t request);

/// Removes outputs from DIR that an earlier run of another number of requests
/// has left: DIR/output_I.pb beside DIR/0, and the other way round. What lies
/// beside inputs stays.
void removeOtherRequests(const std::string &path, size_t numRequests);

} // namespace shardc::tensors

#endif // SHARDC_TOOLS_TENSORS_INPUTFILES_H
