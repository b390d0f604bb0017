#include "tools/shardc/verify/Verify.h"

#include "mlir/IR/BuiltinOps.h"

#include "runtime/base/Message.h"
#include "tools/shardc/verify/Bisect.h"
#include "tools/shardc/verify/OnnxRuntime.h"
#include "tools/shardc/verify/Results.h"
#include "tools/shardc/verify/RowRequests.h"

#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>

using namespace shardc::runtime;
using Json = nlohmann::json;

namespace shardc::verifier {
namespace {

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

  Json report = Json::object();

private:
  CompileOptions onOneRank() const {
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

  Status buildOne() {
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

  Status collect() {
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
  Status compare(Session &session, const Request &request,
                 const tensors::Tolerance &allowed, Result &result) {
    std::vector<Tensor> outputs;
    SHARDC_RETURN_IF_ERROR(runRequest(session, request, outputs));
    result =
        compareOutputs(session.outputs(), outputs, request.expected, allowed);
    return Status::ok();
  }

  /// Prints and reports how a request compares, as `key` of its entry.
  void tell(size_t index, const char *key, const Result &result) {
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

  Status tryPlan() {
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
      if (Status status =
              compare(plan.session(), requests[i], tolerance, result);
          !status.isOk())
        return differs(
            requests[i].name +
            ": one rank runs it, the plan fails: " + status.message());
      say(requests[i].name);
      tell(i, "", result);
      if (!result.agrees && !worst)
        worst = &requests[i];
    }
    return worst ? bisect(*worst, compiling) : Status::ok();
  }

  /// Of arguments, before anything ran: guards and indices that fail are the
  /// plan's, since one rank has run the request, and say where.
  static bool isRefusal(const Status &status) {
    const ErrorPlace &place = status.place();
    return status.code() == StatusCode::InvalidArgument && place.rank < 0 &&
           place.kernel.empty();
  }

  /// A step of rows against the requests that it does. One that it refuses, as
  /// one whose mask says other lengths than its caches have, is no difference.
  Status tryRows(Session &session) {
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
          return differs(
              requests[i].name +
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

  //===--- Against what was not imported alike ----------------------------===//

  /// One rank, of the model's own weights once these are what is compared.
  Build &reference() { return comparesOwn ? own : one; }

  bool isRecovered() const { return options.plan.recover; }

  /// Of results that other kernels, or another program, give: constants of the
  /// graph are rounded to its types, in double precision too.
  tensors::Tolerance looseTolerance() {
    tensors::Tolerance loose;
    return tensors::parseTolerance(reference().session().tolerance(), loose)
               ? loose
               : tensors::kExactTolerance;
  }

  /// Whether both agree where nothing is rounded to 16 bits: the runtime's own
  /// kernels round what each op results in, others not within a row.
  bool agreesInDoubles(const Request &request) {
    CompileOptions wide = onOneRank();
    wide.dims.clear();
    wide.doubles = true;
    CompileOptions spelled = wide;
    spelled.recover = false;
    spelled.generatesKernels = false;
    if (!inDoubles) {
      inDoubles = std::make_unique<InDoubles>();
      inDoubles->isThere = inDoubles->recovered.run(wide).isOk() &&
                           inDoubles->plain.run(spelled).isOk();
    }
    tensors::Tolerance tolerance;
    std::vector<Tensor> expected, outputs;
    return inDoubles->isThere && tensors::parseTolerance("f32", tolerance) &&
           runInDoubles(inDoubles->recovered.session(), request, expected)
               .isOk() &&
           runInDoubles(inDoubles->plain.session(), request, outputs).isOk() &&
           compareOutputs(inDoubles->recovered.session().outputs(), expected,
                          outputs, tolerance)
               .agrees;
  }

  bool isOf16Bits() { return reference().session().tolerance() == "low"; }

  /// One rank against the graph as it was before any recovery, by the runtime's
  /// own kernels: an import that recovers the wrong thing does so on one rank
  /// and on all.
  Status tryRecovery() {
    if (!isRecovered())
      return Status::ok();
    CompileOptions spelled = onOneRank();
    spelled.dims.clear();
    spelled.recover = false;
    spelled.generatesKernels = false;
    Build plain;
    if (Status built = plain.run(spelled); !built.isOk()) {
      say("note: without recovery it does not compile, so recovery was not "
          "checked: " +
          built.message());
      report["notes"].push_back("without recovery: " + built.message());
      return Status::ok();
    }
    say("one rank, against the graph without recovery");
    const tensors::Tolerance loose = looseTolerance();
    for (size_t i = 0; i < requests.size(); ++i) {
      std::vector<Tensor> outputs;
      if (Status status = runRequest(plain.session(), requests[i], outputs);
          !status.isOk()) {
        const std::string why = requests[i].name +
                                ": one rank runs it, but not without "
                                "recovery: " +
                                status.message();
        if (!requests[i].isMadeUp)
          return differs(why);
        say("  note: " + why);
        report["notes"].push_back(why);
        continue;
      }
      const Result result =
          compareOutputs(reference().session().outputs(), requests[i].expected,
                         outputs, loose);
      tell(i, "without_recovery", result);
      if (!result.agrees && isOf16Bits() && agreesInDoubles(requests[i])) {
        const std::string why = requests[i].name +
                                ": it differs by rounding to 16 bits alone: in "
                                "double precision both agree";
        say("  note: " + why);
        report["notes"].push_back("without recovery: " + why);
      } else if (!result.agrees)
        return differs(requests[i].name +
                       ": what was recovered of the graph computes something "
                       "else than the graph: compile with --no-recovery, and "
                       "report the model");
    }
    return Status::ok();
  }

  /// What --weights-type takes from the model, which is for the user to judge;
  /// from here on the model's own weights, and types, are what is compared.
  Status tryOwnWeights() {
    if (options.plan.weightsType.empty())
      return Status::ok();
    comparesOwn = true;
    CompileOptions exact = onOneRank();
    exact.dims.clear();
    SHARDC_RETURN_IF_ERROR(own.run(exact));
    say("one rank, against the model with its own weights");
    for (size_t i = 0; i < requests.size(); ++i) {
      std::vector<Tensor> outputs;
      SHARDC_RETURN_IF_ERROR(runRequest(own.session(), requests[i], outputs));
      say(requests[i].name);
      Json told = Json::array();
      for (size_t o = 0; o < outputs.size(); ++o) {
        const OutputError error =
            outputError(requests[i].expected[o], outputs[o]);
        const std::string &name = own.session().outputs()[o].name;
        say("  " + errorText(o, name, error));
        told.push_back({{"name", name},
                        {"largest_error", number(error.largest)},
                        {"of_largest", number(error.ofLargest)},
                        {"rms", number(error.rms)}});
      }
      report["requests"][i]["own_weights"] = {{"outputs", std::move(told)}};
      requests[i].expected = std::move(outputs);
    }
    return Status::ok();
  }

  /// What --compute rounds away: one rank against one that does without.
  Status tryOwnTypes() {
    if (options.plan.compute.empty() || comparesOwn)
      return Status::ok();
    CompileOptions exact = onOneRank();
    exact.dims.clear();
    exact.compute.clear();
    SHARDC_RETURN_IF_ERROR(own.run(exact));
    say("one rank, against the model in its own types");
    const tensors::Tolerance loose = looseTolerance();
    for (size_t i = 0; i < requests.size(); ++i) {
      std::vector<Tensor> outputs;
      SHARDC_RETURN_IF_ERROR(runRequest(own.session(), requests[i], outputs));
      const Result result =
          compareOutputs(reference().session().outputs(), requests[i].expected,
                         outputs, loose);
      say(requests[i].name);
      tell(i, "own_types", result);
      if (!result.agrees)
        return differs(requests[i].name + ": --compute " +
                       options.plan.compute +
                       " computes something else than the model: leave it out");
    }
    return Status::ok();
  }

  Status tryOnnxRuntime() {
    std::vector<ForeignResult> results;
    SHARDC_RETURN_IF_ERROR(
        runOnnxRuntime(options.plan.model, options.python, requests,
                       reference().session().outputs(), results));
    say("one rank, against onnxruntime");
    const tensors::Tolerance loose = looseTolerance();
    size_t compared = 0;
    for (size_t i = 0; i < requests.size(); ++i) {
      if (!results[i].refusal.empty()) {
        say("  note: it refuses " + requests[i].name + ": " +
            results[i].refusal);
        report["requests"][i]["onnxruntime"] = {
            {"refusal", results[i].refusal}};
        continue;
      }
      ++compared;
      const Result result =
          compareOutputs(reference().session().outputs(), requests[i].expected,
                         results[i].outputs, loose);
      tell(i, "onnxruntime", result);
      if (!result.agrees)
        return differs(requests[i].name +
                       ": one rank computes something else than onnxruntime");
    }
    return compared > 0 ? Status::ok()
                        : artifactError("--against onnxruntime: it refuses all "
                                        "requests: ",
                                        results.front().refusal);
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
        status = compare(build.session(), request, tolerance, result);
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
      llvm::outs() << line << "\n";
  }

  const VerifyOptions &options;
  std::vector<probe::ModelInputs> profiles;
  std::vector<Request> requests;
  tensors::Tolerance tolerance;
  Build one, own;
  /// The model in double precision, on one rank, without recovery too.
  struct InDoubles {
    Build recovered, plain;
    bool isThere = false;
  };
  std::unique_ptr<InDoubles> inDoubles;
  bool comparesOwn = false; ///< and no more what --weights-type makes of them
  int numRanks = 0;
};

} // namespace

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
