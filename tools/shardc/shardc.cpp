//===- shardc.cpp - The compiler's command --------------------------------===//

#include "compiler/Compile.h"
#include "compiler/FlagFile.h"
#include "compiler/check/Check.h"
#include "compiler/files/OutputFile.h"
#include "compiler/files/ScratchFolder.h"
#include "compiler/plan/ArtifactSource.h"
#include "compiler/plan/HtmlReport.h"
#include "compiler/plan/PlanTable.h"
#include "compiler/plan/ReadPlanFile.h"
#include "compiler/report/Diff.h"
#include "compiler/report/Explain.h"
#include "compiler/report/ExplainNode.h"
#include "compiler/report/Lint.h"
#include "compiler/report/ReadReport.h"
#include "tools/shardc/Flags.h"
#include "tools/shardc/GivenArtifact.h"
#include "tools/shardc/Progress.h"
#include "tools/shardc/from_hf/FromHf.h"
#include "tools/shardc/verify/Verify.h"

#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"

#include <nlohmann/json.hpp>

#include <csignal>
#include <unistd.h>

using namespace shardc;

static llvm::SmallVector<int64_t, 2>
toVector(const std::vector<int64_t> &list) {
  return llvm::SmallVector<int64_t, 2>(list.begin(), list.end());
}

static CompileOptions compileOptions(const Flags &flags) {
  CompileOptions options;
  options.model = flags.model;
  options.output = flags.output;
  options.from = flags.from;
  options.to = flags.to == "packaged" ? "" : flags.to;
  options.dumpDir = flags.dumpDir;
  options.explain = flags.explain;
  options.explainJson = flags.explainJson;
  options.reproducer = flags.reproducer;
  options.topology = flags.topology;
  options.recover = !flags.noRecovery;
  options.copyWeights = flags.weights == "copy";
  options.target = flags.target;
  options.overlap = flags.overlap;
  options.doubles = flags.precision == "f64";
  options.compute = flags.compute == "model" ? "" : flags.compute;
  options.bitwise = flags.bitwise;
  options.page = flags.page;
  options.weightsType = flags.weightsType;
  options.weightsGroup = flags.weightsGroup;
  options.kvType = flags.kvType;
  options.generatesKernels = flags.kernels == "generated";
  options.sequenceParallel = flags.sequenceParallel;
  options.microBatches = flags.microBatches;
  options.contextMode = flags.contextMode;
  options.expertMode = flags.expertMode;
  options.savePlan = flags.savePlan;
  options.pins = flags.pins;
  options.emit = flags.emit;
  options.collectives = flags.collectives;
  options.annotations = flags.annotations;
  options.givesMesh = flags.givesDegrees;
  for (const AxisFlags &axis : flags.axes)
    options.mesh.axes.push_back({axis.name, axis.ways, toVector(axis.shares)});
  options.hasDeviceShares = flags.hasDeviceShares;
  for (const auto &[name, size] : flags.dims)
    options.dims[name] = size;
  for (const auto &[name, size] : flags.planDims)
    options.planDims[name] = size;
  return options;
}

/// Shows what is done while a function runs.
template <typename Run>
static int withProgress(const Flags &flags, CompileOptions &options, Run run) {
  const ProgressKind kind = progressKind(flags.noProgress);
  if (kind != ProgressKind::None)
    options.progress = Progress(kind);
  const int status = run();
  if (options.progress)
    options.progress("", std::nullopt);
  return status;
}

/// What --load-plan says takes the place of what flags would say.
static ExitCode loadPlan(const Flags &flags, CompileOptions &options) {
  if (flags.loadPlan.empty())
    return ExitCode::Done;
  const std::string problem = readPlanFile(flags.loadPlan, options);
  if (problem.empty())
    return ExitCode::Done;
  llvm::errs() << "error: --load-plan " << flags.loadPlan << ": " << problem
               << "\n";
  return ExitCode::Flags;
}

static int runVerify(const Flags &flags) {
  verifier::VerifyOptions options;
  options.plan = compileOptions(flags);
  if (ExitCode code = loadPlan(flags, options.plan); code != ExitCode::Done)
    return static_cast<int>(code);
  options.inputs = flags.inputs;
  options.seed = flags.seed;
  options.programs = flags.programs;
  // Programs to try are many; what they compute does not depend on this.
  if (!flags.programs.empty())
    options.plan.generatesKernels = false;
  options.trustPrograms = flags.trustPrograms;
  options.against = flags.against;
  options.python = flags.python;
  options.json = flags.json;
  return withProgress(flags, options.plan,
                      [&] { return verifier::verify(options); });
}

/// Those of a mesh whose axes have these names.
static plan::Degrees degreesOf(const CompileOptions &options) {
  plan::Degrees degrees = plan::degreesOf(options.mesh);
  degrees.sequenceParallel = options.sequenceParallel;
  degrees.microBatches = options.microBatches;
  if (auto mode = plan::symbolizeContextMode(options.contextMode))
    degrees.contextMode = *mode;
  if (options.expertMode == "batch")
    degrees.expertMode = plan::ExpertMode::Batch;
  return degrees;
}

static plan::TrainingOptions trainingOptions(const TrainingFlags &flags) {
  plan::TrainingOptions options;
  options.microBatch = flags.microBatch;
  options.recompute = flags.recompute == "full" ? plan::Recompute::Full
                      : flags.recompute == "selective"
                          ? plan::Recompute::Selective
                          : plan::Recompute::None;
  options.interleave = flags.interleave;
  options.zeroStage = flags.zeroStage;
  options.gradientBits = flags.gradientBits;
  options.writesScores = flags.attention == "unfused";
  options.hasDropout = flags.hasDropout;
  options.overlapsLayers = flags.overlapsLayers == "on";
  options.overlapsReplicas = flags.overlapsReplicas == "on";
  return options;
}

static PlanRequest planRequest(const Flags &flags) {
  PlanRequest request;
  request.model = flags.model;
  request.topology = flags.topology;
  request.fixed.numbers = flags.fixed;
  for (const AxisFlags &axis : flags.axes)
    if (!axis.shares.empty())
      request.fixed.shares[axis.name] = toVector(axis.shares);
  request.fixed.hasDeviceShares = flags.hasDeviceShares;
  request.fixed.order = flags.fixedOrder;
  auto add = [&](double weight, const std::map<std::string, int64_t> &dims) {
    RequestKind &kind = request.kinds.emplace_back();
    kind.weight = weight;
    for (const auto &[name, size] : dims)
      kind.sizes[name] = size;
  };
  for (const auto &[weight, dims] : flags.mix)
    add(weight, dims);
  if (flags.mix.empty())
    add(1, flags.dims);
  else
    request.kindsFlag = "--mix";
  request.goal = *plan::symbolizeGoal(flags.goal);
  request.page = flags.page;
  request.kvType = flags.kvType;
  request.weightsType = flags.weightsType;
  request.weightsGroup = flags.weightsGroup;
  request.bitwise = flags.bitwise;
  request.overlaps = flags.overlap != "off";
  if (auto mode = plan::symbolizeContextMode(flags.fixedContext))
    request.fixed.numbers["cp-mode"] = int64_t(*mode);
  if (flags.training.isOn)
    request.training = trainingOptions(flags.training);
  return request;
}

static ExitCode writeReport(const Flags &flags, const std::string &explanation,
                            const PlanRequest &request,
                            const PlanAnswer &answer) {
  if (flags.report.empty())
    return ExitCode::Done;
  auto write = [&](llvm::raw_ostream &file) {
    writeHtmlReport(explanation, request, answer, file);
  };
  return writeFlagFile("--report", flags.report, write, llvm::errs());
}

/// The report of what was compiled: predicted, and beside its alternatives.
static ExitCode reportCompiled(const Flags &flags,
                               const CompileOptions &options,
                               const std::string &explanation) {
  if (flags.report.empty())
    return ExitCode::Done;
  PlanRequest request = planRequest(flags);
  request.wantsLayer = true;
  request.chosen = degreesOf(options);
  PlanAnswer answer;
  const ExitCode code = planModel(request, answer, llvm::errs());
  return code == ExitCode::Done
             ? writeReport(flags, explanation, request, answer)
             : code;
}

static int runPlan(const Flags &flags) {
  PlanRequest request = planRequest(flags);
  request.wantsLayer = !flags.report.empty();
  PlanAnswer answer;
  if (ExitCode code = planModel(request, answer, llvm::errs());
      code != ExitCode::Done)
    return static_cast<int>(code);
  printPlanTable(request, answer, llvm::outs());
  if (!flags.planJson.empty()) {
    auto write = [&](llvm::raw_ostream &file) {
      printPlanJson(request, answer, file);
    };
    if (ExitCode code =
            writeFlagFile("--json", flags.planJson, write, llvm::errs());
        code != ExitCode::Done)
      return static_cast<int>(code);
  }
  if (ExitCode code = writeReport(flags, "", request, answer);
      code != ExitCode::Done)
    return static_cast<int>(code);
  return answer.remedy.empty() ? 0 : 1;
}

/// The degrees of --auto take the place of those that flags would say.
static ExitCode choosePlan(const Flags &flags, CompileOptions &options) {
  const PlanRequest request = planRequest(flags);
  PlanAnswer answer;
  if (ExitCode code = planModel(request, answer, llvm::errs());
      code != ExitCode::Done)
    return code;
  if (!answer.remedy.empty()) {
    llvm::errs() << "error: --auto: nothing fits " << flags.topology << ": "
                 << answer.remedy << "\n";
    return ExitCode::Flags;
  }
  const plan::Candidate &best = answer.candidates.front();
  llvm::errs() << "auto: " << best.degrees.flags() << ": " << best.reason
               << "\n";
  for (const auto &[name, size] : planDimsOf(request, answer))
    options.planDims[name] = size;
  options.mesh = best.degrees.mesh();
  options.givesMesh = true;
  options.sequenceParallel = best.degrees.sequenceParallel;
  options.microBatches = best.degrees.microBatches;
  options.contextMode = plan::stringify(best.degrees.contextMode).str();
  options.expertMode = plan::stringify(best.degrees.expertMode).str();
  return ExitCode::Done;
}

/// Of an artifact or a file, or of the plan that flags make of a model; else what
/// is wrong was said.
static ExitCode loadReport(const Flags &flags, nlohmann::json &report) {
  if (llvm::StringRef(flags.model).ends_with(".onnx")) {
    CompileOptions options = compileOptions(flags);
    if (ExitCode code = loadPlan(flags, options); code != ExitCode::Done)
      return code;
    std::string text;
    options.explanation = &text;
    options.alternativesOf = flags.node;
    const int status = withProgress(flags, options, [&] {
      return static_cast<int>(compile(options, llvm::outs(), llvm::errs()));
    });
    if (status == 0)
      report = nlohmann::json::parse(text);
    return static_cast<ExitCode>(status);
  }
  const std::string problem = report::readReport(flags.model, report);
  if (!problem.empty()) {
    llvm::errs() << "error: " << problem << "\n";
    return ExitCode::Artifact;
  }
  if (const std::string flag = wrongFlag(flags, report); !flag.empty()) {
    llvm::errs() << "error: " << flag << "\n";
    return ExitCode::Flags;
  }
  if (!flags.node.empty())
    addAlternatives(flags.model, flags.node, report);
  return ExitCode::Done;
}

static int runExplain(const Flags &flags) {
  nlohmann::json report;
  const ExitCode code = loadReport(flags, report);
  if (code != ExitCode::Done)
    return static_cast<int>(code);
  if (flags.node.empty()) {
    report::printExplanation(report, llvm::outs());
    return 0;
  }
  const std::string problem =
      report::printNode(report, flags.node, llvm::outs());
  if (problem.empty())
    return 0;
  llvm::errs() << "error: " << problem << "\n";
  return static_cast<int>(ExitCode::Flags);
}

static int runLint(const Flags &flags) {
  std::vector<report::Rule> rules;
  auto text = llvm::MemoryBuffer::getFile(flags.rules);
  const std::string problem =
      text ? report::parseRules((*text)->getBuffer().str(), rules)
           : "cannot be read: " + text.getError().message();
  if (!problem.empty()) {
    llvm::errs() << "error: " << flags.rules << ": " << problem << "\n";
    return static_cast<int>(ExitCode::Flags);
  }
  nlohmann::json report;
  if (ExitCode code = loadReport(flags, report); code != ExitCode::Done)
    return static_cast<int>(code);
  const std::vector<report::Violation> violations =
      report::checkRules(rules, report);
  for (const report::Violation &violation : violations)
    llvm::outs() << flags.rules << ":" << violation.line << ": "
                 << violation.rule << ": " << violation.what << "\n";
  if (violations.empty())
    llvm::outs() << rules.size() << " rules are kept\n";
  return violations.empty() ? 0 : 1;
}

static int runDiff(const Flags &flags) {
  nlohmann::json first, second;
  for (auto [path, report] :
       {std::pair(flags.model, &first), {flags.other, &second}})
    if (std::string problem = report::readReport(path, *report);
        !problem.empty()) {
      llvm::errs() << "error: " << problem << "\n";
      return static_cast<int>(ExitCode::Artifact);
    }
  return report::printDiff(first, second, llvm::outs());
}

/// Whether a command compiles what it is given.
static bool takesModel(Command command) {
  return command != Command::Explain && command != Command::Lint &&
         command != Command::Diff && command != Command::FromHf;
}

static int run(const Flags &flags) {
  if (takesModel(flags.command))
    if (const std::string problem = wrongModel(flags); !problem.empty()) {
      llvm::errs() << "error: " << problem << "\n";
      return static_cast<int>(ExitCode::Flags);
    }
  switch (flags.command) {
  case Command::Check:
    return static_cast<int>(checkModel(flags.model, flags.json, llvm::outs()));
  case Command::Verify:
    return runVerify(flags);
  case Command::Plan:
    return runPlan(flags);
  case Command::Explain:
    return runExplain(flags);
  case Command::Lint:
    return runLint(flags);
  case Command::Diff:
    return runDiff(flags);
  case Command::FromHf:
    return exportFromHf({flags.model, flags.output, flags.exporter,
                         flags.exportPrecision, flags.python});
  case Command::Compile:
    break;
  }
  CompileOptions options = compileOptions(flags);
  if (ExitCode code = loadPlan(flags, options); code != ExitCode::Done)
    return static_cast<int>(code);
  if (flags.isAutomatic)
    if (ExitCode code = choosePlan(flags, options); code != ExitCode::Done)
      return static_cast<int>(code);
  std::string explanation;
  if (!flags.report.empty())
    options.explanation = &explanation;
  CompileOptions used = options;
  options.used = &used;
  const int status = withProgress(flags, options, [&] {
    return static_cast<int>(compile(options, llvm::outs(), llvm::errs()));
  });
  return status ? status
                : static_cast<int>(reportCompiled(flags, used, explanation));
}

/// The status, but that what was to be printed was printed.
static int finish(int status) {
  (void)files::takeError(llvm::errs()); // nobody is left to tell
  std::error_code error = files::takeError(llvm::outs());
  if (!error)
    return status;
  llvm::errs() << "error: cannot write to standard output: " << error.message()
               << "\n";
  (void)files::takeError(llvm::errs());
  return status == 0 ? static_cast<int>(ExitCode::Artifact) : status;
}

int main(int argc, char **argv) {
  files::removeScratchOnSignals();
  // A closed pipe and a file that may not grow are errors of the write, like a
  // full disk.
  llvm::InitLLVM init(argc, argv, /*InstallPipeSignalExitHandler=*/false);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  Flags flags;
  if (int status = parseFlags(argc, argv, flags); status >= 0)
    return status;
  return finish(run(flags));
}
