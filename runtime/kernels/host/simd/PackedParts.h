//===- PackedParts.h - Packing a matrix part by part ----------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_SIMD_PACKEDPARTS_H
#define SHARDC_RUNTIME_KERNELS_HOST_SIMD_PACKEDPARTS_H

#include "runtime/kernels/host/simd/Loops.h"
#include "runtime/kernels/host/simd/PackedMatrix.h"

namespace shardc::runtime::host {

/// Some rows, and some panels of 16 columns.
struct MatrixPart {
  Span rows, panels;
};

/// Of a matrix [k, n] that lies in a file: its parts from `part` on, of a few
/// MiB, as they follow each other in memory; false behind the last one. Pages of
/// what `part` was before leave the process, so that a matrix and its packed
/// form are not both in memory as a whole. Parts begin at a multiple of 64 rows.
///
///   MatrixPart part = {};
///   while (nextPart(matrix, part))
///     ...
bool nextPart(const TensorView &matrix, MatrixPart &part);

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_SIMD_PACKEDPARTS_H
