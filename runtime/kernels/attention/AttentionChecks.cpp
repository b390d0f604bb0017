#include "runtime/kernels/attention/AttentionChecks.h"

#include "runtime/kernels/Check.h"
#include "runtime/kernels/attention/AttentionRows.h"

#include <algorithm>

namespace shardc::runtime::host {

/// Pieces of a dim of `size`, which end before `limit`.
static Status checkPieces(const KernelCall &call, std::string_view kernel,
                          std::string_view name, int64_t size, int64_t limit) {
  const KernelAttribute *found = call.find(name);
  if (!found)
    return Status::ok();
  const Pieces pieces(call, name, size);
  int64_t total = 0;
  bool isValid = found->numInts % 2 == 0;
  for (int i = 0; isValid && i < pieces.count(); ++i) {
    isValid = pieces.place(i) >= 0 && pieces.size(i) >= 0 &&
              pieces.size(i) <= size - total &&
              pieces.place(i) <= limit - pieces.size(i);
    total += pieces.size(i);
  }
  return isValid && total == size
             ? Status::ok()
             : failure(kernel, std::string(name) + " do not cover a dim of " +
                                   std::to_string(size));
}

static Status checkAttention(const KernelCall &call, std::string_view name) {
  SHARDC_RETURN_IF_ERROR(expectOperands(call, name, 3));
  const TensorView &q = call.inputs[0], &k = call.inputs[1];
  const TensorView &v = call.inputs[2];
  if (q.rank != 4 || k.rank != 4 || v.rank != 4)
    return failure(name, "expected Q, K, V of rank 4, found Q " +
                             dimsToString(q) + ", K " + dimsToString(k) +
                             ", V " + dimsToString(v));
  TensorView expectedK = q, expectedV = k, expectedMask = q;
  expectedK.dims[1] = k.dims[1];
  expectedK.dims[2] = k.dims[2];
  expectedV.dims[3] = v.dims[3];
  SHARDC_RETURN_IF_ERROR(expectLike(name, expectedK, k));
  SHARDC_RETURN_IF_ERROR(expectLike(name, expectedV, v));
  const int64_t heads = k.dims[1];
  if (heads == 0 ? q.dims[1] != 0 : q.dims[1] % heads != 0)
    return failure(name, std::to_string(q.dims[1]) + " query heads on " +
                             std::to_string(heads) + " KV heads");
  const bool hasMask = hasInput(call, 3);
  constexpr int64_t kNoLimit = int64_t{1} << 62;
  expectedMask.dims[3] =
      !call.find("key_pieces") || !hasMask ? k.dims[2] : call.inputs[3].dims[3];
  SHARDC_RETURN_IF_ERROR(
      checkPieces(call, name, "query_pieces", q.dims[2], kNoLimit));
  SHARDC_RETURN_IF_ERROR(
      checkPieces(call, name, "key_pieces", k.dims[2],
                  hasMask ? expectedMask.dims[3] : kNoLimit));
  if (!hasMask)
    return Status::ok();
  const TensorView &mask = call.inputs[3];
  SHARDC_RETURN_IF_ERROR(expectDims(name, expectedMask, mask));
  return mask.element == artifact::ElementType_Bool
             ? Status::ok()
             : expectElement(name, q.element, mask);
}

static Status checkSinks(const KernelCall &call, std::string_view name,
                         int input, artifact::ElementType element,
                         int64_t heads) {
  if (!hasInput(call, input))
    return Status::ok();
  TensorView expected = call.inputs[input];
  expected.rank = 1;
  expected.element = element;
  expected.dims[0] = heads;
  return expectLike(name, expected, call.inputs[input]);
}

Status checkWholeAttention(const KernelCall &call) {
  constexpr char name[] = "Attention";
  SHARDC_RETURN_IF_ERROR(checkAttention(call, name));
  const TensorView &q = call.inputs[0];
  SHARDC_RETURN_IF_ERROR(expectOperands(call, name, 3));
  TensorView expected = q;
  expected.dims[3] = call.inputs[2].dims[3];
  SHARDC_RETURN_IF_ERROR(expectLike(name, expected, call.outputs[0]));
  return checkSinks(call, name, kAttentionSinks, q.element, q.dims[1]);
}

static artifact::ElementType accumulatorOf(artifact::ElementType element) {
  return element == artifact::ElementType_Float64
             ? artifact::ElementType_Float64
             : artifact::ElementType_Float32;
}

/// Values and stats for the rows of a result of these dims.
static Status checkState(std::string_view name, const TensorView &result,
                         const TensorView &values, const TensorView &stats) {
  TensorView expected = result;
  expected.element = accumulatorOf(result.element);
  SHARDC_RETURN_IF_ERROR(expectLike(name, expected, values));
  expected.dims[3] = 2;
  SHARDC_RETURN_IF_ERROR(expectLike(name, expected, stats));
  if ((values.dims[3] > 1 && values.strides[3] != 1) || stats.strides[3] != 1)
    return failure(name, "expected a state with dense rows");
  return Status::ok();
}

Status checkAttentionPart(const KernelCall &call) {
  constexpr char kPart[] = "AttentionPart";
  SHARDC_RETURN_IF_ERROR(checkAttention(call, kPart));
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kPart, 3, 2));
  TensorView result = call.inputs[0];
  result.dims[3] = call.inputs[2].dims[3];
  SHARDC_RETURN_IF_ERROR(
      checkState(kPart, result, call.outputs[0], call.outputs[1]));
  if (!hasInput(call, 4) && !hasInput(call, 5))
    return Status::ok();
  for (int i : {0, 1})
    if (!hasInput(call, 4 + i) ||
        call.inputs[4 + i].data != call.outputs[i].data ||
        !std::equal(call.outputs[i].strides, call.outputs[i].strides + 4,
                    call.inputs[4 + i].strides))
      return failure(kPart, "expected its state to be written in place");
  return Status::ok();
}

Status checkAttentionFinish(const KernelCall &call) {
  constexpr char kFinish[] = "AttentionFinish";
  SHARDC_RETURN_IF_ERROR(expectOperands(call, kFinish, 2));
  const TensorView &y = call.outputs[0];
  if (y.rank != 4)
    return failure(kFinish,
                   "expected a result of rank 4, found " + dimsToString(y));
  SHARDC_RETURN_IF_ERROR(
      checkState(kFinish, y, call.inputs[0], call.inputs[1]));
  return checkSinks(call, kFinish, kFinishSinks, y.element, y.dims[1]);
}

} // namespace shardc::runtime::host
