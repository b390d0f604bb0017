//===- ReadSizes.cpp - Sizes that only the data knows ---------------------===//
//
// The part of ShapeInference that makes symbols of what the data says. Where an
// op needs an integer that no input size explains, it is read on every run, as
// early as it is there; what exporters compute from it folds as usual:
//
//   %n = onnx.ReduceSum %mask              i64 []
//   onnx.ReadSizes(%n) {sizes = [n]}       n is a symbol from here on
//   %1 = onnx.Concat %n, %c96              [n, 96], known
//   onnx.Reshape(%x, %1)                   tensor<n x 96>
//
//===----------------------------------------------------------------------===//

#include "dialects/dist/NodeName.h"
#include "dialects/onnx/Onnx.h"
#include "dialects/onnx/ops/Dynamic.h"

using namespace mlir;

namespace shardc::onnx {

using dist::DimExpr;

static bool isSmallInteger(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!type || !isa<IntegerType>(type.getElementType()))
    return false;
  std::optional<SmallVector<int64_t, 4>> shape =
      asConstants(dist::getDims(type));
  return shape && numElements(*shape) <= ShapeInference::kMaxKnownElements;
}

std::optional<SmallVector<DimExpr, 4>>
ShapeInference::knownOrReadDims(Operation *op, unsigned index) {
  if (auto dims = knownDims(op, index))
    return dims;
  if (!isPresent(op, index))
    return std::nullopt;
  evaluateFromData(op->getOpOperand(index));
  return knownDims(op, index);
}

/// Producers come before what reads them; a stack of its own, since chains of
/// them may be long.
void ShapeInference::evaluateFromData(OpOperand &operand) {
  auto isKnowable = [&](Value value) {
    return known(value) || isSmallInteger(value) || !isPresent(value);
  };
  auto foldable = [&](Value value) -> Operation * {
    Operation *producer = value.getDefiningOp();
    return producer && producer->hasTrait<FoldsKnown>() &&
                   llvm::all_of(producer->getOperands(), isKnowable)
               ? producer
               : nullptr;
  };
  SmallVector<std::pair<Value, unsigned>> open; ///< and the operand to look at
  auto push = [&](Value value) {
    if (!known(value) && isSmallInteger(value))
      open.emplace_back(value, 0);
  };
  push(operand.get());
  while (!open.empty()) {
    auto &[value, next] = open.back();
    Operation *producer = foldable(value);
    if (producer && next < producer->getNumOperands()) {
      Value earlier = producer->getOperand(next++);
      if (isPresent(earlier))
        push(earlier);
      continue;
    }
    Value done = open.pop_back_val().first;
    if (!producer ||
        (succeeded(cast<OnnxOp>(producer).inferTypes(*this)) && !known(done)))
      read(done);
  }
}

DimExpr ShapeInference::readSize(Value value) {
  assert(isSmallInteger(value) && "nothing else can be read");
  if (!known(value))
    read(value);
  return known(value)->asDims()->front();
}

void ShapeInference::read(Value value) {
  Operation *producer = value.getDefiningOp();
  OpBuilder::InsertionGuard guard(builder);
  // A body that may not run reads what it needs itself.
  if (scope && scope->isOutside(value))
    builder.setInsertionPoint(current);
  else
    builder.setInsertionPointAfterValue(value);
  StringRef base = nodeName(value.getLoc(),
                            producer ? producer->getName().stripDialect() : "");
  KnownValue result{element(value), *asConstants(dims(value)), {}};
  SmallVector<DimExpr, 4> sizes;
  for (int64_t i = 0, e = numElements(result.shape); i < e; ++i) {
    sizes.push_back(DimExpr::symbol(newSymbol(base)));
    result.elements.push_back(sizes.back());
  }
  ReadSizesOp::create(builder, value.getLoc(), value,
                      dist::DimsAttr::get(builder.getContext(), sizes));
  setKnown(value, std::move(result));
}

DimExpr ShapeInference::newSize(Location loc) {
  return DimExpr::symbol(newSymbol(nodeName(loc, "size")));
}

bool ShapeInference::isReadSince(StringRef symbol, unsigned first) const {
  auto [base, number] = symbol.rsplit(':');
  unsigned index = 0;
  return readSymbols.contains(base) && !number.getAsInteger(10, index) &&
         index >= first;
}

std::string ShapeInference::newSymbol(StringRef base) {
  // Numbers say the order of reads. No size of an input has a ':' with one
  // behind it; if one has, the program's writer finds the symbol bound twice.
  unsigned number = readSymbols[""]++;
  readSymbols[base] = number + 1;
  return (base + ":" + Twine(number)).str();
}

} // namespace shardc::onnx
