#include "passes/import/rows/ReplaceSizes.h"

#include "passes/import/Matching.h"

using namespace mlir;

namespace shardc::import {

using dist::DimExpr;

static DimExpr replaced(DimExpr dim, const SizeAliases &aliases) {
  return dim.replaceSymbols([&](StringRef name) -> std::optional<DimExpr> {
    auto known = aliases.find(name);
    return known == aliases.end() ? std::nullopt
                                  : std::optional(known->getValue());
  });
}

static Type replaced(Type type, const SizeAliases &aliases) {
  if (!isa<RankedTensorType>(type) || !dist::getValueAttr(type))
    return type;
  Dims dims = dist::getDims(type);
  for (DimExpr &dim : dims)
    dim = replaced(dim, aliases);
  return dist::makeType(cast<RankedTensorType>(type).getElementType(), dims);
}

static void replaceAttributes(Operation *op, const SizeAliases &aliases) {
  for (NamedAttribute entry : llvm::to_vector(op->getAttrs()))
    if (auto sizes = dyn_cast<dist::DimsAttr>(entry.getValue())) {
      Dims values(sizes.getValues());
      for (DimExpr &value : values)
        value = replaced(value, aliases);
      op->setAttr(entry.getName(),
                  dist::DimsAttr::get(op->getContext(), values));
    }
}

void replaceSizes(func::FuncOp function, const SizeAliases &aliases) {
  for (BlockArgument argument : function.getArguments())
    argument.setType(replaced(argument.getType(), aliases));
  for (Operation &op : function.front()) {
    replaceAttributes(&op, aliases);
    for (Value result : op.getResults())
      result.setType(replaced(result.getType(), aliases));
  }
  function.setType(FunctionType::get(
      function.getContext(), function.front().getArgumentTypes(),
      function.front().getTerminator()->getOperandTypes()));
}

} // namespace shardc::import
