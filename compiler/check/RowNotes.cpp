//===- RowNotes.cpp - What keeps a decoder from a step of rows ------------===//

#include "compiler/check/Findings.h"
#include "dialects/dist/NodeName.h"
#include "dialects/onnx/FunctionInfo.h"
#include "passes/import/Passes.h"
#include "passes/import/rows/StaticCaches.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace shardc::check {

/// What --serve would say, of a model that has caches to keep.
void noteRows(ModuleOp imported, Findings &findings) {
  unsigned numCaches = 0;
  for (auto function : imported.getOps<func::FuncOp>())
    numCaches += onnx::FunctionInfo(function).caches().size() +
                 import::hasStaticCaches(function);
  if (numCaches == 0)
    return;
  std::string node, why;
  ScopedDiagnosticHandler first(imported.getContext(), [&](Diagnostic &found) {
    if (why.empty()) {
      node = nodeName(found.getLocation()).str();
      why = found.str();
    }
    return success();
  });
  OwningOpRef<ModuleOp> module(imported.clone());
  PassManager passes(imported.getContext());
  passes.enableVerifier(false);
  passes.addPass(import::createBatchRows());
  const bool isThere = succeeded(passes.run(*module));
  if (isThere)
    findings.recognised["step of rows"] = 1;
  if (isThere && why.empty())
    return;
  Note note =
      isThere
          ? Note{"rows_apart",
                 "rows of --serve run apart: it " + why,
                 "each step reads all weights for one sequence",
                 {}}
          : Note{"no_rows",
                 "its rows cannot be of different lengths (--serve): it " + why,
                 "compile it for requests: sequences of different lengths run "
                 "apart",
                 {}};
  if (!node.empty())
    note.where.push_back(node);
  findings.notes.push_back(std::move(note));
}

} // namespace shardc::check
