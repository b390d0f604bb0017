//===- PlanModel.cpp - Which degrees suit a model and a machine -----------===//

#include "compiler/plan/PlanModel.h"

#include "compiler/Diagnostics.h"
#include "compiler/Pipeline.h"
#include "compiler/import/Import.h"
#include "compiler/plan/LayerGraph.h"
#include "compiler/plan/ModelWorkload.h"
#include "passes/plan/degrees/MixPredictor.h"
#include "passes/plan/degrees/Remedy.h"
#include "passes/plan/degrees/TrainingStep.h"
#include "passes/plan/machine/ReadMachine.h"

#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

#include <nlohmann/json.hpp>

#include <chrono>

using namespace mlir;

namespace shardc {

namespace {

/// Phase imported; nothing where the model cannot be, which `errors` then says.
OwningOpRef<ModuleOp> importModel(MLIRContext &context,
                                  const PlanRequest &request) {
  OwningOpRef<ModuleOp> module = importer::importOnnx(context, request.model);
  if (!module)
    return {};
  PassManager passes(&context);
  passes.enableVerifier(false); // verify-phase follows
  PipelineOptions options;
  options.splitsSteps = true;
  options.page = request.page;
  options.kvType = request.kvType;
  options.weightsType = request.weightsType;
  options.weightsGroup = request.weightsGroup;
  options.bitwise = request.bitwise;
  buildPhase(passes, "imported", options);
  if (failed(passes.run(*module)) || failed(mlir::verify(*module)))
    return {};
  return module;
}

/// Those that are given, and one way of each other axis.
plan::Degrees fewestDegrees(const plan::FixedDegrees &fixed) {
  auto ways = [&](const char *axis) {
    auto known = fixed.numbers.find(axis);
    return known == fixed.numbers.end() ? 1 : known->second;
  };
  plan::Degrees degrees;
  degrees.dp = ways("dp");
  degrees.pp = ways("pp");
  degrees.fsdp = ways("fsdp");
  degrees.microBatches = ways("micro-batches");
  degrees.cp = ways("cp");
  degrees.ep = ways("ep");
  degrees.tp = ways("tp");
  return degrees;
}

/// Why nothing can be trained like this.
std::string whyNothing(const plan::Workload &workload,
                       const plan::Degrees &degrees) {
  const std::string why = plan::whyNotTrained(workload, degrees);
  return why.empty() ? "the machine has fewer devices than that takes" : why;
}

/// More ranks than these no mesh has.
constexpr int64_t kMostDevices = 65536;

/// Why a machine is none to plan for, or "".
std::string problemOf(const plan::Machine &machine) {
  if (machine.devices.empty())
    return "says nothing about devices; name a preset (" + plan::presetNames() +
           ") or describe a \"device\"";
  if (machine.numDevices() > kMostDevices)
    return "has " + std::to_string(machine.numDevices()) +
           " devices, expected at most " + std::to_string(kMostDevices);
  return "";
}

/// Why no request of these is one, or "".
std::string problemOf(llvm::ArrayRef<plan::Workload> kinds) {
  for (const plan::Workload &kind : kinds)
    for (const auto &[name, size] :
         {std::pair("batch", kind.batch), {"seq", kind.promptLength}})
      if (size < 1)
        return std::string(name) + "=" + std::to_string(size) +
               ": expected at least 1";
  return "";
}

/// The candidate that a report is of, and a layer under it.
void choose(const PlanRequest &request, const ModelWorkload &model,
            llvm::ArrayRef<plan::Workload> workloads, PlanAnswer &answer) {
  plan::MixPredictor predictor(workloads, answer.machine);
  if (request.chosen)
    answer.chosen =
        plan::Candidate{*request.chosen, predictor.predict(*request.chosen),
                        std::nullopt, "as asked for"};
  else if (!answer.candidates.empty())
    answer.chosen = answer.candidates.front();
  if (!answer.chosen || !request.wantsLayer)
    return;
  if (answer.chosen->forSizes)
    predictor.use(answer.chosen->degrees, *answer.chosen->forSizes);
  const plan::Predictor::Detail detail =
      predictor.detail(answer.chosen->degrees);
  answer.layer = layerGraph(model.prompt(), detail.plan, detail.seconds).dump();
}

} // namespace

ExitCode planModel(const PlanRequest &request, PlanAnswer &answer,
                   llvm::raw_ostream &errors) {
  const auto start = std::chrono::steady_clock::now();
  plan::Machine &machine = answer.machine;
  std::string text;
  std::string problem = plan::loadMachine(request.topology, text, machine);
  if (problem.empty())
    problem = problemOf(machine);
  if (!problem.empty()) {
    errors << "error: --topology " << request.topology << ": " << problem
           << "\n";
    return ExitCode::Flags;
  }
  // Beside training run whole layers (TrainingOptions).
  machine.cutsProducts = request.overlaps && !request.training;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  prepareContext(context);
  DiagnosticPrinter printer(context, errors);
  OwningOpRef<ModuleOp> module = importModel(context, request);
  if (!module)
    return ExitCode::Model;
  std::vector<RequestKind> kinds;
  for (const RequestKind &given : request.kinds) {
    kinds.push_back({{}, given.weight});
    if (std::string problem =
            resolveSizes(*module, given.sizes, kinds.back().sizes);
        !problem.empty()) {
      errors << "error: " << request.kindsFlag << " " << problem << "\n";
      return ExitCode::Flags;
    }
    if (request.page > 0) // of which prompts and steps are made
      for (const auto &size : given.sizes)
        kinds.back().sizes[size.getKey()] = size.getValue();
  }
  const ModelWorkload model(*module, kinds);
  answer.dims = model.dims;
  std::vector<plan::Workload> workloads = model.workloads().vec();
  if (request.training) {
    answer.dims.front().erase("past");
    workloads.front().training = request.training;
    workloads.front().step.reset();
  }
  if (std::string wrong = problemOf(workloads); !wrong.empty()) {
    errors << "error: " << request.kindsFlag << " " << wrong << "\n";
    return ExitCode::Flags;
  }
  answer.typicalKind = plan::typicalKind(workloads);
  answer.candidates =
      plan::rankDegrees(workloads, machine, request.goal, request.fixed);
  if (answer.candidates.empty() && request.training) {
    errors << "error: --training: "
           << whyNothing(workloads.front(), fewestDegrees(request.fixed))
           << "; change --dims batch, --micro-batch, --interleave or degrees\n";
    return ExitCode::Flags;
  }
  if (answer.candidates.empty()) {
    const std::string why = plan::MixPredictor(workloads, machine)
                                .whyNot(fewestDegrees(request.fixed));
    if (!why.empty()) {
      errors << "error: " << why << "; give fewer ways, or other "
             << request.kindsFlag << "\n";
      return ExitCode::Flags;
    }
  }
  if (answer.candidates.empty() ||
      !answer.candidates.front().prediction.fits()) {
    answer.remedy = plan::whatWouldFit(workloads, machine, request.fixed);
    if (answer.remedy.empty())
      answer.remedy = "neither more such devices nor smaller requests would do";
  }
  choose(request, model, workloads, answer);
  answer.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return ExitCode::Done;
}

} // namespace shardc
