//===- SizedPrograms.cpp - What runs for a typical request ----------------===//

#include "passes/shard/SizedPrograms.h"

#include "dialects/onnx/Profiles.h"
#include "dialects/onnx/RequestSymbols.h"
#include "dialects/onnx/RowSymbols.h"
#include "dialects/onnx/ops/Source.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace shardc::shard {

SizedPrograms::Owned::Owned(func::FuncOp function)
    : layers(function),
      source(
          function, [](StringRef) { return dist::kNominalSize; }, &layers),
      kernels(source.graph), names(source.names()) {}

SizedPrograms::SizedPrograms(ModuleOp imported,
                             const llvm::StringMap<int64_t> &typical,
                             int64_t batchParts) {
  const onnx::RequestSymbols symbols = onnx::requestSymbols(imported);
  llvm::StringMap<int64_t> part = typical;
  if (auto batch = part.find(symbols.batch); batch != part.end())
    batch->second = llvm::divideCeil(batch->second, batchParts);
  // Of a step of rows each replica has some of them.
  using onnx::RowSymbols;
  for (dist::DimExpr size : {RowSymbols::tokens(), RowSymbols::wanted(),
                             RowSymbols::rows(), RowSymbols::pages()})
    if (auto known = part.find(*size.asSymbol()); known != part.end())
      known->second = llvm::divideCeil(known->second, batchParts);
  onnx::RequestSizes sizes = onnx::requestSizes(symbols, part);
  const onnx::RequestFunctions functions = onnx::requestFunctions(imported);
  if (sizes.hasSteps)
    add(functions.step ? functions.step : functions.prompt,
        std::move(sizes.step));
  add(functions.prompt, std::move(sizes.prompt));
  function =
      sizes.hasSteps && functions.step ? functions.step : functions.prompt;
  for (auto weight : function.getOps<onnx::WeightOp>())
    representatives[weight.getName()] =
        cast<onnx::WeightOp>(owned.front()->layers.representative(weight))
            .getName();
}

void SizedPrograms::add(func::FuncOp function, llvm::StringMap<int64_t> sizes) {
  Owned &own = *owned.emplace_back(std::make_unique<Owned>(function));
  made.push_back({own.source.graph, own.kernels, own.names,
                  onnx::isDecode(function), plan::Sizes(std::move(sizes))});
}

} // namespace shardc::shard
