//===- Decompositions.cpp - Does what replaces an op compute the same? ----===//

#include "passes/import/validate/Decompositions.h"

#include "dialects/onnx/ops/Dynamic.h"
#include "dialects/onnx/ops/microsoft/Microsoft.h"
#include "passes/import/validate/Sabotage.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;

namespace shardc::import {

using namespace onnx;

Decompositions::Decompositions(ShapeInference &inference, Validator &validator)
    : inference(inference), validator(validator) {
  inference.builder.setListener(this);
}

Decompositions::~Decompositions() { inference.builder.setListener(nullptr); }

/// Integers of leaves that inference knows, or reads as sizes.
void Decompositions::readKnown(Region &region) const {
  for (Value leaf : region.leaves) {
    if (const KnownValue *known = inference.known(leaf)) {
      if (auto elements = known->asDims())
        region.known[leaf] = std::move(*elements);
      continue;
    }
    for (Operation *user : leaf.getUsers())
      if (auto read = dyn_cast<ReadSizesOp>(user))
        region.known[leaf] =
            SmallVector<dist::DimExpr, 4>(read.getSizes().getValues());
  }
}

void Decompositions::notifyOperationInserted(Operation *op,
                                             OpBuilder::InsertPoint) {
  for (mlir::Region &body : op->getRegions())
    for (Block &inner : body)
      if (&inner == block)
        block = nullptr; // a new one in the place of that
  validator.insert(op);
}

void Decompositions::assume() {
  validator.assume(
      map_to_vector(inference.assumptions(), [](const Assumption &assumption) {
        return SizeGuard{assumption.lhs, assumption.rhs,
                         assumption.kind == GuardKind::Equal    ? '='
                         : assumption.kind == GuardKind::AtMost ? '<'
                                                                : '>'};
      }));
}

void Decompositions::notifyOperationReplaced(Operation *op, ValueRange values) {
  if (!isMicrosoft(op->getName().getStringRef()))
    return;
  if (op->getBlock() != block) {
    block = op->getBlock();
    validator.enter(*block);
  }
  assume();
  SmallVector<Value> used, made;
  for (auto [result, value] : llvm::zip(op->getResults(), values))
    if (!result.use_empty() && value) {
      used.push_back(result);
      made.push_back(value);
    }
  if (!hasFailed && !used.empty())
    check(used, made);
}

void Decompositions::check(ArrayRef<Value> results, ArrayRef<Value> values) {
  Operation *op = results.front().getDefiningOp();
  const StringRef name = op->getName().stripDialect();
  sabotage(values.front(), name);
  Verdict verdict = validator.verdictOnDefined(
      results, values, [&](Region &region) { readKnown(region); });
  if (verdict.kind == Verdict::Unknown) {
    ++validator.numUnknown;
    mlir::emitRemark(op->getLoc())
        << name << " was not compared with its definition: not all of that "
        << "can be evaluated on small sizes";
  }
  if (verdict.kind != Verdict::Different)
    return;
  hasFailed = true;
  InFlightDiagnostic error =
      op->emitOpError()
      << "would be replaced by ops that compute "
         "something else, as its output "
      << cast<OpResult>(results[verdict.which]).getResultNumber() << " shows";
  error.attachNote() << "with " << verdict.sizes << ", " << verdict.difference;
  error.attachNote() << "this is an error in shardc: export the model without "
                        "ONNX Runtime's optimizer, and report the node";
}

} // namespace shardc::import
