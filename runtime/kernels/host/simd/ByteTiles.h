//===- ByteTiles.h - Products of ByteLoops.h in the tiles of AMX ----------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_SIMD_BYTETILES_H
#define SHARDC_RUNTIME_KERNELS_HOST_SIMD_BYTETILES_H

#include "runtime/kernels/host/simd/ByteLoops.h"

namespace shardc::runtime::host {

/// Whether the processor has tiles of bytes, and they pay for such a product:
/// of 16 rows or more, and whole blocks of 32, 64 or more rows of B, of parts of
/// bytes 1024 in all.
bool takesByteTiles(const ByteProduct &product);

/// Gives the bits that ByteLoops::multiply gives on such a processor.
/// Preconditions: takesByteTiles(product), and at most 64 columns of B.
void multiplyByteTiles(const ByteProduct &product);

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_SIMD_BYTETILES_H
