#include "runtime/kernels/attention/PagedChecks.h"

#include "runtime/kernels/Check.h"
#include "runtime/kernels/index/IndexReader.h"

namespace shardc::runtime::host {

/// For each query of each head, or for all of a row.
static Status checkPagedMask(const KernelCall &call, std::string_view name,
                             const PagePlaces &places) {
  if (!hasInput(call, kPagedMask))
    return Status::ok();
  const TensorView &q = call.inputs[kQuery], &pages = call.inputs[kPages];
  const TensorView &mask = call.inputs[kPagedMask];
  const auto is = [&](int dim, int64_t size) {
    return mask.dims[dim] == 1 || mask.dims[dim] == size;
  };
  if (mask.rank != 4 || !is(0, pages.dims[0]) || !is(1, q.dims[1]) ||
      !is(2, q.dims[2]) || (mask.dims[0] != 1 && mask.dims[2] != 1) ||
      mask.dims[3] != pages.dims[1] * places.all)
    return failure(name, "mask of dims " + dimsToString(mask) +
                             " for queries of dims " + dimsToString(q) +
                             " and pages of dims " + dimsToString(pages) +
                             ", each of " + std::to_string(places.all));
  return mask.element == artifact::ElementType_Bool
             ? Status::ok()
             : expectElement(name, q.element, mask);
}

/// Keys or values of so many elements: of the queries' type, or of 8 bits with
/// scales.
static Status checkPagedPool(const KernelCall &call, std::string_view name,
                             int input, int scales, int64_t columns) {
  const TensorView &pool = call.inputs[input];
  TensorView expected = call.inputs[kKeys];
  expected.dims[3] = columns;
  if (!hasInput(call, scales)) {
    expected.element = call.inputs[kQuery].element;
    return expectLike(name, expected, pool);
  }
  expected.element = pool.element;
  if (pool.element != artifact::ElementType_Int8 &&
      pool.element != artifact::ElementType_Float8E4M3FN)
    return failure(name, "keys or values with scales have " +
                             std::string(elementName(pool.element)) +
                             ", expected int8 or float8 e4m3");
  SHARDC_RETURN_IF_ERROR(expectLike(name, expected, pool));
  expected.element = artifact::ElementType_Float32;
  expected.dims[3] = 1;
  return expectLike(name, expected, call.inputs[scales]);
}

/// Of attention to pages, or to parts of their places.
static Status checkPagedOperands(const KernelCall &call, std::string_view name,
                                 const PagePlaces &places) {
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
  SHARDC_RETURN_IF_ERROR(
      checkPagedPool(call, name, kKeys, kKeyScales, q.dims[3]));
  SHARDC_RETURN_IF_ERROR(
      checkPagedPool(call, name, kValues, kValueScales, v.dims[3]));
  if (hasInput(call, kKeyScales) != hasInput(call, kValueScales) ||
      k.element != v.element)
    return failure(name,
                   "keys and values of different types, expected one for both");
  if (k.dims[1] == 0 ? q.dims[1] != 0 : q.dims[1] % k.dims[1] != 0)
    return failure(name, std::to_string(q.dims[1]) + " query heads on " +
                             std::to_string(k.dims[1]) + " KV heads");
  if (places.first < 0 || places.first + places.here > places.all)
    return failure(name, "places " + std::to_string(places.first) + " to " +
                             std::to_string(places.first + places.here) +
                             " of " + std::to_string(places.all));
  return checkPagedMask(call, name, places);
}

/// One for each head, of `element`.
static Status checkPagedSinks(const KernelCall &call, std::string_view name,
                              int input, artifact::ElementType element,
                              int64_t heads) {
  if (!hasInput(call, input))
    return Status::ok();
  TensorView sinks = call.inputs[input];
  sinks.rank = 1;
  sinks.element = element;
  sinks.dims[0] = heads;
  return expectLike(name, sinks, call.inputs[input]);
}

Status checkPagedAttention(const KernelCall &call) {
  constexpr char name[] = "PagedAttention";
  SHARDC_RETURN_IF_ERROR(expectOperands(call, name, 6));
  const TensorView &q = call.inputs[kQuery];
  SHARDC_RETURN_IF_ERROR(checkPagedOperands(
      call, name, PagePlaces::of(call, call.inputs[kKeys].dims[2])));
  TensorView expected = q;
  expected.dims[3] = call.inputs[kValues].dims[3];
  SHARDC_RETURN_IF_ERROR(expectLike(name, expected, call.outputs[0]));
  return checkPagedSinks(call, name, kPagedSinks, q.element, q.dims[1]);
}

/// What is seen is added up in f32, or in f64.
static artifact::ElementType seenElement(artifact::ElementType element) {
  return element == artifact::ElementType_Float64
             ? element
             : artifact::ElementType_Float32;
}

Status checkPagedAttentionParts(const KernelCall &call) {
  constexpr char name[] = "PagedAttentionParts";
  SHARDC_RETURN_IF_ERROR(expectOperands(call, name, 6));
  const TensorView &q = call.inputs[kQuery], &k = call.inputs[kKeys];
  const TensorView &seen = call.outputs[0];
  SHARDC_RETURN_IF_ERROR(
      checkPagedOperands(call, name, PagePlaces::of(call, k.dims[2])));
  TensorView expected = q;
  expected.element = seenElement(q.element);
  expected.dims[0] = seen.dims[0];
  expected.dims[3] = call.inputs[kValues].dims[3] + kSeenStatistics;
  SHARDC_RETURN_IF_ERROR(expectLike(name, expected, seen));
  if (seen.strides[3] != 1 ||
      (seen.dims[0] == 0 ? k.dims[2] != 0 : k.dims[2] % seen.dims[0] != 0))
    return failure(name, std::to_string(seen.dims[0]) + " dense parts of " +
                             std::to_string(k.dims[2]) + " places");
  return Status::ok();
}

Status checkMergeAttention(const KernelCall &call) {
  constexpr char name[] = "MergeAttention";
  SHARDC_RETURN_IF_ERROR(expectOperands(call, name, 1));
  const TensorView &seen = call.inputs[0], &y = call.outputs[0];
  TensorView expected = y;
  expected.element = seenElement(y.element);
  expected.dims[0] = seen.dims[0];
  expected.dims[3] = y.dims[3] + kSeenStatistics;
  SHARDC_RETURN_IF_ERROR(expectLike(name, expected, seen));
  return checkPagedSinks(call, name, 1, y.element, y.dims[1]);
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
