//===- CompileReport.h - What a compilation says of itself ----------------===//
//
// Collected from phase to phase, as JSON: the plan, what it sends and holds
// (report/Explain.h), choices and what they were made by. --explain prints it,
// --explain-json writes it, and an artifact's manifest keeps it.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_COMPILEREPORT_H
#define SHARDC_COMPILER_COMPILEREPORT_H

#include "compiler/Compile.h"
#include "compiler/report/Explain.h"

#include <nlohmann/json.hpp>

namespace shardc {

class CompileReport {
public:
  /// What the compilation is about; of its options it has no copy.
  CompileReport(const CompileOptions &options, const report::SymbolValues &dims)
      : options(options), dims(dims) {}

  const nlohmann::json &json() const { return report; }

  //===--- By phase -------------------------------------------------------===//

  /// Why something was decided as it was.
  void addChoice(const std::string &why) { report["choices"].push_back(why); }
  /// How many products --compute is about, of phase imported.
  void addWeightsType(mlir::ModuleOp module);
  void addCompute(mlir::ModuleOp module);
  /// What --bitwise costs: the plan's collectives beside those of `without`, the
  /// explanation of the same model without it; of phase partitioned.
  void addBitwise(llvm::StringRef without);
  /// Of phase imported, the only one of which layers are known.
  void findLayers(mlir::ModuleOp module) { layers = report::layersOf(module); }
  /// Takes the plan, and what else planning left, off the module.
  void takePlan(mlir::ModuleOp module, llvm::StringRef machine,
                const report::SymbolValues &planDims);
  /// Likewise where it was cut, a part of the plan.
  void takeStages(mlir::ModuleOp module);
  /// To the file that the options name.
  ExitCode savePlan(llvm::raw_ostream &errors) const;
  /// What the plan sends, and over which links where those are known.
  void addPartitioned(mlir::ModuleOp module, const plan::Machine *machine);
  void addLowered(mlir::ModuleOp module);
  void addSeconds(double seconds) { report["compile_seconds"] = seconds; }
  /// What plan/ArtifactSource.h reads.
  void addSource(const std::string &machine);

  //===--- At the end -----------------------------------------------------===//

  /// To all that the options name.
  ExitCode tell(llvm::raw_ostream &output, llvm::raw_ostream &errors) const;

private:
  const CompileOptions &options;
  const report::SymbolValues &dims;
  nlohmann::json report = nlohmann::json::object();
  /// Of the imported module; nothing where --from begins behind it.
  std::optional<report::LayerNumbers> layers;
};

} // namespace shardc

#endif // SHARDC_COMPILER_COMPILEREPORT_H
