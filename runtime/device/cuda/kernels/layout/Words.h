//===- Words.h - Elements by how many bytes they have ---------------------===//
#ifndef SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_LAYOUT_WORDS_H
#define SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_LAYOUT_WORDS_H

#include "runtime/artifact/Format.h"
#include "runtime/base/Message.h"

#include <cuda_runtime_api.h>

namespace shardc::runtime::cuda {

/// Calls `body` with a value of a type of so many bytes.
template <typename Body>
Status withWord(int64_t bytes, artifact::ElementType element, Body body) {
  switch (bytes) {
  case 1:
    return body(uint8_t());
  case 2:
    return body(uint16_t());
  case 4:
    return body(uint32_t());
  case 8:
    return body(uint64_t());
  case 16:
    return body(uint4());
  default:
    return unsupportedError("the GPU cannot move ",
                            artifact::EnumNameElementType(element));
  }
}

} // namespace shardc::runtime::cuda

#endif // SHARDC_RUNTIME_DEVICE_CUDA_KERNELS_LAYOUT_WORDS_H
