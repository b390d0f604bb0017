//===- ShardingRule.cpp - Rules that many ops share -----------------------===//

#include "dialects/onnx/Onnx.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace shardc::onnx {

using dist::DimExpr;

ShardingRule elementwiseRule(Operation *op) {
  ShardingRule rule;
  SmallVector<DimExpr, 4> resultDims =
      dist::getDims(op->getResult(0).getType());
  RuleTensor result;
  for (DimExpr size : resultDims)
    result.push_back(rule.addDim(size));
  for (Value operand : op->getOperands()) {
    SmallVector<DimExpr, 4> dims = dist::getDims(operand.getType());
    RuleTensor tensor(dims.size());
    size_t offset = resultDims.size() - dims.size();
    for (size_t d = 0; d < dims.size(); ++d)
      if (!dims[d].isConstant(1))
        tensor[d] = result[offset + d];
    rule.operands.push_back(std::move(tensor));
  }
  rule.results.assign(op->getNumResults(), result);
  return rule;
}

ShardingRule blockedAxesRule(Operation *op, ArrayRef<int64_t> axes) {
  ShardingRule rule;
  RuleTensor tensor;
  for (auto [d, size] :
       llvm::enumerate(dist::getDims(op->getOperand(0).getType())))
    tensor.push_back(
        rule.addDim(size, llvm::is_contained(axes, static_cast<int64_t>(d))
                              ? FactorClass::NeedsReplication
                              : FactorClass::PassThrough));
  rule.operands.push_back(tensor);
  for (Value operand : op->getOperands().drop_front())
    rule.operands.push_back(rule.addBlocked(dist::getDims(operand.getType())));
  rule.results.assign(op->getNumResults(), tensor);
  return rule;
}

ShardingRule replicatedRule(Operation *op) {
  ShardingRule rule;
  for (Value operand : op->getOperands())
    rule.operands.push_back(rule.addBlocked(dist::getDims(operand.getType())));
  for (Value result : op->getResults())
    rule.results.push_back(rule.addBlocked(dist::getDims(result.getType())));
  return rule;
}

namespace {

/// Builds a rule from its text, see einsumRule.
class EinsumBuilder {
public:
  EinsumBuilder(Operation *op, StringRef text) : op(op) {
    auto [left, right] = text.split("->");
    splitTensors(left, operandTexts);
    splitTensors(right, resultTexts);
    assert(operandTexts.size() >= op->getNumOperands() &&
           resultTexts.size() >= op->getNumResults() &&
           "rule for fewer tensors");
  }

  ShardingRule build() {
    for (auto [text, result] : llvm::zip(resultTexts, op->getResults()))
      rule.results.push_back(tensor(text, result, /*isResult=*/true));
    for (auto [text, operand] : llvm::zip(operandTexts, op->getOperands()))
      rule.operands.push_back(tensor(text, operand, /*isResult=*/false));
    return std::move(rule);
  }

private:
  using Words = SmallVector<StringRef, 4>;

  static void splitTensors(StringRef text, SmallVector<Words, 3> &tensors) {
    SmallVector<StringRef, 3> parts;
    text.split(parts, ',');
    for (StringRef part : parts) {
      Words &words = tensors.emplace_back();
      if (part.trim() != "()")
        llvm::SplitString(part, words);
    }
  }

  RuleTensor tensor(const Words &words, Value value, bool isResult) {
    SmallVector<DimExpr, 4> dims = dist::getDims(value.getType());
    bool hasLeading = !words.empty() && words.front() == "...";
    size_t named = words.size() - hasLeading;
    assert((hasLeading ? dims.size() >= named : dims.size() == named) &&
           "rule for another number of dims");
    size_t leading = dims.size() - named;
    RuleTensor tensor;
    for (size_t d = 0; d < leading; ++d) // counted from the last leading dim
      tensor.push_back(factor("." + std::to_string(leading - d), dims[d],
                              FactorClass::PassThrough));
    for (size_t d = leading; d < dims.size(); ++d) {
      StringRef word = words[d - leading + hasLeading];
      FactorClass factorClass =
          isResult ? FactorClass::PassThrough : FactorClass::Reduce;
      if (word.consume_front("!"))
        factorClass = FactorClass::NeedsReplication;
      tensor.push_back(word == "1" ? RuleDim::none()
                                   : factor(word, dims[d], factorClass));
    }
    return tensor;
  }

  RuleDim factor(const Twine &name, DimExpr size, FactorClass factorClass) {
    if (size.isConstant(1))
      return RuleDim::none();
    auto [it, isNew] = numbers.try_emplace(name.str(), 0);
    if (isNew)
      it->second = rule.addFactor(size, factorClass);
    if (factorClass == FactorClass::NeedsReplication)
      rule.factors[it->second].factorClass = factorClass;
    return RuleDim::factor(it->second);
  }

  Operation *op;
  ShardingRule rule;
  SmallVector<Words, 3> operandTexts, resultTexts;
  llvm::StringMap<unsigned> numbers;
};

} // namespace

ShardingRule einsumRule(Operation *op, StringRef text) {
  return EinsumBuilder(op, text).build();
}

} // namespace shardc::onnx
