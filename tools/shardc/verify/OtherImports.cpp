//===- OtherImports.cpp - One rank against what was not imported alike ----===//

#include "runtime/base/Message.h"
#include "tools/shardc/verify/OnnxRuntime.h"
#include "tools/shardc/verify/Verification.h"

using namespace shardc::runtime;
using Json = nlohmann::json;

namespace shardc::verifier {

tensors::Tolerance Verification::looseTolerance() {
  tensors::Tolerance loose;
  return tensors::parseTolerance(reference().session().tolerance(), loose)
             ? loose
             : tensors::kExactTolerance;
}

bool Verification::agreesInDoubles(const Request &request) {
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

Status Verification::tryRecovery() {
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
    const Result result = compareOutputs(reference().session().outputs(),
                                         requests[i].expected, outputs, loose);
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

Status Verification::tryOwnWeights() {
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

Status Verification::tryOwnTypes() {
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
    const Result result = compareOutputs(reference().session().outputs(),
                                         requests[i].expected, outputs, loose);
    say(requests[i].name);
    tell(i, "own_types", result);
    if (!result.agrees)
      return differs(requests[i].name + ": --compute " + options.plan.compute +
                     " computes something else than the model: leave it out");
  }
  return Status::ok();
}

Status Verification::tryOnnxRuntime() {
  std::vector<ForeignResult> results;
  SHARDC_RETURN_IF_ERROR(
      runOnnxRuntime(options.plan.model, options.python, requests,
                     reference().session().outputs(), results));
  say("one rank, against onnxruntime");
  const tensors::Tolerance loose = looseTolerance();
  size_t compared = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    if (!results[i].refusal.empty()) {
      say("  note: it refuses " + requests[i].name + ": " + results[i].refusal);
      report["requests"][i]["onnxruntime"] = {{"refusal", results[i].refusal}};
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

} // namespace shardc::verifier
