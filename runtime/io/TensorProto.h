//===- TensorProto.h - ONNX tensor files without protobuf -----------------===//
//
// Reads and writes the serialized onnx.TensorProto of ONNX's test data
// (input_0.pb, output_0.pb). The wire format is protobuf's; only what a tensor
// in a file may carry is accepted, everything else is an error.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_IO_TENSORPROTO_H
#define SHARDC_RUNTIME_IO_TENSORPROTO_H

#include "runtime/tensor/Tensor.h"

#include <string>
#include <string_view>

namespace shardc::runtime {

/// A tensor with the name that its file gives it (may be empty).
struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// Parses `bytes`; `file` names them in errors (code InvalidArgument).
Status parseTensorProto(std::string_view file, std::string_view bytes,
                        NamedTensor &tensor);

/// Serializes with name, dims, data_type and raw_data.
std::string serializeTensorProto(std::string_view name, const Tensor &tensor);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_IO_TENSORPROTO_H
