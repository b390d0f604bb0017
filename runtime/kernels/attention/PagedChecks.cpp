#include "runtime/kernels/attention/PagedChecks.h"

#include "runtime/kernels/Check.h"
#include "runtime/kernels/index/IndexReader.h"

namespace shardc::runtime::host {

/// For each query of each head, or for all of a row.
static Status checkPagedMask(const KernelCall &call, std::string_view name) {
  if (!hasInput(call, kPagedMask))
    return Status::ok();
  const TensorView &q = call.inputs[kQuery], &k = call.inputs[kKeys];
  const TensorView &pages = call.inputs[kPages];
  const TensorView &mask = call.inputs[kPagedMask];
  const auto is = [&](int dim, int64_t size) {
    return mask.dims[dim] == 1 || mask.dims[dim] == size;
  };
  if (mask.rank != 4 || !is(0, pages.dims[0]) || !is(1, q.dims[1]) ||
      !is(2, q.dims[2]) || (mask.dims[0] != 1 && mask.dims[2] != 1) ||
      mask.dims[3] != pages.dims[1] * k.dims[2])
    return failure(name, "mask of dims " + dimsToString(mask) +
                             " for queries of dims " + dimsToString(q) +
                             " and pages of dims " + dimsToString(pages) +
                             ", each of " + std::to_string(k.dims[2]));
  return mask.element == artifact::ElementType_Bool
             ? Status::ok()
             : expectElement(name, q.element, mask);
}

Status checkPagedAttention(const KernelCall &call) {
  constexpr char name[] = "PagedAttention";
  SHARDC_RETURN_IF_ERROR(expectOperands(call, name, 6));
  const TensorView &q = call.inputs[kQuery], &k = call.inputs[kKeys];
  const TensorView &v = call.inputs[kValues], &pages = call.inputs[kPages];
  const TensorView &past = call.inputs[kPast], &first = call.inputs[kFirst];
  for (const TensorView *indices : {&pages, &past, &first})
    SHARDC_RETURN_IF_ERROR(expectIndices(name, *indices));
  if (q.rank != 4 || k.rank != 4 || v.rank != 4 || pages.rank != 2 ||
      past.rank != 1 || first.rank != 1 || q.dims[0] != 1 ||
      past.dims[0] != pages.dims[0] || first.dims[0] != pages.dims[0] + 1)
    return failure(name, "queries of dims " + dimsToString(q) + ", keys " +
                             dimsToString(k) + ", values " + dimsToString(v) +
                             ", pages " + dimsToString(pages) + ", past " +
                             dimsToString(past) + ", first " +
                             dimsToString(first) + " do not fit");
  TensorView expectedK = k, expectedV = k, expectedY = q;
  expectedK.element = q.element;
  expectedK.dims[3] = q.dims[3];
  expectedV.dims[3] = v.dims[3];
  expectedY.dims[3] = v.dims[3];
  SHARDC_RETURN_IF_ERROR(expectLike(name, expectedK, k));
  SHARDC_RETURN_IF_ERROR(expectLike(name, expectedV, v));
  SHARDC_RETURN_IF_ERROR(expectLike(name, expectedY, call.outputs[0]));
  if (k.dims[1] == 0 ? q.dims[1] != 0 : q.dims[1] % k.dims[1] != 0)
    return failure(name, std::to_string(q.dims[1]) + " query heads on " +
                             std::to_string(k.dims[1]) + " KV heads");
  SHARDC_RETURN_IF_ERROR(checkPagedMask(call, name));
  if (!hasInput(call, kPagedSinks))
    return Status::ok();
  TensorView sinks = call.inputs[kPagedSinks];
  sinks.rank = 1;
  sinks.element = q.element;
  sinks.dims[0] = q.dims[1];
  return expectLike(name, sinks, call.inputs[kPagedSinks]);
}

Status checkPageWrite(const KernelCall &call, int &axis) {
  constexpr char name[] = "PageWrite";
  SHARDC_RETURN_IF_ERROR(expectOperands(call, name, 4));
  const TensorView &copies = call.inputs[3];
  const TensorView &pool = call.inputs[0], &added = call.inputs[1];
  const TensorView &slots = call.inputs[2];
  SHARDC_RETURN_IF_ERROR(expectLike(name, call.outputs[0], pool));
  SHARDC_RETURN_IF_ERROR(readAxis(call, name, pool.rank, axis));
  SHARDC_RETURN_IF_ERROR(expectIndices(name, slots));
  SHARDC_RETURN_IF_ERROR(expectIndices(name, copies));
  if (copies.rank != 2 || copies.dims[1] != 2)
    return failure(name, "expected pairs of pages, found dims " +
                             dimsToString(copies));
  TensorView expected = pool;
  expected.dims[0] = 1;
  expected.dims[axis] = slots.rank == 1 ? slots.dims[0] : -1;
  if (axis == 0)
    return failure(name, "axis 0 has the pages, expected another");
  return expectLike(name, expected, added);
}

} // namespace shardc::runtime::host
