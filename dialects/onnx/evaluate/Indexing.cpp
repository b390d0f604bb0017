//===- Indexing.cpp - What Gather, ScatterND, TopK, ... compute -----------===//

#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/evaluate/Evaluate.h"

#include <cmath>
#include <numeric>

using namespace mlir;

namespace shardc::onnx::evaluate {

/// Negative ones count from the end; false if there is no such element.
static bool normalize(double index, int64_t size, int64_t &result) {
  result = integerOf(index).value_or(size);
  result += result < 0 ? size : 0;
  return result >= 0 && result < size;
}

static Outcome gather(Call &call) {
  const Tensor &x = call.operand(0), &indices = call.operand(1);
  const int64_t axis = cast<GatherOp>(call.op).getAxis();
  if (axis >= x.rank())
    return Outcome::Unfit;
  Shape shape(x.shape.begin(), x.shape.begin() + axis);
  const int64_t outer = countOf(shape);
  const ArrayRef<int64_t> rest =
      ArrayRef<int64_t>(x.shape).drop_front(axis + 1);
  const int64_t inner = countOf(rest);
  llvm::append_range(shape, indices.shape);
  llvm::append_range(shape, rest);
  Tensor y(x.element, shape);
  auto to = y.data.begin();
  for (int64_t i = 0; i < outer; ++i)
    for (double index : indices.data) {
      int64_t row;
      if (!normalize(index, x.shape[axis], row))
        return Outcome::Invalid;
      to = std::copy_n(x.data.begin() + (i * x.shape[axis] + row) * inner,
                       inner, to);
    }
  return call.finish(std::move(y));
}

/// Visits each index of `indices` with the position in data of what it names.
template <typename Visit>
static bool forEachElement(const Tensor &data, const Tensor &indices,
                           int64_t axis, Visit visit) {
  if (indices.rank() != data.rank() || axis >= data.rank())
    return false;
  const Shape strides = stridesOf(data.shape);
  Shape along = strides;
  along[axis] = 0;
  bool isValid = true;
  forEachPosition<2>(
      indices.shape, {along, stridesOf(indices.shape)},
      [&](const int64_t (&at)[2]) {
        int64_t index;
        if (normalize(indices.data[at[1]], data.shape[axis], index))
          visit(at[0] + index * strides[axis], at[1]);
        else
          isValid = false;
      });
  return isValid;
}

static Outcome gatherElements(Call &call) {
  Tensor y(call.operand(0).element, call.operand(1).shape);
  const int64_t axis = cast<GatherElementsOp>(call.op).getAxis();
  if (!forEachElement(call.operand(0), call.operand(1), axis,
                      [&](int64_t from, int64_t to) {
                        y.data[to] = call.operand(0).data[from];
                      }))
    return Outcome::Invalid;
  return call.finish(std::move(y));
}

using Combine = double (*)(double, double);

/// What becomes of an element that is scattered to; null if that is not known.
static Combine reductionOf(StringRef name) {
  if (name == "none")
    return [](double, double b) { return b; };
  if (name == "add")
    return [](double a, double b) { return a + b; };
  if (name == "mul")
    return [](double a, double b) { return a * b; };
  if (name == "max")
    return [](double a, double b) { return std::fmax(a, b); };
  if (name == "min")
    return [](double a, double b) { return std::fmin(a, b); };
  return nullptr;
}

/// Writes to one place twice: ONNX does not say which is left.
static Outcome scatterElements(Call &call) {
  auto op = cast<ScatterElementsOp>(call.op);
  const Combine reduce = reductionOf(op.getReduction());
  if (!reduce)
    return Outcome::Unknown;
  const Tensor &updates = call.operand(2);
  if (updates.shape != call.operand(1).shape)
    return Outcome::Unfit;
  Tensor y = call.operand(0);
  std::vector<bool> isWritten(y.data.size());
  bool isTwice = false;
  if (!forEachElement(y, call.operand(1), op.getAxis(),
                      [&](int64_t to, int64_t from) {
                        y.data[to] = reduce(y.data[to], updates.data[from]);
                        isTwice |= isWritten[to];
                        isWritten[to] = true;
                      }) ||
      (isTwice && op.getReduction() == "none"))
    return Outcome::Invalid;
  return call.finish(std::move(y));
}

/// Where the rows that indices of several dims name start.
struct NamedRows {
  Shape starts;
  int64_t size = 1; ///< of a row
  bool isValid = true;

  NamedRows(const Tensor &data, const Tensor &indices, int64_t batchDims) {
    const int64_t depth = indices.shape.back();
    const Shape strides = stridesOf(data.shape);
    if (batchDims + depth > data.rank()) {
      isValid = false;
      return;
    }
    size = countOf(ArrayRef<int64_t>(data.shape).drop_front(batchDims + depth));
    const int64_t batches =
        countOf(ArrayRef<int64_t>(data.shape).take_front(batchDims));
    const int64_t batchSize =
        batches == 0 ? 0 : int64_t(data.data.size()) / batches;
    const int64_t count = depth == 0 ? 0 : indices.size() / depth;
    for (int64_t i = 0; i < count; ++i) {
      int64_t at = batches == 0 ? 0 : i / (count / batches) * batchSize;
      for (int64_t d = 0; d < depth; ++d) {
        int64_t index = 0;
        isValid &= normalize(indices.data[i * depth + d],
                             data.shape[batchDims + d], index);
        at += index * strides[batchDims + d];
      }
      starts.push_back(at);
    }
  }
};

static Outcome gatherND(Call &call) {
  const Tensor &x = call.operand(0), &indices = call.operand(1);
  const int64_t batchDims = cast<GatherNDOp>(call.op).getBatchDims();
  NamedRows rows(x, indices, batchDims);
  if (!rows.isValid)
    return Outcome::Invalid;
  Shape shape(indices.shape.begin(), indices.shape.end() - 1);
  for (int64_t d = batchDims + indices.shape.back(); d < x.rank(); ++d)
    shape.push_back(x.shape[d]);
  Tensor y(x.element, shape);
  auto to = y.data.begin();
  for (int64_t start : rows.starts)
    to = std::copy_n(x.data.begin() + start, rows.size, to);
  return call.finish(std::move(y));
}

static Outcome scatterND(Call &call) {
  auto op = cast<ScatterNDOp>(call.op);
  const Combine reduce = reductionOf(op.getReduction());
  if (!reduce)
    return Outcome::Unknown;
  Tensor y = call.operand(0);
  const Tensor &updates = call.operand(2);
  NamedRows rows(y, call.operand(1), 0);
  if (!rows.isValid)
    return Outcome::Invalid;
  if (int64_t(rows.starts.size()) * rows.size != updates.size())
    return Outcome::Unfit;
  Shape sorted = rows.starts;
  llvm::sort(sorted);
  if (op.getReduction() == "none" && rows.size > 0 &&
      std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    return Outcome::Invalid;
  auto from = updates.data.begin();
  for (int64_t start : rows.starts)
    for (int64_t i = 0; i < rows.size; ++i, ++from)
      y.data[start + i] = reduce(y.data[start + i], *from);
  return call.finish(std::move(y));
}

/// Of equal elements the one of the lower index comes first; NaN is largest.
static Outcome topK(Call &call) {
  auto op = cast<TopKOp>(call.op);
  const Tensor &x = call.operand(0);
  const int64_t axis = op.getAxis();
  call.results.reserve(2);
  Tensor *values = call.addResult(0), *indices = call.addResult(1);
  if (!values || !indices || values->rank() != x.rank() ||
      values->shape[axis] > x.shape[axis])
    return Outcome::Unfit;
  const int64_t size = x.shape[axis], k = values->shape[axis];
  const int64_t step = stridesOf(x.shape)[axis];
  const int64_t lines = size == 0 ? 0 : x.size() / size;
  const bool largest = op.getLargest();
  for (int64_t line = 0; line < lines; ++line) {
    const int64_t outer = line / step, inner = line % step;
    auto at = [&](int64_t i) {
      return x.data[(outer * size + i) * step + inner];
    };
    auto isLess = [](double a, double b) {
      return a < b || (std::isnan(b) && !std::isnan(a));
    };
    SmallVector<int64_t> order(size);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
      return largest ? isLess(at(j), at(i)) : isLess(at(i), at(j));
    });
    for (int64_t i = 0; i < k; ++i) {
      const int64_t to = (outer * k + i) * step + inner;
      values->data[to] = at(order[i]);
      indices->data[to] = double(order[i]);
    }
  }
  return Outcome::Done;
}

static Outcome trilu(Call &call) {
  auto op = cast<TriluOp>(call.op);
  dist::DimsAttr bounds = op.getBoundsAttr();
  if (!bounds)
    return Outcome::Unknown;
  std::optional<int64_t> diagonal = call.sizes.of(bounds.getValues()[0]);
  Tensor y = call.operand(0);
  if (!diagonal || y.rank() < 2)
    return Outcome::Unfit;
  const int64_t columns = y.shape.back(), rows = y.shape[y.rank() - 2];
  for (int64_t i = 0; i < y.size(); ++i) {
    const int64_t place = i % columns - i / columns % rows;
    if (op.getUpper() ? place < *diagonal : place > *diagonal)
      y.data[i] = 0;
  }
  return call.finish(std::move(y));
}

void addIndexing(Evaluators &all) {
  all.add<GatherOp>(gather);
  all.add<GatherElementsOp>(gatherElements);
  all.add<GatherNDOp>(gatherND);
  all.add<ScatterElementsOp>(scatterElements);
  all.add<ScatterNDOp>(scatterND);
  all.add<TopKOp>(topK);
  all.add<TriluOp>(trilu);
}

} // namespace shardc::onnx::evaluate
