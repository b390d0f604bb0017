//===- ModelInputs.cpp - What a model's inputs may hold -------------------===//

#include "compiler/probe/ModelInputs.h"

#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/Onnx.h"
#include "dialects/onnx/Profiles.h"
#include "dialects/onnx/ops/Indexing.h"
#include "dialects/onnx/ops/Layout.h"
#include "dialects/onnx/ops/Math.h"
#include "dialects/onnx/ops/Source.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace shardc::probe {

using dist::DimExpr;

namespace {

bool holdsIntegers(Value value) {
  return isa<IntegerType>(getElementTypeOrSelf(value.getType()));
}

/// Follows what is made of an input's elements.
class Flow {
public:
  explicit Flow(ModelInput &input) : input(input) {}

  void follow(Value first) {
    llvm::SmallSetVector<Value, 8> found;
    found.insert(first);
    for (size_t i = 0; i < found.size(); ++i)
      for (OpOperand &use : found[i].getUses())
        followUse(use, found);
  }

private:
  /// Ops that only move elements leave integers what they are; the angles of a
  /// rotary embedding are positions times frequencies.
  void followUse(OpOperand &use, llvm::SmallSetVector<Value, 8> &found) {
    Operation *op = use.getOwner();
    if (isa<onnx::ScatterElementsOp, onnx::ScatterNDOp>(op) &&
        use.getOperandNumber() == 1)
      return saysPlaces(use) ? addBound(op, InputKind::Place) : void();
    const bool isMoved = shifted.contains(use.get());
    if (isa<onnx::GatherOp, onnx::GatherElementsOp>(op) &&
        use.getOperandNumber() == 1 && holdsIntegers(use.get()))
      return isMoved ? void() : addBound(op, InputKind::Index);
    if (isMoved && isa<onnx::SinOp, onnx::CosOp>(op))
      return;
    if (isa<onnx::SinOp, onnx::CosOp>(op)) {
      if (input.kind == InputKind::Flag)
        input.kind = InputKind::Position;
      return;
    }
    const StringRef name = op->getName().stripDialect();
    const bool moves = llvm::is_contained(
        {"Cast", "Reshape", "Transpose", "Expand", "Slice", "Concat", "Split"},
        name);
    const bool shifts =
        (name == "Add" || name == "Gather") && holdsIntegers(use.get());
    const bool scales = !holdsIntegers(use.get()) &&
                        llvm::is_contained({"Mul", "MatMul", "Div"}, name);
    if (!moves && !scales && !shifts)
      return;
    found.insert(op->result_begin(), op->result_end());
    if (shifts || isMoved)
      shifted.insert(op->result_begin(), op->result_end());
  }

  /// One place an element: an index of several columns is none by itself.
  static bool saysPlaces(OpOperand &use) {
    return !isa<onnx::ScatterNDOp>(use.getOwner()) ||
           use.get().getDefiningOp<onnx::ConcatOp>() ||
           dist::getDims(use.get().getType()).back().isConstant(1);
  }

  /// Places are Indices of which each is another.
  void addBound(Operation *op, InputKind kind) {
    auto axis = op->getAttrOfType<IntegerAttr>("axis");
    const auto dims = dist::getDims(op->getOperand(0).getType());
    const DimExpr bound = dims[axis ? axis.getInt() : 0];
    const bool isBounded =
        input.kind == InputKind::Index || input.kind == InputKind::Place;
    input.bound = isBounded ? DimExpr::min(input.bound, bound) : bound;
    if (input.kind != InputKind::Place)
      input.kind = kind;
  }

  ModelInput &input;
  /// What is not the input's numbers any more; only places are looked for.
  llvm::SmallDenseSet<Value, 8> shifted;
};

ModelInputs describe(func::FuncOp function) {
  ModelInputs model;
  for (BlockArgument argument : function.getArguments()) {
    ModelInput &input = model.inputs.emplace_back();
    input.name =
        onnx::FunctionInfo(function).inputName(argument.getArgNumber()).str();
    input.dims = dist::getDims(argument.getType());
    if (!holdsIntegers(argument))
      continue;
    input.kind = InputKind::Flag;
    Flow(input).follow(argument);
  }
  for (auto guard : function.getOps<onnx::GuardOp>()) {
    auto lhs = guard.getLhs().getValues();
    auto rhs = guard.getRhs().getValues();
    for (auto [a, b] : llvm::zip(lhs, rhs))
      model.rules.push_back({a, b, guard.getKind().str()});
  }
  for (const onnx::Condition &condition :
       onnx::conditionsOf(onnx::FunctionInfo(function).when()))
    if (condition.value)
      model.when[condition.input.str()] = *condition.value;
  return model;
}

} // namespace

std::vector<ModelInputs> describeInputs(ModuleOp imported) {
  std::vector<ModelInputs> profiles;
  for (auto function : imported.getOps<func::FuncOp>())
    profiles.push_back(describe(function));
  return profiles;
}

} // namespace shardc::probe
