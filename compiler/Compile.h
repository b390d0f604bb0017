//===- Compile.h - From a model file to an artifact -----------------------===//
//
// What `shardc` does, without its flags. Long work reports progress through
// `progress`; errors go to `errors`, one line each with notes below:
//
//   error: /layer/MatMul_3: expected operands of the same type, found ...
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_COMPILE_H
#define SHARDC_COMPILER_COMPILE_H

#include "dialects/dist/algebra/Mesh.h"

#include "llvm/ADT/StringMap.h"

#include <functional>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace shardc {

/// What users see as exit status.
enum class ExitCode : int { Done = 0, Flags = 2, Model = 3, Artifact = 4 };

struct CompileOptions {
  std::string model;  ///< .onnx, or .mlir that --to printed
  std::string text;   ///< of such a .mlir, in place of its file
  std::string output; ///< artifact folder, or what `emit` says; may be empty
  std::string emit;   ///< "annotated-onnx" or "onnx" in place of an artifact
  std::string collectives = "microsoft"; ///< or "tensorrt", of "onnx"
  std::string from;                      ///< phase of a .mlir model
  bool trusted = false; ///< that model is not checked, to see what it does
  /// Phase to print instead of packaging, to `output` where that is given; may
  /// be empty.
  std::string to;
  std::string until; ///< phase to end behind, told what is known; may be empty
  std::string dumpDir;
  std::string explainJson;
  std::string *explanation = nullptr; ///< gets the text of explainJson
  std::string topology; ///< file that says how devices are linked; may be empty
  std::string machine;  ///< text of such a file, in its place
  std::string reproducer; ///< where to write what crashed the compiler
  bool explain = false;
  bool copyWeights = false;
  std::string target = "host";  ///< backend that the artifact is for
  std::string overlap = "auto"; ///< parts of a collective beside a product
  bool recover = true;          ///< make one op of what exporters spell out
  bool doubles = false; ///< compute in f64 whatever the model computes in
  bool generatesKernels = true; ///< else the backend's own kernels alone
  int64_t page = 0;        ///< positions, of a step of rows; 0 for requests
  std::string compute;     ///< see PipelineOptions
  std::string kvType;      ///< see PipelineOptions
  bool bitwise = false;    ///< see PipelineOptions
  std::string weightsType; ///< see PipelineOptions
  int64_t weightsGroup = 32;
  bool sequenceParallel = false;
  int64_t microBatches = 1;         ///< parts of a request in a pipeline
  std::string contextMode = "ring"; ///< how attention sees all keys
  std::string expertMode = "auto";  ///< what ep splits outside of experts
  dist::Mesh mesh;
  bool hasDeviceShares =
      false;              ///< its axes get shares by the topology's devices
  bool givesMesh = false; ///< it is not that of one rank for want of another
  /// Configuration of the model's own annotations: empty for the first that fits
  /// the mesh, or gives one; "none" for none.
  std::string annotations;
  std::string plan; ///< JSON of a plan that is there, in place of a search
  std::string planName = "--load-plan"; ///< what messages call it
  /// Text of the machine that the plan was made for; may be empty. What stands
  /// behind the plan is chosen for that one, whatever `topology` says.
  std::string planMachine;
  std::string savePlan;          ///< file to write the plan to; may be empty
  std::vector<std::string> pins; ///< NODE=SHARDING, see plan/Pins.h
  std::string alternativesOf;    ///< node whose other shardings are priced
  bool predicts = false;         ///< a run's seconds, for the explanation
  llvm::StringMap<int64_t> dims; ///< that --explain supposes
  llvm::StringMap<int64_t> planDims; ///< of a typical request, for choices
  /// Gets what annotations made of the mesh; may be null.
  CompileOptions *used = nullptr;
  /// Gets what is done now, "" at the end, and which part of it is done, where
  /// that is known.
  std::function<void(llvm::StringRef phase, std::optional<double> done)>
      progress;
  /// Sees the module after each phase, once that is verified, and may change
  /// it; what is not Done ends the compilation.
  std::function<ExitCode(llvm::StringRef phase, mlir::ModuleOp)> afterPhase;
};

ExitCode compile(const CompileOptions &options, llvm::raw_ostream &output,
                 llvm::raw_ostream &errors);

} // namespace shardc

#endif // SHARDC_COMPILER_COMPILE_H
