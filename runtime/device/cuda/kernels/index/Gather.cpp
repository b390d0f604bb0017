//===- Gather.cpp - Slices of data picked by index, on a GPU --------------===//
//
// An index out of range is found while it runs: its element is left as it is,
// and the next wait for the stream says so.
//
//===----------------------------------------------------------------------===//
#include "runtime/device/cuda/CudaKernels.h"
#include "runtime/device/cuda/kernels/index/OutOfRange.h"
#include "runtime/device/cuda/kernels/layout/StridedKernels.h"
#include "runtime/kernels/Check.h"

namespace shardc::runtime::cuda {
namespace {

constexpr char kName[] = "Gather";

Status expectShape(const TensorView &data, const TensorView &indices,
                   const TensorView &out, int axis) {
  TensorView expected = data;
  expected.rank = data.rank - 1 + indices.rank;
  if (expected.rank > kMaxRank)
    return host::failure(kName, "the output has too many dims");
  for (int d = 0; d < indices.rank; ++d)
    expected.dims[axis + d] = indices.dims[d];
  for (int d = axis + 1; d < data.rank; ++d)
    expected.dims[d - 1 + indices.rank] = data.dims[d];
  return host::expectLike(kName, expected, out);
}

Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(host::expectOperands(call, kName, 2));
  const TensorView &data = call.inputs[0], &indices = call.inputs[1];
  const TensorView &out = call.outputs[0];
  GatherRows rows;
  SHARDC_RETURN_IF_ERROR(host::readAxis(call, kName, data.rank, rows.axis));
  SHARDC_RETURN_IF_ERROR(expectShape(data, indices, out, rows.axis));
  rows.global = data.dims[rows.axis];
  if (const KernelAttribute *lookup = call.find("lookup")) {
    if (lookup->numInts != 2)
      return host::failure(kName, "lookup must be [base, global_rows]");
    rows.base = lookup->ints[0];
    rows.global = lookup->ints[1];
  }
  rows.fault = indexMayFail(call);
  return gatherRows(out, data, indices, rows, streamOf(call));
}

const CudaKernelRegistration registration(kName, {run, nullptr});

} // namespace
} // namespace shardc::runtime::cuda
