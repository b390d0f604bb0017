//===- PackedParts.h - Packing a matrix part by part ----------------------===//
#ifndef SHARDC_RUNTIME_KERNELS_HOST_SIMD_PACKEDPARTS_H
#define SHARDC_RUNTIME_KERNELS_HOST_SIMD_PACKEDPARTS_H

#include "runtime/kernels/host/KernelThreads.h"
#include "runtime/kernels/host/simd/Loops.h"
#include "runtime/kernels/host/simd/PackedMatrix.h"

namespace shardc::runtime::host {

/// Some rows, and some panels of 16 columns.
struct MatrixPart {
  Span rows, panels;
};

/// Of a matrix [k, n]: the part of a few MiB behind `part`, as they follow each
/// other in memory, or the first one of all; false behind the last one. Parts
/// begin at a multiple of 64 rows.
bool nextPart(const TensorView &matrix, MatrixPart &part);

/// Takes the pages of a part out of the process, where they are a file's.
void releasePart(const TensorView &matrix, const MatrixPart &part);

/// Calls pack(rows, panel) for each panel of each part, on the threads of the
/// rank. Where pages leave, they do so behind each part: a matrix and its packed
/// form are not both in memory as a whole.
template <typename Pack>
void packInParts(const TensorView &matrix, SourcePages pages, Pack pack) {
  MatrixPart part = {};
  while (nextPart(matrix, part)) {
    const int64_t first = part.panels.begin;
    const int64_t panels = part.panels.end - first;
    const int64_t rows = part.rows.end - part.rows.begin;
    shareRanges(panels, threadsFor(panels, rows * panels * kPanelColumns),
                /*least=*/1, [&](int64_t panel, int64_t end) {
                  for (; panel < end; ++panel)
                    pack(part.rows, first + panel);
                });
    if (pages == SourcePages::Leave)
      releasePart(matrix, part);
  }
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_HOST_SIMD_PACKEDPARTS_H
