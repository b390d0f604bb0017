//===- Trial.cpp - One region on one set of sizes and numbers -------------===//

#include "passes/import/validate/Trial.h"

#include "dialects/onnx/ops/Attention.h"
#include "dialects/onnx/ops/Contraction.h"
#include "dialects/onnx/ops/Experts.h"
#include "dialects/onnx/ops/Normalization.h"

#include "llvm/Support/Format.h"

#include <cmath>

using namespace mlir;

namespace shardc::import {

using namespace onnx;
using evaluate::Outcome;
using evaluate::Precision;
using evaluate::Shape;
using evaluate::Sizes;
using evaluate::Tensor;

Program::Program(const Region &region) : region(region) {
  llvm::DenseMap<Value, unsigned> numbers;
  for (Value leaf : region.leaves)
    numbers[leaf] = numValues++;
  for (Operation *op : region.ops) {
    Step step{op, {}, numValues};
    for (Value operand : op->getOperands())
      step.operands.push_back(numbers.lookup(operand));
    for (Value result : op->getResults())
      numbers[result] = numValues++;
    steps.push_back(std::move(step));
  }
  for (Value value : region.old)
    old.push_back(numbers.lookup(value));
  for (Value value : region.made)
    made.push_back(numbers.lookup(value));
}

/// Nothing for what has no size, or one that is not known yet.
static std::optional<Shape> shapeOf(Value value, const Sizes &sizes) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? sizes.of(dist::getDims(type)) : std::nullopt;
}

/// Each element of a product is a sum along a dim of an operand. What the op
/// says of its multiplications is one number where all sizes are: those of the
/// model, which small sizes are no part of.
static int64_t sumsOf(Operation *op, const Sizes &sizes) {
  auto onnxOp = dyn_cast<OnnxOp>(op);
  if (!onnxOp || onnxOp.multiplyAdds().isConstant(0))
    return 0;
  int64_t longest = 1, largest = 0;
  for (Value operand : op->getOperands())
    if (std::optional<Shape> shape = shapeOf(operand, sizes))
      for (int64_t size : *shape)
        longest = std::max(longest, size);
  for (Value result : op->getResults())
    if (std::optional<Shape> shape = shapeOf(result, sizes))
      largest = std::max(largest, evaluate::countOf(*shape));
  return static_cast<int64_t>(std::min(
      2.0 * static_cast<double>(largest) * static_cast<double>(longest),
      static_cast<double>(evaluate::kMostElements)));
}

int64_t Program::workFor(const Sizes &sizes) const {
  int64_t work = 0;
  auto add = [&](Value value) {
    if (std::optional<Shape> shape = shapeOf(value, sizes))
      work += evaluate::countOf(*shape);
  };
  for (Value leaf : region.leaves)
    add(leaf);
  for (Operation *op : region.ops) {
    for (Value result : op->getResults())
      add(result);
    work += sumsOf(op, sizes);
  }
  return work;
}

Program::Uses Program::usesOf(unsigned leaf) const {
  llvm::SmallDenseSet<unsigned> reached = {leaf};
  Uses uses;
  // Spelt out, what no token chose is multiplied by 0: a bias, too, is a factor
  // then, however far behind the products.
  uses.isFactor = llvm::any_of(
      region.ops, [](Operation *op) { return isa<MixtureOfExpertsOp>(op); });
  for (const Step &step : steps) {
    bool isReached = false;
    for (auto [i, operand] : llvm::enumerate(step.operands)) {
      if (!reached.contains(operand))
        continue;
      isReached = true;
      const bool isAttention = isa<AttentionOp>(step.op);
      uses.isFactor |= isa<MatMulOp, GemmOp, MixtureOfExpertsOp>(step.op) ||
                       (isAttention && i < AttentionOperand::Mask);
      uses.isMixed |= isa<MixtureOfExpertsOp>(step.op);
      uses.isMask |= isa<SoftmaxOp>(step.op) ||
                     (isAttention && i >= AttentionOperand::Mask);
    }
    if (!isReached || isa<SoftmaxOp, AttentionOp>(step.op))
      continue;
    for (unsigned i = 0; i < step.op->getNumResults(); ++i)
      reached.insert(step.firstResult + i);
  }
  return uses;
}

Program::Result Program::run(const Sample &sample, const Sizes &given,
                             Precision precision) const {
  Sizes sizes = given;
  Result result{Outcome::Done, {}, {}, false};
  std::vector<Tensor> values(numValues);
  for (auto [i, leaf] : llvm::enumerate(region.leaves)) {
    std::optional<Tensor> tensor = sampleLeaf(leaf, i, sample, sizes);
    if (!tensor) {
      result.outcome = Outcome::Unfit;
      return result;
    }
    values[i] = std::move(*tensor);
    auto known = region.known.find(leaf);
    if (known == region.known.end() ||
        int64_t(known->second.size()) != values[i].size())
      continue;
    for (auto [to, element] : llvm::zip(values[i].data, known->second)) {
      std::optional<int64_t> number = sizes.of(element);
      if (!number) {
        result.outcome = Outcome::Unfit;
        return result;
      }
      to = double(*number);
    }
  }
  shareBytes(region.leaves,
             MutableArrayRef<Tensor>(values).take_front(region.leaves.size()));
  for (const Step &step : steps) {
    SmallVector<const Tensor *, 4> operands;
    for (unsigned operand : step.operands)
      operands.push_back(&values[operand]);
    evaluate::Call call{step.op, operands, sizes, precision, result.overflows};
    result.outcome = evaluate::evaluateOp(call);
    if (result.outcome != Outcome::Done)
      return result;
    for (auto [i, tensor] : llvm::enumerate(call.results))
      values[step.firstResult + i] = std::move(tensor);
  }
  for (unsigned number : old)
    result.old.push_back(values[number]);
  for (unsigned number : made)
    result.made.push_back(values[number]);
  return result;
}

static bool isNear(double a, double b, double distance) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b))
    return a == b;
  return std::abs(a - b) <= distance;
}

/// Largest of the finite numbers.
static double scaleOf(const Tensor &x) {
  double scale = 0;
  for (double value : x.data)
    if (std::isfinite(value))
      scale = std::max(scale, std::abs(value));
  return scale;
}

static std::string describe(const Region &region, const Tensor &x, int64_t at,
                            double was, double becomes) {
  std::string text;
  llvm::raw_string_ostream os(text);
  const Shape strides = evaluate::stridesOf(x.shape);
  os << "element [";
  for (size_t d = 0; d < strides.size(); ++d)
    os << (d ? ", " : "") << at / strides[d] % x.shape[d];
  os << "] is " << llvm::format("%.9g", was)
     << (region.isDefined ? " by the op's definition, " : " as it is spelt, ")
     << llvm::format("%.9g", becomes)
     << (region.isDefined ? " by the ops that replace it" : " as one op");
  return text;
}

std::string differenceOf(const Region &region, const Tensor &old,
                         const Tensor &made, const Tensor *finer,
                         double tolerance) {
  if (old.shape != made.shape || old.element != made.element)
    return "the dims are not the same";
  const double distance = tolerance * scaleOf(old);
  const double finerDistance = finer ? tolerance * scaleOf(*finer) : 0;
  for (int64_t i = 0; i < old.size(); ++i) {
    const double a = old.data[i], b = made.data[i];
    if (isNear(a, b, distance) ||
        (finer && isNear(finer->data[i], b, finerDistance)))
      continue;
    return describe(region, old, i, a, b);
  }
  return {};
}

} // namespace shardc::import
