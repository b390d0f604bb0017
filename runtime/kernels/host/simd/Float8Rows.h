//===- Float8Rows.h - Rows of e4m3 that tables make floats of -------------===//
//
// Loops of few queries (Loops.h) for processors that look up 128 bytes in one
// instruction (AVX-512 VBMI), which not all with AVX-512 have.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_SIMD_FLOAT8ROWS_H
#define SHARDC_RUNTIME_KERNELS_HOST_SIMD_FLOAT8ROWS_H

#include "runtime/kernels/host/simd/Loops.h"

namespace shardc::runtime::host {

bool hasFloat8Rows();
/// Loops::multiplyRows and addRows of e4m3, with their bits.
/// Precondition: hasFloat8Rows().
void multiplyFloat8Rows(const RowProduct &product);
void addFloat8Rows(const WeightedRows &sum);

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_SIMD_FLOAT8ROWS_H
