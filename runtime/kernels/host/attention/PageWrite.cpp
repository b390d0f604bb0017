//===- PageWrite.cpp - New entries at their places in pages ---------------===//
//
// pool [n, .., c, ..], added [1, .., t, ..], slots [t], copies [m, 2] -> pool:
// page copies[i, 1] becomes what page copies[i, 0] is; then entry i is at place
// slots[i] % c of page slots[i] / c; one whose slot is negative is nowhere. Where
// pool and result are the same memory nothing else is touched. A rank with a
// part of the places of each page (PagePlaces) writes what belongs there.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Check.h"
#include "runtime/kernels/attention/PagedChecks.h"
#include "runtime/kernels/index/IndexReader.h"
#include "runtime/kernels/layout/StridedCopy.h"

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "PageWrite";

Status checkSlot(int64_t slot, int64_t places) {
  if (slot < places)
    return Status::ok();
  if (slot == kSlotOfOtherPositions)
    return failure(kName, "the model counts other positions than the sequence "
                          "has: expected a mask that hides none of them");
  if (slot == kSlotOfTooManyPositions)
    return failure(kName, "a row has more positions than the model takes");
  return failure(kName, outsideText(slot, places));
}

Status checkSlots(const TensorView &slots, int64_t places) {
  const IndexReader read(slots);
  for (int64_t i = 0; i < slots.dims[0]; ++i)
    SHARDC_RETURN_IF_ERROR(checkSlot(read[i * slots.strides[0]], places));
  return Status::ok();
}

Status copyPages(const TensorView &out, const TensorView &copies) {
  const IndexReader read(copies);
  TensorView page = out;
  page.dims[0] = 1;
  const StridedCopy copy(page, page);
  const int64_t bytes = artifact::elementBytes(out.element) * out.strides[0];
  for (int64_t i = 0; i < copies.dims[0]; ++i) {
    int64_t ends[2];
    for (int64_t e : {0, 1}) {
      ends[e] = read[i * copies.strides[0] + e * copies.strides[1]];
      if (ends[e] < 0 || ends[e] >= out.dims[0])
        return failure(kName, outsideText(ends[e], out.dims[0]));
    }
    if (ends[0] != ends[1])
      copy(out.data + ends[1] * bytes, out.data + ends[0] * bytes);
  }
  return Status::ok();
}

Status run(const KernelCall &call) {
  int axis = 0;
  SHARDC_RETURN_IF_ERROR(checkPageWrite(call, axis));
  const TensorView &pool = call.inputs[0], &added = call.inputs[1];
  const TensorView &slots = call.inputs[2], &out = call.outputs[0];
  const PagePlaces places = PagePlaces::of(call, pool.dims[axis]);
  SHARDC_RETURN_IF_ERROR(checkSlots(slots, pool.dims[0] * places.all));
  if (out.data != pool.data)
    StridedCopy(out, pool)(out.data, pool.data);
  SHARDC_RETURN_IF_ERROR(copyPages(out, call.inputs[3]));
  TensorView to = out, from = added;
  to.dims[0] = to.dims[axis] = from.dims[axis] = 1;
  const StridedCopy copy(to, from);
  const int64_t bytes = artifact::elementBytes(out.element);
  const IndexReader read(slots);
  for (int64_t i = 0; i < slots.dims[0]; ++i) {
    const int64_t slot = read[i * slots.strides[0]];
    const int64_t place = slot % places.all - places.first;
    if (slot >= 0 && place >= 0 && place < places.here)
      copy(out.data + bytes * (slot / places.all * out.strides[0] +
                               place * out.strides[axis]),
           added.data + bytes * i * added.strides[axis]);
  }
  return Status::ok();
}

const HostKernelRegistration registration(kName, {run, nullptr});

} // namespace
} // namespace shardc::runtime::host
