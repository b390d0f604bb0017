//===- Verify.cpp - Runs a plan against one rank --------------------------===//

#include "tools/shardc/verify/Verify.h"

#include "mlir/IR/BuiltinOps.h"

#include "runtime/base/Message.h"
#include "tools/shardc/verify/Bisect.h"
#include "tools/shardc/verify/RowRequests.h"
#include "tools/shardc/verify/Verification.h"

#include <cstdio>
#include <set>

using namespace shardc::runtime;
using Json = nlohmann::json;

namespace shardc::verifier {

Status Verification::run() {
  if (!options.plan.kvType.empty())
    return argumentError("--kv-type rounds keys and values, and what is "
                         "compared here may differ in the order of sums "
                         "alone; leave it out");
  SHARDC_RETURN_IF_ERROR(buildOne());
  SHARDC_RETURN_IF_ERROR(collect());
  if (!options.programs.empty())
    return tryPrograms();
  // The plan against one rank that was imported alike, where only the order of
  // sums differs; then what both have in common against what is not.
  SHARDC_RETURN_IF_ERROR(tryPlan());
  SHARDC_RETURN_IF_ERROR(tryOwnWeights());
  SHARDC_RETURN_IF_ERROR(tryRecovery());
  SHARDC_RETURN_IF_ERROR(tryOwnTypes());
  SHARDC_RETURN_IF_ERROR(options.against.empty() ? Status::ok()
                                                 : tryOnnxRuntime());
  say(message("the plan computes what one rank computes",
              isRecovered() ? ", without recovery too" : "",
              options.plan.compute.empty() ? "" : ", and in its own types",
              options.against.empty() ? "" : ", and what onnxruntime does",
              ": ", numRanks, numRanks == 1 ? " rank, " : " ranks, ",
              requests.size(),
              requests.size() == 1 ? " request" : " requests"));
  return Status::ok();
}

CompileOptions Verification::onOneRank() const {
  CompileOptions one = options.plan;
  one.mesh = {};
  one.plan.clear();
  one.pins.clear();
  one.mesh.axes.push_back({"tp", 1});
  one.givesMesh = true;
  one.annotations = "none";
  one.topology.clear();
  one.machine.clear();
  one.planMachine.clear();
  one.hasDeviceShares = false;
  one.sequenceParallel = false;
  one.microBatches = 1;
  one.page = 0;
  if (comparesOwn) {
    one.weightsType.clear();
    one.compute.clear();
  }
  return one;
}

Status Verification::buildOne() {
  CompileOptions compiling = onOneRank();
  compiling.dims.clear();
  compiling.afterPhase = [&](llvm::StringRef phase, mlir::ModuleOp module) {
    if (phase == "imported")
      profiles = probe::describeInputs(module);
    return options.plan.afterPhase ? options.plan.afterPhase(phase, module)
                                   : ExitCode::Done;
  };
  SHARDC_RETURN_IF_ERROR(one.run(compiling));
  tolerance = options.plan.doubles
                  ? tensors::kExactTolerance
                  : tensors::planTolerance(one.session().tolerance());
  return Status::ok();
}

Status Verification::collect() {
  RequestOptions from;
  from.model = options.plan.model;
  from.inputs = options.inputs;
  from.seed = options.seed;
  // Another engine may take fewer: a past and several positions of a batch of
  // one alone, say.
  if (!options.against.empty())
    ++from.madeUp;
  SHARDC_RETURN_IF_ERROR(nameSizes(from.sizes));
  std::vector<std::string> notes;
  SHARDC_RETURN_IF_ERROR(
      collectRequests(from, profiles, one.session(), requests, notes));
  report["notes"] = notes;
  for (const std::string &note : notes)
    say("note: " + note);
  return Status::ok();
}

Status Verification::nameSizes(probe::Sizes &sizes) const {
  std::set<std::string> symbols;
  for (const probe::ModelInputs &profile : profiles)
    for (const probe::ModelInput &input : profile.inputs)
      for (dist::DimExpr size : input.dims)
        size.forEachSymbol(
            [&](llvm::StringRef name, bool) { symbols.insert(name.str()); });
  for (const auto &entry : options.plan.dims) {
    std::string name = entry.getKey().str();
    const size_t position = name == "batch" ? 0 : name == "seq" ? 1 : SIZE_MAX;
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

Status Verification::compare(Session &session, const Request &request,
                             const tensors::Tolerance &allowed,
                             Result &result) {
  std::vector<Tensor> outputs;
  SHARDC_RETURN_IF_ERROR(runRequest(session, request, outputs));
  result =
      compareOutputs(session.outputs(), outputs, request.expected, allowed);
  return Status::ok();
}

void Verification::tell(size_t index, const char *key, const Result &result) {
  for (const std::string &line : result.lines)
    say("  " + line);
  Json &entry = report["requests"][index];
  if (*key)
    entry[key] = {{"agrees", result.agrees}, {"outputs", result.outputs}};
  else
    entry.update({{"name", requests[index].name},
                  {"agrees", result.agrees},
                  {"outputs", result.outputs}});
}

Status Verification::tryPlan() {
  Build plan;
  CompileOptions compiling = options.plan;
  compiling.dims.clear();
  std::string warnings;
  const Status built = plan.run(compiling, &warnings);
  std::fputs(warnings.c_str(), stderr);
  SHARDC_RETURN_IF_ERROR(built);
  numRanks = plan.session().worldSize();
  report["requests"] = Json::array();
  if (options.plan.page > 0)
    return tryRows(plan.session());
  const Request *worst = nullptr;
  for (size_t i = 0; i < requests.size(); ++i) {
    Result result;
    if (Status status = compare(plan.session(), requests[i], tolerance, result);
        !status.isOk())
      return differs(requests[i].name +
                     ": one rank runs it, the plan fails: " + status.message());
    say(requests[i].name);
    tell(i, "", result);
    if (!result.agrees && !worst)
      worst = &requests[i];
  }
  return worst ? bisect(*worst, compiling) : Status::ok();
}

bool Verification::isRefusal(const Status &status) {
  const ErrorPlace &place = status.place();
  return status.code() == StatusCode::InvalidArgument && place.rank < 0 &&
         place.kernel.empty();
}

Status Verification::tryRows(Session &session) {
  constexpr char kOtherPositions[] = "the model counts other positions";
  size_t compared = 0;
  std::string refusal = "there is none";
  for (size_t i = 0; i < requests.size(); ++i) {
    say(requests[i].name);
    std::vector<Tensor> outputs;
    const StepOutputs expected(one.session().outputs(), session, requests[i]);
    if (const Status status =
            runAsRows(session, requests[i], expected, outputs);
        !status.isOk()) {
      refusal = status.message();
      if (!isRefusal(status) &&
          refusal.find(kOtherPositions) == std::string::npos)
        return differs(requests[i].name +
                       ": one rank runs it, a step of rows fails: " + refusal);
      say("  note: no step does it: " + refusal);
      report["requests"][i] = {{"name", requests[i].name},
                               {"refusal", refusal}};
      continue;
    }
    ++compared;
    const Result result =
        compareOutputs(expected.infos, outputs, expected.expected, tolerance);
    tell(i, "", result);
    if (!result.agrees)
      return differs(requests[i].name +
                     ": a step of rows computes something else than the "
                     "request");
  }
  return compared > 0 ? Status::ok()
                      : artifactError("--serve: a step of rows does none of "
                                      "the requests: ",
                                      refusal);
}

Status Verification::bisect(const Request &request, CompileOptions plan) {
  CompileOptions reference = onOneRank();
  reference.dims.clear();
  plan.microBatches = 1;
  std::optional<Difference> difference;
  if (Status status =
          findFirstDifference(reference, plan, request, tolerance, difference);
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

Status Verification::differs(const std::string &why) {
  return Status::error(StatusCode::Mismatch, why);
}

void Verification::say(const std::string &line) {
  if (!options.json)
    llvm::outs() << line << "\n";
}

int verify(const VerifyOptions &options) {
  Verification verification(options);
  const Status status = verification.run();
  if (options.json) {
    verification.report["agrees"] = status.isOk();
    const std::string text =
        verification.report.dump(1, ' ', false, Json::error_handler_t::replace);
    llvm::outs() << text << "\n";
  }
  llvm::outs().flush();
  if (!status.isOk())
    std::fprintf(stderr, "error: %s\n", status.message().c_str());
  return static_cast<int>(status.code());
}

} // namespace shardc::verifier
