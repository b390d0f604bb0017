//===- Gather.cpp - Slices of data picked by index ------------------------===//
//
// Negative indices count from the end. With the attribute `lookup` (base,
// global_rows) data holds rows [base, base + local) of a table of global_rows
// rows, as a vocabulary-parallel embedding does: an index of another rank's row
// writes zeros, so that the ranks' outputs add up to the row.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Check.h"
#include "runtime/kernels/host/ThreadedLoop.h"
#include "runtime/kernels/index/IndexReader.h"
#include "runtime/kernels/layout/StridedCopy.h"
#include "runtime/tensor/CopyView.h"
#include "runtime/tensor/SubByte.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "Gather";

struct Rows {
  int64_t base = 0;   ///< global row of data's first row
  int64_t global = 0; ///< rows of the whole table
  int64_t local = 0;  ///< rows that data holds
};

Status readRows(const KernelCall &call, int64_t local, Rows &rows) {
  rows = {0, local, local};
  if (const KernelAttribute *lookup = call.find("lookup")) {
    if (lookup->numInts != 2)
      return failure(kName, "lookup must be [base, global_rows]");
    rows.base = lookup->ints[0];
    rows.global = lookup->ints[1];
  }
  return Status::ok();
}

Status expectShape(const TensorView &data, const TensorView &indices,
                   const TensorView &out, int axis) {
  TensorView expected = data;
  expected.rank = data.rank - 1 + indices.rank;
  if (expected.rank > kMaxRank)
    return failure(kName, "the output has too many dims");
  for (int d = 0; d < indices.rank; ++d)
    expected.dims[axis + d] = indices.dims[d];
  for (int d = axis + 1; d < data.rank; ++d)
    expected.dims[d - 1 + indices.rank] = data.dims[d];
  return expectLike(kName, expected, out);
}

/// Rows of elements that share bytes; all of the table is here.
void copyFields(TensorView to, int64_t toOffset, TensorView from,
                int64_t fromOffset) {
  advance(to, toOffset);
  advance(from, fromOffset);
  copyView(to, from);
}

Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kName, 2));
  const TensorView &data = call.inputs[0], &indices = call.inputs[1];
  const TensorView &out = call.outputs[0];
  int axis = 0;
  SHARDC_RETURN_IF_ERROR(readAxis(call, kName, data.rank, axis));
  SHARDC_RETURN_IF_ERROR(expectIndices(kName, indices));
  SHARDC_RETURN_IF_ERROR(expectShape(data, indices, out, axis));
  Rows rows;
  SHARDC_RETURN_IF_ERROR(readRows(call, data.dims[axis], rows));
  SHARDC_RETURN_IF_ERROR(expectInRange(kName, indices, rows.global));

  const int begin = axis, end = axis + indices.rank;
  const TensorView to = dimsOf(out, end, out.rank);
  const TensorView slice = dimsOf(data, axis + 1, data.rank);
  const StridedCopy copy(to, slice);
  const StridedCopy clear(to);
  const auto outer = nestOf(dimsOf(out, 0, axis), dimsOf(data, 0, axis));
  const auto picks = nestOf(dimsOf(out, begin, end), indices);
  const IndexReader index(indices);
  const int64_t bytes = artifact::elementBytes(data.element);
  if (bytes == 0 && rows.local != rows.global)
    return failure(kName, "no part of a table may hold parts of bytes");
  // Elements that share a byte are one thread's.
  const int64_t width = bytes == 0 ? 0 : slice.numElements();
  forEachIndex(outer, [&](const int64_t (&at)[2]) {
    forEachIndexOnThreads(picks, width, [&](const int64_t (&pick)[2]) {
      const int64_t row = index.wrapped(pick[1], rows.global) - rows.base;
      if (bytes == 0)
        return copyFields(to, at[0] + pick[0], slice,
                          at[1] + row * data.strides[axis]);
      std::byte *target = out.data + (at[0] + pick[0]) * bytes;
      if (row < 0 || row >= rows.local)
        clear(target, kZeroElement);
      else
        copy(target, data.data + (at[1] + row * data.strides[axis]) * bytes);
    });
  });
  return Status::ok();
}

const HostKernelRegistration registration(kName, {run, nullptr});

} // namespace
} // namespace shardc::runtime::host
