//===- Pipeline.cpp - The pass list ---------------------------------------===//

#include "compiler/Pipeline.h"

#include "compiler/FitKeyParts.h"
#include "dialects/onnx/Onnx.h"
#include "dialects/rt/Rt.h"
#include "passes/import/Passes.h"
#include "passes/lower/Passes.h"
#include "passes/partition/Passes.h"
#include "passes/shard/Passes.h"
#include "passes/stage/Passes.h"
#include "passes/verify/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace shardc {

static lower::OverlapCollectivesOptions
overlapOptions(const PipelineOptions &options) {
  lower::OverlapCollectivesOptions made;
  made.parts = options.overlap;
  made.target = options.target;
  made.planSizes.assign(options.planSizes.begin(), options.planSizes.end());
  made.machine = options.machine;
  return made;
}

std::unique_ptr<Pass> createShardings(const PipelineOptions &options) {
  shard::PropagateShardingsOptions shardings;
  shardings.sequenceParallel = options.sequenceParallel;
  shardings.microBatches = options.microBatches;
  shardings.contextMode = options.contextMode;
  shardings.expertMode = options.expertMode;
  shardings.machine = options.machine;
  shardings.plan = options.plan;
  shardings.planName = options.planName;
  shardings.pins.assign(options.pins.begin(), options.pins.end());
  shardings.keepPlan = options.keepsPlan;
  shardings.alternativesOf = options.alternativesOf;
  shardings.alternativeSizes.assign(options.alternativeSizes.begin(),
                                    options.alternativeSizes.end());
  shardings.predicts = options.predicts;
  shardings.annotations = options.annotations;
  shardings.planSizes.assign(options.planSizes.begin(),
                             options.planSizes.end());
  return shard::createPropagateShardings(std::move(shardings));
}

std::vector<std::string> sizeTexts(const llvm::StringMap<int64_t> &sizes) {
  std::vector<std::string> text;
  for (const auto &entry : sizes)
    text.push_back((entry.getKey() + "=" + Twine(entry.getValue())).str());
  llvm::sort(text);
  return text;
}

/// Functions for other ways to broadcast are for models that are soon compiled.
constexpr unsigned kMaxBroadcastOps = 1024;

void buildPhase(OpPassManager &passes, StringRef phase,
                const PipelineOptions &options) {
  if (phase == "imported") {
    if (options.page > 0 || options.growsCaches)
      passes.addPass(import::createGrowWindowedCaches());
    passes.addPass(import::createSpecializeBranches());
    passes.addPass(import::createInferShapes({kMaxBroadcastOps}));
    passes.addPass(import::createCaptureOperands());
    passes.addPass(import::createFoldIndexing());
    passes.addPass(import::createFoldLayout());
    if (options.recover) {
      passes.addPass(import::createRecoverNormalizations());
      passes.addPass(import::createRecoverActivations());
      passes.addPass(import::createRecoverRotary());
      passes.addPass(import::createRecoverAttention());
      passes.addPass(import::createRecoverMixtureOfExperts());
      if (options.readsStored)
        passes.addPass(import::createRecoverWeights());
    }
    passes.addPass(import::createRecoverCaches());
    passes.addPass(import::createNarrowCaches());
    if (options.page > 0) {
      passes.addPass(import::createBatchRows({options.page}));
      if (!options.kvType.empty())
        passes.addPass(import::createQuantizePages({options.kvType}));
      // Merging what parts of the keys have seen is adding up.
      if (!options.bitwise)
        passes.addPass(import::createSplitKeys(
            keyRanks(options.mesh, options.expertMode), fitKeyParts(options)));
    } else if (options.splitsSteps) {
      passes.addPass(import::createSpecializeSteps());
    }
    if (!options.weightsType.empty())
      passes.addPass(import::createQuantizeWeights(
          {options.weightsType, options.weightsGroup,
           options.castsWeights || options.doubles ||
               options.compute == "bf16"}));
    if (!options.compute.empty())
      passes.addPass(import::createRoundProducts({options.compute}));
    if (options.doubles)
      passes.addPass(import::createWidenFloats());
    if (options.bitwise) {
      passes.addPass(import::createKeepChoicesApart());
      passes.addPass(import::createKeepSumsWhole());
    }
    passes.addPass(verify::createFingerprint());
  } else if (phase == "sharded") {
    passes.addPass(createShardings(options));
  } else if (phase == "staged") {
    passes.addPass(stage::createCutStages({options.annotations, options.plan,
                                           options.planName, options.keepsPlan,
                                           options.machine}));
    stage::ScatterTransfersOptions transfers;
    transfers.machine = options.machine;
    transfers.planSizes.assign(options.planSizes.begin(),
                               options.planSizes.end());
    passes.addPass(stage::createScatterTransfers(std::move(transfers)));
  } else if (phase == "partitioned") {
    passes.addPass(partition::createPartition());
    passes.addPass(partition::createScatterSums());
    passes.addPass(partition::createDispatchTokens());
    passes.addPass(partition::createMoveGathers());
    passes.addPass(partition::createMergeCollectives());
  } else if (phase == "lowered") {
    passes.addPass(lower::createBindSizes());
    passes.addPass(lower::createLower({options.target}));
    if (options.generatesKernels)
      passes.addPass(lower::createFuseRows({options.target}));
    // A host arranges each matrix for itself when it is loaded.
    if (options.target != "host")
      passes.addPass(lower::createMergeProducts());
    passes.addPass(lower::createScheduleGathers());
    passes.addPass(lower::createOverlapCollectives(overlapOptions(options)));
  }
  passes.addPass(verify::createVerifyPhase({phase.str()}));
}

void registerShardcPasses() {
  import::registerShardcImportPasses();
  shard::registerShardcShardPasses();
  stage::registerShardcStagePasses();
  partition::registerShardcPartitionPasses();
  lower::registerShardcLowerPasses();
  verify::registerShardcVerifyPasses();
  for (StringRef last : kPhases)
    PassPipelineRegistration<>(("shardc-to-" + last).str(),
                               ("Everything up to phase " + last).str(),
                               [last](OpPassManager &passes) {
                                 for (StringRef phase : kPhases) {
                                   buildPhase(passes, phase);
                                   if (phase == last)
                                     return;
                                 }
                               });
}

void registerShardcDialects(DialectRegistry &registry) {
  registry.insert<arith::ArithDialect, math::MathDialect, func::FuncDialect,
                  dist::DistDialect, onnx::OnnxDialect, rt::RtDialect>();
}

void prepareContext(MLIRContext &context) {
  DialectRegistry registry;
  registerShardcDialects(registry);
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  context.printOpOnDiagnostic(false);
}

} // namespace shardc
