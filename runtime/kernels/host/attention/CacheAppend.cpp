//===- CacheAppend.cpp - New entries behind those of each row -------------===//
//
// past [b, h, p, d], added [b, h, s, d], lengths [b] -> [b, h, t, d]: row i is
// past[i, :, :lengths[i]], then added[i], then zeros. A length that leaves no
// room, or that past does not hold, is an error.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/index/IndexReader.h"
#include "runtime/kernels/layout/StridedCopy.h"

#include <algorithm>

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "CacheAppend";

Status check(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kName, 3));
  const TensorView &past = call.inputs[0], &added = call.inputs[1];
  const TensorView &lengths = call.inputs[2], &out = call.outputs[0];
  SHARDC_RETURN_IF_ERROR(expectElement(kName, out.element, past));
  SHARDC_RETURN_IF_ERROR(expectElement(kName, out.element, added));
  SHARDC_RETURN_IF_ERROR(expectIndices(kName, lengths));
  if (out.rank != 4 || lengths.rank != 1 || lengths.dims[0] != out.dims[0])
    return failure(kName, "lengths of dims " + dimsToString(lengths) +
                              " for a cache of dims " + dimsToString(out));
  for (const TensorView *input : {&past, &added}) {
    TensorView expected = out;
    expected.dims[2] = input->rank == 4 ? input->dims[2] : 0;
    SHARDC_RETURN_IF_ERROR(expectDims(kName, expected, *input));
  }
  return Status::ok();
}

/// Entries [begin, begin + count) of one row, [h, count, d].
TensorView entries(const TensorView &cache, int64_t row, int64_t begin,
                   int64_t count) {
  TensorView part = dimsOf(cache, 1, 4);
  part.data += artifact::elementBytes(cache.element) *
               (row * cache.strides[0] + begin * cache.strides[2]);
  part.dims[1] = count;
  return part;
}

void copy(const TensorView &to, const TensorView &from) {
  if (to.data == from.data) // past and result are one cache
    return;
  StridedCopy(to, from).onThreads(to.data, from.data);
}

Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(check(call));
  const TensorView &past = call.inputs[0], &added = call.inputs[1];
  const TensorView &lengths = call.inputs[2], &out = call.outputs[0];
  const int64_t most = std::min(past.dims[2], out.dims[2] - added.dims[2]);
  const IndexReader read(lengths);
  for (int64_t row = 0; row < out.dims[0]; ++row) {
    const int64_t length = read[row * lengths.strides[0]];
    if (length < 0 || length > most)
      return failure(kName, "row " + std::to_string(row) + " holds " +
                                std::to_string(length) +
                                " entries: expected 0 to " +
                                std::to_string(most));
    const int64_t end = length + added.dims[2];
    copy(entries(out, row, 0, length), entries(past, row, 0, length));
    copy(entries(out, row, length, added.dims[2]),
         entries(added, row, 0, added.dims[2]));
    const TensorView rest = entries(out, row, end, out.dims[2] - end);
    StridedCopy(rest).onThreads(rest.data, kZeroElement);
  }
  return Status::ok();
}

const HostKernelRegistration registration(kName, {run, nullptr});

} // namespace
} // namespace shardc::runtime::host
