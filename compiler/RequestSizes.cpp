//===- RequestSizes.cpp - Sizes that users give ---------------------------===//

#include "compiler/RequestSizes.h"

#include "dialects/dist/Dist.h"
#include "dialects/onnx/RequestSymbols.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>

using namespace mlir;

namespace shardc {

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
  const onnx::RequestSymbols symbols = onnx::requestSymbols(imported);
  // Those that are numbers in the model are what they are.
  size_t rank = 0;
  for (func::FuncOp function : imported.getOps<func::FuncOp>())
    if (function.getNumArguments() > 0)
      rank =
          std::max(rank, dist::getDims(function.getArgumentTypes()[0]).size());
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
