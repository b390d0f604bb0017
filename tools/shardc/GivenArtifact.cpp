//===- GivenArtifact.cpp - An artifact where flags or a model are expected ===//

#include "tools/shardc/GivenArtifact.h"

#include "compiler/plan/ArtifactSource.h"
#include "compiler/plan/ReadPlanFile.h"
#include "compiler/report/ReadReport.h"
#include "passes/plan/degrees/Degrees.h"

#include "llvm/Support/FileSystem.h"

#include <nlohmann/json.hpp>

#include <filesystem>

namespace fs = std::filesystem;

namespace shardc {

namespace {

const char *wordOf(Command command) {
  switch (command) {
  case Command::Check:
    return "check ";
  case Command::Plan:
    return "plan ";
  case Command::Verify:
    return "verify ";
  case Command::Explain:
    return "explain ";
  case Command::Lint:
    return "lint ";
  case Command::Diff:
  case Command::FromHf:
  case Command::Compile:
    break;
  }
  return "";
}

/// The plan as flags; of a report that does not keep it, its degrees.
std::string planOf(const nlohmann::json &report) {
  CompileOptions options;
  const bool isKept =
      report.contains("plan") && readPlan(report["plan"], options).empty();
  if (!isKept) {
    options = {};
    for (const auto &[name, ways] : report["mesh"].items())
      if (ways.is_number_integer())
        options.mesh.axes.push_back({name, ways.get<int64_t>()});
  }
  plan::Degrees degrees = plan::degreesOf(options.mesh);
  if (!isKept)
    degrees.order.clear(); // it is not that of the names
  degrees.sequenceParallel = options.sequenceParallel;
  degrees.microBatches = options.microBatches;
  if (auto mode = plan::symbolizeContextMode(options.contextMode))
    degrees.contextMode = *mode;
  if (options.expertMode == "batch")
    degrees.expertMode = plan::ExpertMode::Batch;
  return " (" + degrees.flags() + ")";
}

/// Where the model is that it was compiled of, as a user would say it, or a word
/// for it.
std::string modelOf(const std::string &artifact, const nlohmann::json &report) {
  CompileOptions options;
  if (!readSource(artifact, report, options).empty())
    return "MODEL";
  std::error_code error;
  const std::string whole = fs::weakly_canonical(options.model, error).string(),
                    near = fs::proximate(whole, error).string();
  if (error || whole.empty() || near.empty())
    return options.model;
  return near.size() < whole.size() ? near : whole;
}

} // namespace

std::string wrongFlag(const Flags &flags, const nlohmann::json &report) {
  if (flags.given.empty())
    return "";
  const std::string &flag = flags.given.front().name;
  return flag + ": " + flags.model + " has its plan" + planOf(report) +
         "; leave " + flag + " out, or compile the model again: shardc " +
         wordOf(flags.command) + modelOf(flags.model, report) + " " + flag +
         " ...";
}

std::string wrongModel(const Flags &flags) {
  if (!llvm::sys::fs::is_directory(flags.model))
    return "";
  nlohmann::json report;
  if (!report::readReport(flags.model, report).empty())
    return ""; // something else is wrong with it
  const bool plans =
      flags.command == Command::Compile || flags.command == Command::Verify;
  return flags.model + ": is an artifact, which has its plan" + planOf(report) +
         "; expected a model: shardc " + wordOf(flags.command) +
         modelOf(flags.model, report) +
         (plans ? " --load-plan " + flags.model : "");
}

} // namespace shardc
