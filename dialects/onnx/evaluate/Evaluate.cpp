//===- Evaluate.cpp - What an op computes, on numbers ---------------------===//

#include "dialects/onnx/evaluate/Evaluate.h"

using namespace mlir;

namespace shardc::onnx::evaluate {

Type Call::resultElement(unsigned i) const {
  return cast<TensorType>(op->getResult(i).getType()).getElementType();
}

std::optional<Shape> Call::resultShape(unsigned i) const {
  return sizes.of(dist::getDims(op->getResult(i).getType()));
}

Tensor *Call::addResult(unsigned i) {
  std::optional<Shape> shape = resultShape(i);
  if (!shape)
    return nullptr;
  return &results.emplace_back(resultElement(i), *shape);
}

Outcome Call::finish(Tensor result) {
  result.element = resultElement(results.size());
  results.push_back(std::move(result));
  return Outcome::Done;
}

Evaluators::Evaluators() {
  addActivation(*this);
  addArithmetic(*this);
  addAttention(*this);
  addBitwise(*this);
  addCache(*this);
  addContraction(*this);
  addDynamic(*this);
  addExperts(*this);
  addIndexing(*this);
  addLayout(*this);
  addLogic(*this);
  addMath(*this);
  addNormalization(*this);
  addPages(*this);
  addQuantization(*this);
  addReduction(*this);
  addSource(*this);
  addWindows(*this);
  addMicrosoft(*this);
}

const Evaluators &Evaluators::get() {
  static const Evaluators all;
  return all;
}

Outcome evaluateOp(Call &call) {
  EvaluateOp function = Evaluators::get().find(call.op);
  if (!function)
    return Outcome::Unknown;
  Outcome outcome = function(call);
  if (outcome != Outcome::Done)
    return outcome;
  // Optional results that the op does not have.
  if (call.results.size() > call.op->getNumResults())
    call.results.truncate(call.op->getNumResults());
  for (auto [i, result] : llvm::enumerate(call.results)) {
    auto type = dyn_cast<RankedTensorType>(call.op->getResult(i).getType());
    if (type && result.element &&
        !call.sizes.bind(dist::getDims(type), result.shape))
      return Outcome::Unfit;
    store(result, call.precision);
  }
  return Outcome::Done;
}

} // namespace shardc::onnx::evaluate
