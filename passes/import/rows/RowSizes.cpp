#include "passes/import/rows/RowSizes.h"

#include "dialects/dist/Dist.h"
#include "dialects/onnx/FunctionInfo.h"

using namespace mlir;

namespace shardc::import {

using dist::DimExpr;
using onnx::RowSymbols;

bool RowSizes::mentions(DimExpr dim, DimExpr symbol) const {
  bool found = false;
  if (auto name = symbol.asSymbol())
    dim.forEachSymbol([&](StringRef other, bool isCoordinate) {
      found |= !isCoordinate && other == *name;
    });
  return found;
}

bool RowSizes::isOfTokens(DimExpr dim) const {
  return mentions(dim, sequence) && !isOfKeys(dim);
}

bool RowSizes::isOfKeys(DimExpr dim) const {
  return mentions(dim, past) || isOfEncoder(dim);
}

bool RowSizes::isOfEncoder(DimExpr dim) const { return mentions(dim, encoder); }

std::optional<DimExpr> RowSizes::inStep(DimExpr dim, DimExpr tokens) const {
  if (isOfEncoder(dim) && (mentions(dim, past) || mentions(dim, sequence)))
    return std::nullopt;
  if (mentions(dim, past)) { // in terms of all keys
    const DimExpr all = DimExpr::symbol("keys of a row");
    dim = dim.replaceSymbols([&](StringRef name) {
      return name == past.asSymbol() ? std::optional(all - added())
                                     : std::nullopt;
    });
    if (mentions(dim, sequence) || (takesOne && !dim.exactDiv(all)))
      return std::nullopt;
    dim = dim.replaceSymbols([&](StringRef name) {
      return name == all.asSymbol() ? std::optional(keys()) : std::nullopt;
    });
  }
  return dim.replaceSymbols([&](StringRef name) -> std::optional<DimExpr> {
    if (name == sequence.asSymbol())
      return tokens;
    if (name == encoder.asSymbol())
      return encoderKeys();
    return name == batch.asSymbol() ? std::optional(DimExpr(1)) : std::nullopt;
  });
}

static InFlightDiagnostic refuse(func::FuncOp function) {
  return function.emitError("has no step of rows: ");
}

FailureOr<RowSizes> RowSizes::of(func::FuncOp function, int64_t page) {
  std::optional<RowSizes> found;
  const onnx::FunctionInfo info(function);
  for (const onnx::CacheInfo &cache : info.caches()) {
    const auto past = dist::getDims(function.getArgumentTypes()[cache.input]);
    const auto present = dist::getDims(function.getResultTypes()[cache.output]);
    const StringAttr name = info.inputName(cache.input);
    if (cache.kind != "append" || *cache.dim == 0)
      return refuse(function)
             << "the cache of " << name
             << " is not one that each step appends to behind its first dim";
    RowSizes own{past[0], present[*cache.dim] - past[*cache.dim],
                 past[*cache.dim], page};
    if (own.sequence.isConstant(1) && past[0].asSymbol()) {
      own.takesOne = true;
      own.sequence = past[0];
      own.batch = DimExpr(1);
    }
    if (!own.past.asSymbol() || !own.sequence.asSymbol())
      return refuse(function)
             << "the cache of " << name << " gets longer by "
             << own.sequence.str() << " from " << own.past.str()
             << " positions, expected two sizes of inputs, or one position "
             << "of each of a batch of any size";
    if (!own.batch.asSymbol() && !own.batch.isConstant(1))
      return refuse(function)
             << "the cache of " << name << " has " << own.batch.str()
             << " rows, expected a batch "
                "of any size, or of 1";
    if (own.batch == own.sequence || own.past == own.sequence ||
        own.past == own.batch)
      return refuse(function)
             << "the cache of " << name << " has two dims of one size";
    if (found &&
        (found->batch != own.batch || found->sequence != own.sequence ||
         found->past != own.past || found->takesOne != own.takesOne))
      return refuse(function)
             << "the cache of " << name << " has other sizes than the first";
    found = own;
  }
  if (!found)
    return refuse(function) << "it has no caches";
  return *found;
}

} // namespace shardc::import
