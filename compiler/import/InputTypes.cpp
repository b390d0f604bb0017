//===- InputTypes.cpp - Types of the graph's inputs -----------------------===//

#include "compiler/import/InputTypes.h"

using shardc::dist::DimExpr;

namespace shardc::importer {

InputDims::InputDims(llvm::ArrayRef<const ::onnx::ValueInfoProto *> inputs) {
  for (const auto *input : inputs)
    for (const auto &dim : input->type().tensor_type().shape().dim())
      if (!dim.dim_param().empty())
        if (std::optional<DimExpr> expr = dist::parseDimExpr(dim.dim_param()))
          if (std::optional<llvm::StringRef> name = expr->asSymbol())
            bound.insert(*name); // points into the symbol, which stays
}

DimExpr InputDims::parse(llvm::StringRef text) const {
  std::optional<DimExpr> expr = dist::parseDimExpr(text);
  if (!expr)
    return DimExpr::symbol(text);
  bool isBound = true;
  expr->forEachSymbol([&](llvm::StringRef name, bool isCoordinate) {
    isBound &= !isCoordinate && bound.contains(name);
  });
  std::optional<int64_t> constant = expr->asConstant();
  if (!isBound || (constant && *constant < 0))
    return DimExpr::symbol(text);
  return *expr;
}

llvm::SmallVector<DimExpr, 4>
InputDims::of(const ::onnx::ValueInfoProto &input) const {
  llvm::SmallVector<DimExpr, 4> dims;
  for (const auto &dim : input.type().tensor_type().shape().dim()) {
    llvm::StringRef text = llvm::StringRef(dim.dim_param()).trim();
    if (dim.has_dim_value() && dim.dim_value() >= 0)
      dims.push_back(dim.dim_value());
    else if (!text.empty() && text != "?") // "?" is how some say "anything"
      dims.push_back(parse(text));
    else
      dims.push_back(
          DimExpr::symbol(input.name() + ".dim" + std::to_string(dims.size())));
  }
  return dims;
}

} // namespace shardc::importer
