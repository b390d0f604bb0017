//===- Check.cpp - What a model needs before it compiles ------------------===//

#include "compiler/check/Check.h"

#include "compiler/Pipeline.h"
#include "compiler/check/Findings.h"
#include "compiler/import/Import.h"
#include "compiler/import/Unsupported.h"
#include "dialects/dist/Dist.h"
#include "dialects/dist/NodeName.h"
#include "dialects/onnx/FunctionInfo.h"
#include "dialects/onnx/Onnx.h"
#include "dialects/onnx/ops/Source.h"
#include "dialects/onnx/ops/microsoft/Attention.h"
#include "passes/import/Passes.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace shardc {

using namespace check;

namespace {

class Checker {
public:
  explicit Checker(StringRef model)
      : context(MLIRContext::Threading::DISABLED) {
    findings.model = model.str();
    prepareContext(context);
    context.getDiagEngine().registerHandler([this](Diagnostic &diagnostic) {
      record(diagnostic);
      return success();
    });
  }

  Findings run() {
    importer::Unsupported unsupported;
    OwningOpRef<ModuleOp> raw =
        importer::importOnnx(context, findings.model, &unsupported);
    for (const importer::Unsupported::Entry &entry : unsupported.entries())
      addMissing(entry);
    if (!raw)
      return std::move(findings);
    describe(*raw);
    noteWeights(*raw, findings);
    OwningOpRef<ModuleOp> imported;
    if (findings.compiles())
      imported = compile(*raw);
    noteBatch(*raw, imported ? *imported : ModuleOp(), findings);
    if (!imported)
      inferEverything(*raw);
    return std::move(findings);
  }

private:
  void record(Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Remark)
      return;
    std::vector<std::string> notes;
    for (Diagnostic &note : diagnostic.getNotes())
      notes.push_back(note.str());
    std::string node = nodeName(diagnostic.getLocation()).str();
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      findings.problems.push_back({node, diagnostic.str(), notes});
    else
      findings.notes.push_back({"warning", diagnostic.str(), "", {node}});
  }

  void addMissing(const importer::Unsupported::Entry &entry) {
    Missing missing{entry.kind.str(), entry.what, entry.remedy.str(), {}};
    for (NameLoc node : entry.nodes)
      missing.nodes.push_back(node.getName().str());
    findings.missing.push_back(std::move(missing));
  }

  void describe(ModuleOp raw) {
    findings.opset = *onnx::modelInfo(raw).opset;
    raw.walk([&](onnx::OnnxOp op) {
      if (!isa<onnx::WeightOp, onnx::ConstantOp>(op))
        ++findings.operators[op->getName().stripDialect().str()];
    });
    for (const Missing &missing : findings.missing)
      if (missing.kind == "operator")
        findings.operators[missing.what] += missing.nodes.size();
  }

  /// Phase imported, if all phases succeed.
  OwningOpRef<ModuleOp> compile(ModuleOp raw) {
    OwningOpRef<ModuleOp> module(raw.clone()), imported;
    for (StringRef phase : kPhases) {
      if (phase == "sharded") {
        OpBuilder builder((*module)->getRegion(0));
        dist::Mesh mesh;
        mesh.axes.push_back({"tp", 1});
        dist::MeshOp::create(builder, module->getLoc(), "mesh",
                             dist::MeshAttr::get(&context, mesh));
      }
      PassManager passes(&context);
      passes.enableVerifier(false); // verify-phase follows
      buildPhase(passes, phase);
      if (failed(passes.run(*module)) || failed(mlir::verify(*module)))
        return {};
      if (phase == "imported") {
        noteStructures(*module, findings);
        noteControlFlow(*module, findings);
        OwningOpRef<ModuleOp> grown = withWholeCaches(raw);
        noteRows(grown ? *grown : *module, findings);
        imported = module->clone();
      }
    }
    return imported;
  }

  /// Phase imported as steps of rows have it, if it has caches of a window.
  OwningOpRef<ModuleOp> withWholeCaches(ModuleOp raw) {
    bool isWindowed = false;
    raw.walk([&](onnx::MicrosoftGroupQueryAttentionOp op) {
      isWindowed |= op.getSlidingWindowCache() != 0;
    });
    if (!isWindowed)
      return {};
    ScopedDiagnosticHandler silent(&context,
                                   [](Diagnostic &) { return success(); });
    OwningOpRef<ModuleOp> module(raw.clone());
    PassManager passes(&context);
    passes.enableVerifier(false); // verify-phase follows
    PipelineOptions options;
    options.growsCaches = true;
    buildPhase(passes, "imported", options);
    return succeeded(passes.run(*module)) ? std::move(module)
                                          : OwningOpRef<ModuleOp>();
  }

  /// All errors of inference, in place of the first one.
  void inferEverything(ModuleOp raw) {
    std::vector<Problem> first = std::move(findings.problems);
    findings.problems.clear();
    PassManager passes(&context);
    passes.enableVerifier(false); // values may lack types
    passes.addPass(import::createSpecializeBranches());
    if (succeeded(passes.run(raw)))
      inferAll(raw);
    if (findings.problems.empty())
      findings.problems = std::move(first);
  }

  MLIRContext context;
  Findings findings;
};

} // namespace

ExitCode checkModel(StringRef model, bool asJson, llvm::raw_ostream &output) {
  Findings findings = Checker(model).run();
  (asJson ? printJson : printText)(findings, output);
  return findings.compiles() ? ExitCode::Done : ExitCode::Model;
}

} // namespace shardc
