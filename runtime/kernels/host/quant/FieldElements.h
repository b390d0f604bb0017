//===- FieldElements.h - Element types that are fields of words -----------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_QUANT_FIELDELEMENTS_H
#define SHARDC_RUNTIME_KERNELS_HOST_QUANT_FIELDELEMENTS_H

#include "runtime/artifact/Format.h"

#include <cstdint>

namespace shardc::runtime::host {

inline bool isSigned(artifact::ElementType element) {
  return element == artifact::ElementType_Int2 ||
         element == artifact::ElementType_Int4 ||
         element == artifact::ElementType_Int8;
}

/// 0 for elements that are no fields.
inline int bitsOf(artifact::ElementType element) {
  switch (element) {
  case artifact::ElementType_Int2:
  case artifact::ElementType_UInt2:
    return 2;
  case artifact::ElementType_Int4:
  case artifact::ElementType_UInt4:
    return 4;
  case artifact::ElementType_Int8:
  case artifact::ElementType_UInt8:
  case artifact::ElementType_Float8E4M3FN:
  case artifact::ElementType_Float8E4M3FNUZ:
  case artifact::ElementType_Float8E5M2:
  case artifact::ElementType_Float8E5M2FNUZ:
    return 8;
  default:
    return 0;
  }
}

/// The first bit of each field of a word.
inline uint32_t signsOf(int bits) {
  return bits == 2 ? 0xaaaaaaaau : bits == 4 ? 0x88888888u : 0x80808080u;
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_QUANT_FIELDELEMENTS_H
