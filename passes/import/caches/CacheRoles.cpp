#include "passes/import/caches/CacheRoles.h"

#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Source.h"

using namespace mlir;

namespace shardc::import {
namespace {

/// A layer has fewer ops between two weights.
constexpr unsigned kMaxPath = 16;

bool isLayout(Operation *op) {
  return isa_and_nonnull<onnx::TransposeOp, onnx::ReshapeOp>(op);
}

/// The operand that reads the elements of `value`, if there is one only.
OpOperand *onlyReader(Value value) {
  while (isLayout(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  OpOperand *reader = nullptr;
  SmallVector<Value, 4> arranged{value};
  while (!arranged.empty())
    for (OpOperand &use : arranged.pop_back_val().getUses()) {
      if (use.getOwner()->hasTrait<OpTrait::IsTerminator>())
        continue;
      if (isLayout(use.getOwner()))
        arranged.push_back(use.getOwner()->getResult(0));
      else if (reader)
        return nullptr;
      else
        reader = &use;
    }
  return reader;
}

} // namespace

std::optional<Role> roleOf(Value value) {
  Role role;
  while (role.path.size() < kMaxPath) {
    OpOperand *reader = onlyReader(value);
    if (!reader)
      return std::nullopt;
    Operation *op = reader->getOwner();
    role.path.emplace_back(op->getName().getStringRef(),
                           reader->getOperandNumber());
    for (Value operand : op->getOperands())
      if (auto weight = operand.getDefiningOp<onnx::WeightOp>()) {
        role.weight = weight->getAttrDictionary();
        return role;
      }
    if (op->getNumResults() != 1)
      return std::nullopt;
    value = op->getResult(0);
  }
  return std::nullopt;
}

bool hasNoElements(Value value) {
  return llvm::any_of(dist::getDims(value.getType()),
                      [](dist::DimExpr size) { return size.isConstant(0); });
}

} // namespace shardc::import
