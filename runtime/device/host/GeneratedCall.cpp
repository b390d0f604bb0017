//===- GeneratedCall.cpp - Rows on the threads of a rank ------------------===//

#include "runtime/device/RowSpace.h"
#include "runtime/device/host/HostKernelLibrary.h"
#include "runtime/kernels/host/KernelThreads.h"

#include <algorithm>

namespace shardc::runtime {
namespace {

constexpr size_t kMaxOperands = artifact::kMaxGeneratedOperands;

/// Rows [first, end) of all, counted over all dims.
void runRows(const GeneratedKernel &kernel, const RowSpace &space,
             int64_t first, int64_t end, float *scratch) {
  const int last = space.rank - 1;
  const int64_t inner = space.rank > 0 ? space.dims[last] : 1;
  int64_t sizes[kMaxOperands + 1];
  sizes[0] = space.columns;
  for (int i = 0; i < space.numOperands; ++i)
    sizes[i + 1] = space.rank > 0 ? space.operands[i].strides[last] : 0;
  while (first < end) {
    void *data[kMaxOperands];
    const int64_t row = first % inner;
    for (int i = 0; i < space.numOperands; ++i) {
      int64_t rest = first / inner, offset = 0;
      for (int d = last - 1; d >= 0; --d) {
        offset += rest % space.dims[d] * space.operands[i].strides[d];
        rest /= space.dims[d];
      }
      data[i] = space.operands[i].data + offset * space.operands[i].bytes;
    }
    const int64_t count = std::min(inner - row, end - first);
    kernel.function(data, sizes, row, row + count, scratch);
    first += count;
  }
}

/// A part of the only row.
void runColumns(const GeneratedKernel &kernel, RowSpace space, int64_t first,
                int64_t end, float *scratch) {
  space.columns = end - first;
  for (int i = 0; i < space.numOperands; ++i)
    if (!space.operands[i].isPerRow)
      space.operands[i].data += first * space.operands[i].bytes;
  runRows(kernel, space, 0, 1, scratch);
}

} // namespace

int64_t generatedScratchBytes(const KernelCall &call) {
  const auto &kernel = *static_cast<const GeneratedKernel *>(call.code);
  RowSpace space;
  if (kernel.form.slots == 0 ||
      !bindRows(kernel.name, kernel.form, call, space).isOk())
    return 0; // run says what is wrong
  return host::kernelThreads() * 4 *
         artifact::scratchFloats(kernel.form.slots, space.columns);
}

Status runGenerated(const KernelCall &call) {
  const auto &kernel = *static_cast<const GeneratedKernel *>(call.code);
  RowSpace space;
  SHARDC_RETURN_IF_ERROR(bindRows(kernel.name, kernel.form, call, space));
  const int64_t rows = space.rows();
  if (rows == 0 || (space.columns == 0 && !kernel.form.mixesColumns))
    return Status::ok();
  space.fold(kernel.form);
  const bool isOneRow = space.rank == 0 && !kernel.form.mixesColumns;
  const int64_t units =
      isOneRow ? space.columns / artifact::kGeneratedWidth + 1 : space.rows();
  const int64_t threads = host::threadsFor(units, rows * space.columns);
  auto *scratch = reinterpret_cast<float *>(call.scratch);
  const int64_t own = artifact::scratchFloats(kernel.form.slots, space.columns);
  host::shareRanges(
      units, threads, host::unitsAtOnce(units, rows * space.columns),
      [&](int64_t thread) { return scratch + own * thread; },
      [&](float *mine, int64_t first, int64_t end) {
        if (isOneRow)
          runColumns(kernel, space, first * artifact::kGeneratedWidth,
                     std::min(end * artifact::kGeneratedWidth, space.columns),
                     mine);
        else
          runRows(kernel, space, first, end, mine);
      });
  return Status::ok();
}

} // namespace shardc::runtime
