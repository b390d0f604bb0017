//===- Dynamic.cpp - What NonZero and ReadSizes find ----------------------===//

#include "dialects/onnx/ops/Dynamic.h"
#include "dialects/onnx/evaluate/Evaluate.h"

using namespace mlir;

namespace shardc::onnx::evaluate {

/// rank x count; the count becomes the size of the type's symbol.
static Outcome findNonZero(Call &call) {
  const Tensor &x = call.operand(0);
  const Shape strides = stridesOf(x.shape);
  std::vector<int64_t> found;
  for (int64_t i = 0; i < x.size(); ++i)
    if (x.data[i] != 0)
      found.push_back(i);
  const int64_t rank = x.rank(), count = int64_t(found.size());
  Tensor y(call.resultElement(), {rank, count});
  for (int64_t d = 0; d < rank; ++d)
    for (int64_t i = 0; i < count; ++i)
      y.data[d * count + i] = double(found[i] / strides[d] % x.shape[d]);
  return call.finish(std::move(y));
}

static Outcome readSizes(Call &call) {
  dist::DimsAttr sizes = cast<ReadSizesOp>(call.op).getSizes();
  const Tensor &data = call.operand(0);
  if (data.size() != int64_t(sizes.getValues().size()))
    return Outcome::Unfit;
  Shape shape;
  for (double size : data.data) {
    std::optional<int64_t> number = integerOf(size);
    if (!number)
      return Outcome::Unfit;
    shape.push_back(*number);
  }
  return call.sizes.bind(sizes.getValues(), shape) ? Outcome::Done
                                                   : Outcome::Unfit;
}

void addDynamic(Evaluators &all) {
  all.add<NonZeroOp>(findNonZero);
  all.add<ReadSizesOp>(readSizes);
}

} // namespace shardc::onnx::evaluate
