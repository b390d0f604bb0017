//===- RequestSymbols.cpp - What makes requests larger or smaller ---------===//

#include "dialects/onnx/RequestSymbols.h"

#include "dialects/dist/Dist.h"
#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/Profiles.h"

using namespace mlir;

namespace shardc::onnx {

static std::string symbolOf(func::FuncOp function, size_t input, size_t dim) {
  if (input >= function.getNumArguments())
    return "";
  const SmallVector<dist::DimExpr, 4> dims =
      dist::getDims(function.getArgumentTypes()[input]);
  std::optional<StringRef> symbol;
  if (dim < dims.size())
    symbol = dims[dim].asSymbol();
  return symbol ? symbol->str() : "";
}

RequestSymbols requestSymbols(ModuleOp imported) {
  RequestSymbols symbols;
  for (func::FuncOp function : imported.getOps<func::FuncOp>()) {
    if (symbols.batch.empty())
      symbols.batch = symbolOf(function, 0, 0);
    if (symbols.sequence.empty())
      symbols.sequence = symbolOf(function, 0, 1);
    for (const CacheInfo &cache : FunctionInfo(function).caches())
      if (cache.dim && symbols.past.empty())
        symbols.past = symbolOf(function, cache.input, *cache.dim);
  }
  return symbols;
}

RequestSizes requestSizes(const RequestSymbols &symbols,
                          const llvm::StringMap<int64_t> &typical) {
  RequestSizes sizes{typical, typical};
  if (symbols.past.empty())
    return sizes;
  sizes.hasSteps = typical.lookup(symbols.past) > 0;
  sizes.prompt[symbols.past] = 0;
  if (!symbols.sequence.empty())
    sizes.step[symbols.sequence] = 1;
  return sizes;
}

RequestFunctions requestFunctions(ModuleOp imported) {
  // Prompts come behind steps, which are for one size; branches for a prompt
  // come before those for what follows it.
  RequestFunctions functions;
  for (auto function : imported.getOps<func::FuncOp>())
    if (isDecode(function))
      functions.step = functions.step ? functions.step : function;
    else if (!functions.prompt || isForSizes(functions.prompt))
      functions.prompt = function;
  return functions;
}

} // namespace shardc::onnx
