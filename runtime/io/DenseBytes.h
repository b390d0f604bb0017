//===- DenseBytes.h - How much a tensor in a file should have -------------===//
#ifndef SHARDC_RUNTIME_IO_DENSEBYTES_H
#define SHARDC_RUNTIME_IO_DENSEBYTES_H

#include "runtime/artifact/Format.h"

#include <span>

namespace shardc::runtime {

/// Of a dense tensor; -1 where 64 bits do not hold it, or a dim is negative. It
/// is compared with what is there before any memory is taken: a few bytes may
/// say that they are a tensor of terabytes.
inline int64_t denseBytes(artifact::ElementType element,
                          std::span<const int64_t> dims) {
  int64_t bytes = artifact::elementBytes(element);
  for (int64_t dim : dims)
    if (dim < 0 || __builtin_mul_overflow(bytes, dim, &bytes))
      return -1;
  return bytes;
}

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_IO_DENSEBYTES_H
