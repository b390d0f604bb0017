//===- RequestSizes.cpp - Sizes that users give ---------------------------===//

#include "compiler/RequestSizes.h"

#include "dialects/dist/Dist.h"
#include "dialects/onnx/FunctionInfo.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>

using namespace mlir;

namespace shardc {

static SmallVector<dist::DimExpr, 4> dimsOfInput(func::FuncOp function,
                                                 size_t input) {
  if (input >= function.getNumArguments())
    return {};
  return dist::getDims(function.getArgumentTypes()[input]);
}

static std::string symbolAt(ArrayRef<dist::DimExpr> dims, size_t dim) {
  std::optional<StringRef> symbol;
  if (dim < dims.size())
    symbol = dims[dim].asSymbol();
  return symbol ? symbol->str() : "";
}

RequestSymbols requestSymbols(ModuleOp imported) {
  RequestSymbols symbols;
  for (func::FuncOp function : imported.getOps<func::FuncOp>()) {
    const SmallVector<dist::DimExpr, 4> first = dimsOfInput(function, 0);
    if (symbols.batch.empty())
      symbols.batch = symbolAt(first, 0);
    if (symbols.sequence.empty())
      symbols.sequence = symbolAt(first, 1);
    for (const onnx::CacheInfo &cache : onnx::FunctionInfo(function).caches())
      if (cache.dim && symbols.past.empty())
        symbols.past = symbolAt(dimsOfInput(function, cache.input), *cache.dim);
  }
  return symbols;
}

std::string resolveSizes(ModuleOp imported,
                         const llvm::StringMap<int64_t> &given,
                         llvm::StringMap<int64_t> &resolved) {
  std::map<std::string, std::string> meant;
  for (func::FuncOp function : imported.getOps<func::FuncOp>())
    for (Type type : function.getArgumentTypes())
      for (dist::DimExpr size : dist::getDims(type))
        size.forEachSymbol(
            [&](StringRef name, bool) { meant[name.str()] = name.str(); });
  std::string names;
  for (const auto &[name, symbol] : meant)
    names += " " + name;
  const RequestSymbols symbols = requestSymbols(imported);
  // Those that are numbers in the model are what they are.
  size_t rank = 0;
  for (func::FuncOp function : imported.getOps<func::FuncOp>())
    rank = std::max(rank, dimsOfInput(function, 0).size());
  for (const auto &[name, symbol] : {std::pair("batch", symbols.batch),
                                     {"seq", symbols.sequence},
                                     {"past", symbols.past}})
    if (!symbol.empty())
      meant.try_emplace(name, symbol);
  for (const auto &entry : given) {
    const std::string name = entry.getKey().str();
    if (auto known = meant.find(name); known != meant.end())
      resolved[known->second] = entry.getValue();
    else if (!(name == "batch" && rank > 0) && !(name == "seq" && rank > 1))
      return name + ": the model has no such size; it has" +
             (names.empty() ? " none" : names);
  }
  return "";
}

} // namespace shardc
