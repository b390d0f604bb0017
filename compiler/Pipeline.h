//===- Pipeline.h - The pass list -----------------------------------------===//
#ifndef SHARDC_COMPILER_PIPELINE_H
#define SHARDC_COMPILER_PIPELINE_H

#include "dialects/dist/algebra/Mesh.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringMap.h"

#include <array>

namespace shardc {

/// In order; the words of --to, --dump-dir and verify-phase.
inline constexpr std::array<llvm::StringLiteral, 5> kPhases = {
    "imported", "sharded", "staged", "partitioned", "lowered"};

struct PipelineOptions {
  bool recover = true; ///< else structures stay as the exporter spelled them
  /// Weights that are spelled out in integers are read as such.
  bool readsStored = true;
  bool doubles = false; ///< floats of f64, whatever the model has
  bool sequenceParallel = false;
  /// A prompt and a step of decoding get a program each: for plans that split
  /// the sequence, which a step has too little of.
  bool splitsSteps = false;
  /// Positions of a page, of a step of rows; 0 for requests.
  int64_t page = 0;
  /// Caches of a window become whole, as for such a step.
  bool growsCaches = false;
  /// What products with constant weights round to: "bf16", "int8"; or empty.
  std::string compute;
  bool bitwise = false; ///< no ranks share out a sum: the same bits in any plan
  std::string
      weightsType; ///< "int4", "int8", "fp8", "bf16"; empty: the model's
  /// Of bf16: for kernels that multiply by f32 alone.
  bool castsWeights = false;
  int64_t weightsGroup = 32; ///< features of a scale of int4 and int8
  std::string kvType; ///< of its pools: "int8", "f8"; empty for the model's own
  dist::Mesh mesh;    ///< that the keys of such a step have parts for
  /// --plan-dims as it was given: its symbols are those of the step.
  llvm::StringMap<int64_t> planDims;
  int64_t microBatches = 1;
  std::string contextMode = "ring";   ///< or "ulysses", "gather"
  std::string expertMode = "auto";    ///< or "tensor", "batch"
  std::vector<std::string> planSizes; ///< NAME=SIZE, of a typical request
  std::string plan;                   ///< JSON of one that is there
  std::string planName = "the plan";  ///< for messages
  std::vector<std::string> pins;      ///< NODE=SHARDING
  std::string annotations;            ///< JSON, see plan/Annotations.h
  bool keepsPlan = false;             ///< as dist.plan
  std::string alternativesOf;         ///< node; may be empty
  std::vector<std::string> alternativeSizes; ///< NAME=SIZE, of `predicts`, too
  bool predicts = false;                     ///< seconds, as dist.predicted
  bool generatesKernels = false; ///< else all calls are the backend's own
  std::string target = "host";
  /// Parts of a collective beside a product: "auto", "off" or a number.
  std::string overlap = "auto";
  /// Preset or text of a machine file (plan/machine/ReadMachine.h); may be empty.
  std::string machine;
};

/// Passes that bring a module of the phase before to `phase`, and its check.
void buildPhase(mlir::OpPassManager &passes, llvm::StringRef phase,
                const PipelineOptions &options = {});

/// The pass that shards by these options.
std::unique_ptr<mlir::Pass> createShardings(const PipelineOptions &options);
/// NAME=SIZE of each, in order.
std::vector<std::string> sizeTexts(const llvm::StringMap<int64_t> &sizes);

/// Registers every pass, and a pipeline --shardc-to-<phase> for each phase that
/// runs everything from the raw import on.
void registerShardcPasses();

/// Registers the dialects of the compiler.
void registerShardcDialects(mlir::DialectRegistry &registry);

/// Makes a context ready for a model: all dialects, messages without IR.
void prepareContext(mlir::MLIRContext &context);

} // namespace shardc

#endif // SHARDC_COMPILER_PIPELINE_H
