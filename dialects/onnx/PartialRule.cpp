//===- PartialRule.cpp - The algebra of partial values --------------------===//

#include "dialects/onnx/ShardingRule.h"

#include "llvm/ADT/STLExtras.h"

namespace shardc::onnx {

using dist::PartialAxis;
using dist::ReduceKind;
using PartialAxes = llvm::ArrayRef<PartialAxis>;
using Result = std::optional<llvm::SmallVector<PartialAxis, 1>>;

static bool areAll(ReduceKind kind, PartialAxes axes) {
  return llvm::all_of(
      axes, [&](const PartialAxis &axis) { return axis.kind == kind; });
}

static Result same(PartialAxes axes) {
  return llvm::SmallVector<PartialAxis, 1>(axes);
}

/// Only operand `index` may be partial.
static Result only(size_t index, llvm::ArrayRef<PartialAxes> operands) {
  for (auto [i, axes] : llvm::enumerate(operands))
    if (i != index && !axes.empty())
      return std::nullopt;
  return index < operands.size() ? same(operands[index]) : same({});
}

/// All these operands are partial in the same way.
static Result equal(llvm::ArrayRef<PartialAxes> operands) {
  if (operands.empty())
    return same({});
  return llvm::all_equal(operands) ? same(operands.front()) : std::nullopt;
}

static Result onlyOfKind(ReduceKind kind, Result result) {
  return result && areAll(kind, *result) ? result : std::nullopt;
}

/// Exactly one of operands 0 and 1, or none.
static Result oneFactor(llvm::ArrayRef<PartialAxes> operands) {
  if (operands.size() < 2)
    return onlyOfKind(ReduceKind::Sum, equal(operands));
  if (!operands[0].empty() && !operands[1].empty())
    return std::nullopt;
  return onlyOfKind(ReduceKind::Sum,
                    same(operands[0].empty() ? operands[1] : operands[0]));
}

Result partialResult(PartialRule rule, llvm::ArrayRef<PartialAxes> operands) {
  if (llvm::all_of(operands, [](PartialAxes axes) { return axes.empty(); }))
    return same({});
  switch (rule) {
  case PartialRule::None:
    return std::nullopt;
  case PartialRule::Moves:
    return only(0, operands);
  case PartialRule::Linear:
    return onlyOfKind(ReduceKind::Sum, only(0, operands));
  case PartialRule::KeepsMax:
    return onlyOfKind(ReduceKind::Max, only(0, operands));
  case PartialRule::KeepsMin:
    return onlyOfKind(ReduceKind::Min, only(0, operands));
  case PartialRule::Additive:
    return onlyOfKind(ReduceKind::Sum, equal(operands));
  case PartialRule::MovesAll:
    return equal(operands);
  case PartialRule::Multilinear: {
    for (PartialAxes axes :
         operands.drop_front(std::min<size_t>(2, operands.size())))
      if (!axes.empty())
        return std::nullopt;
    return oneFactor(operands);
  }
  case PartialRule::Affine: {
    Result product = oneFactor(operands.take_front(2));
    if (!product || operands.size() < 3)
      return product;
    return PartialAxes(*product) == operands[2] ? product : std::nullopt;
  }
  case PartialRule::Branches:
    if (operands.size() != 3 || !operands[0].empty())
      return std::nullopt;
    return equal(operands.drop_front());
  }
  return std::nullopt;
}

} // namespace shardc::onnx
