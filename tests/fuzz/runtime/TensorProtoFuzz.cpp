//===- TensorProtoFuzz.cpp - Any bytes as a tensor of ONNX ----------------===//
#include "runtime/io/TensorProto.h"

#include <cstdlib>

/// What was read is written and read again.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace shardc::runtime;
  NamedTensor tensor, again;
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  if (!parseTensorProto("fuzz", bytes, tensor).isOk())
    return 0;
  const std::string written = serializeTensorProto(tensor.name, tensor.tensor);
  if (!parseTensorProto("again", written, again).isOk() ||
      serializeTensorProto(again.name, again.tensor) != written)
    std::abort();
  return 0;
}
