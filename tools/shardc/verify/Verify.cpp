#include "tools/shardc/verify/Verify.h"

#include "mlir/IR/BuiltinOps.h"
#include "runtime/base/Message.h"
#include "tools/shardc/verify/Bisect.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>

using namespace shardc::runtime;
using Json = nlohmann::json;

namespace shardc::verifier {
namespace {

/// How the outputs of one request compare.
struct Result {
  std::vector<std::string> lines;
  Json outputs = Json::array();
  bool agrees = true;
  double ofTolerance = 0;
};

/// A non-number has no JSON.
Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

std::vector<std::string> splitPrograms(const std::string &text) {
  std::vector<std::string> programs(1);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line == "// -----")
      programs.emplace_back();
    else
      programs.back() += line + "\n";
  return programs;
}

class Verification {
public:
  explicit Verification(const VerifyOptions &options) : options(options) {}

  Status run() {
    SHARDC_RETURN_IF_ERROR(buildOne());
    SHARDC_RETURN_IF_ERROR(collect());
    return options.programs.empty() ? tryPlan() : tryPrograms();
  }

  Json report = Json::object();

private:
  CompileOptions onOneRank() const {
    CompileOptions one = options.plan;
    one.mesh = {};
    one.mesh.axes.push_back({"tp", 1});
    one.sequenceParallel = false;
    one.microBatches = 1;
    return one;
  }

  Status buildOne() {
    CompileOptions compiling = onOneRank();
    compiling.dims.clear();
    compiling.afterPhase = [this](llvm::StringRef phase,
                                  mlir::ModuleOp module) {
      if (phase == "imported")
        profiles = probe::describeInputs(module);
      return ExitCode::Done;
    };
    SHARDC_RETURN_IF_ERROR(one.run(compiling));
    tolerance = options.plan.doubles
                    ? tensors::kExactTolerance
                    : tensors::planTolerance(one.session().tolerance());
    return Status::ok();
  }

  Status collect() {
    RequestOptions from;
    from.model = options.plan.model;
    from.inputs = options.inputs;
    from.seed = options.seed;
    SHARDC_RETURN_IF_ERROR(nameSizes(from.sizes));
    std::vector<std::string> notes;
    SHARDC_RETURN_IF_ERROR(
        collectRequests(from, profiles, one.session(), requests, notes));
    report["notes"] = notes;
    for (const std::string &note : notes)
      say("note: " + note);
    return Status::ok();
  }

  /// --dims by the model's own symbols; "batch" and "seq" also mean the first
  /// and second dim of the first input.
  Status nameSizes(probe::Sizes &sizes) const {
    std::set<std::string> symbols;
    for (const probe::ModelInputs &profile : profiles)
      for (const probe::ModelInput &input : profile.inputs)
        for (dist::DimExpr size : input.dims)
          size.forEachSymbol(
              [&](llvm::StringRef name, bool) { symbols.insert(name.str()); });
    for (const auto &entry : options.plan.dims) {
      std::string name = entry.getKey().str();
      const size_t position = name == "batch" ? 0
                              : name == "seq" ? 1
                                              : SIZE_MAX;
      const auto &inputs = profiles.front().inputs;
      if (!symbols.count(name) && !inputs.empty() &&
          position < inputs.front().dims.size())
        if (auto symbol = inputs.front().dims[position].asSymbol())
          name = symbol->str();
      if (!symbols.count(name)) {
        std::string known;
        for (const std::string &symbol : symbols)
          known += " " + symbol;
        return argumentError("--dims ", name,
                             ": the model has no such size; it has",
                             known.empty() ? " none" : known);
      }
      sizes[name] = entry.getValue();
    }
    return Status::ok();
  }

  /// Of one request; an error where the session refuses it.
  Status compare(Session &session, const Request &request, Result &result) {
    std::vector<Tensor> outputs;
    SHARDC_RETURN_IF_ERROR(runRequest(session, request, outputs));
    for (size_t o = 0; o < outputs.size(); ++o) {
      const std::string &name = session.outputs()[o].name;
      const tensors::Comparison found =
          tensors::compare(outputs[o], request.expected[o], tolerance);
      result.lines.push_back(
          tensors::comparisonText(o, name, outputs[o], found));
      result.outputs.push_back({{"name", name},
                                {"agrees", found.fits},
                                {"largest_error", number(found.largestError)},
                                {"of_tolerance", number(found.ofTolerance)},
                                {"problem", found.problem}});
      result.agrees &= found.fits;
      result.ofTolerance = std::max(result.ofTolerance, found.ofTolerance);
    }
    return Status::ok();
  }

  Status tryPlan() {
    Build plan;
    CompileOptions compiling = options.plan;
    compiling.dims.clear();
    std::string warnings;
    const Status built = plan.run(compiling, &warnings);
    std::fputs(warnings.c_str(), stderr);
    SHARDC_RETURN_IF_ERROR(built);
    report["requests"] = Json::array();
    const Request *worst = nullptr;
    for (const Request &request : requests) {
      Result result;
      if (Status status = compare(plan.session(), request, result);
          !status.isOk())
        return differs(request.name + ": one rank runs it, the plan fails: " +
                       status.message());
      say(request.name);
      for (const std::string &line : result.lines)
        say("  " + line);
      report["requests"].push_back({{"name", request.name},
                                    {"agrees", result.agrees},
                                    {"outputs", result.outputs}});
      if (!result.agrees && !worst)
        worst = &request;
    }
    if (worst)
      return bisect(*worst, compiling);
    say(message("the plan computes what one rank computes: ",
                plan.session().worldSize(), " ranks, ", requests.size(),
                requests.size() == 1 ? " request" : " requests"));
    return Status::ok();
  }

  Status bisect(const Request &request, CompileOptions plan) {
    CompileOptions reference = onOneRank();
    reference.dims.clear();
    plan.microBatches = 1;
    std::optional<Difference> difference;
    if (Status status = findFirstDifference(reference, plan, request, tolerance,
                                            difference);
        !status.isOk()) {
      say("cannot look inside: " + status.message());
    } else if (difference) {
      say(differenceText(*difference));
      report["first_difference"] = {
          {"node", difference->probe.node},
          {"op", difference->probe.op},
          {"type", difference->probe.type},
          {"sharding", difference->probe.sharding},
          {"stage", difference->probe.stage},
          {"on_one_rank", difference->isComparable},
          {"largest_error", number(difference->comparison.largestError)},
          {"problem", difference->comparison.problem}};
    } else {
      say("no value in between differs: look at how outputs are put together"
          ", and at --micro-batches");
    }
    return differs(request.name +
                   ": the plan computes something else than one rank");
  }

  //===--- Programs in place of the plan ----------------------------------===//

  Status tryPrograms() {
    std::ifstream file(options.programs, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    if (!file)
      return argumentError("--programs: cannot read ", options.programs);
    const std::vector<std::string> programs = splitPrograms(text.str());
    report["programs"] = Json::array();
    Status status;
    for (size_t i = 0; i < programs.size(); ++i)
      if (Status tried = tryProgram(i, programs[i], programs.size() == 1);
          status.isOk() && !tried.isOk())
        status = tried;
    return status;
  }

  Status tryProgram(size_t index, const std::string &text, bool isAlone) {
    CompileOptions compiling;
    compiling.model = options.programs + " program " + std::to_string(index);
    compiling.text = text;
    compiling.from = "partitioned";
    compiling.trusted = options.trustPrograms;
    compiling.microBatches = options.plan.microBatches;
    Build build;
    Status status = build.run(compiling);
    if (status.code() == StatusCode::Model) {
      verdict(index, "refused", status.message(), 0);
      return isAlone ? status : Status::ok();
    }
    double ofTolerance = 0;
    for (const Request &request : requests) {
      Result result;
      if (status.isOk())
        status = compare(build.session(), request, result);
      if (!status.isOk()) {
        verdict(index, "fails", status.message(), 0);
        return differs(
            message("program ", index, " does not run: ", status.message()));
      }
      ofTolerance = std::max(ofTolerance, result.ofTolerance);
      if (result.agrees)
        continue;
      verdict(index, "differs", request.name + ": " + result.lines.front(),
              ofTolerance);
      return isAlone ? bisect(request, compiling)
                     : differs(message("program ", index, " differs"));
    }
    verdict(index, "agrees", "", ofTolerance);
    return Status::ok();
  }

  void verdict(size_t index, const char *what, const std::string &why,
               double ofTolerance) {
    say(message("program ", index, ": ", what, why.empty() ? "" : ": ", why));
    report["programs"].push_back({{"verdict", what},
                                  {"why", why},
                                  {"of_tolerance", number(ofTolerance)}});
  }

  Status differs(const std::string &why) {
    return Status::error(StatusCode::Mismatch, why);
  }

  void say(const std::string &line) {
    if (!options.json)
      std::printf("%s\n", line.c_str());
  }

  const VerifyOptions &options;
  std::vector<probe::ModelInputs> profiles;
  std::vector<Request> requests;
  tensors::Tolerance tolerance;
  Build one;
};

} // namespace

int verify(const VerifyOptions &options) {
  Verification verification(options);
  const Status status = verification.run();
  if (options.json) {
    verification.report["agrees"] = status.isOk();
    const std::string text =
        verification.report.dump(1, ' ', false, Json::error_handler_t::replace);
    std::printf("%s\n", text.c_str());
  }
  std::fflush(stdout);
  if (!status.isOk())
    std::fprintf(stderr, "error: %s\n", status.message().c_str());
  return static_cast<int>(status.code());
}

} // namespace shardc::verifier
