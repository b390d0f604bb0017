//===- Verification.h - The steps of shardc verify ------------------------===//
//
// What Verify.h says is done here, each step by builds of the model on one rank, by
// the plan, or without some of what import does. All of them run the same requests.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TOOLS_SHARDC_VERIFY_VERIFICATION_H
#define SHARDC_TOOLS_SHARDC_VERIFY_VERIFICATION_H

#include "compiler/probe/ModelInputs.h"
#include "tools/shardc/verify/Build.h"
#include "tools/shardc/verify/Requests.h"
#include "tools/shardc/verify/Results.h"
#include "tools/shardc/verify/Verify.h"

#include <memory>

namespace shardc::verifier {

class Verification {
public:
  explicit Verification(const VerifyOptions &options) : options(options) {}

  runtime::Status run();

  nlohmann::json report = nlohmann::json::object();

private:
  CompileOptions onOneRank() const;

  //===--- The plan against one rank (Verify.cpp) ---------------------------===//

  runtime::Status buildOne();
  runtime::Status collect();
  /// --dims by the model's own symbols; "batch" and "seq" also mean the first
  /// and second dim of the first input.
  runtime::Status nameSizes(probe::Sizes &sizes) const;

  /// Of one request; an error where the session refuses it.
  runtime::Status compare(runtime::Session &session, const Request &request,
                          const tensors::Tolerance &allowed, Result &result);

  /// Where it differs first; always an error.
  runtime::Status bisect(const Request &request, CompileOptions plan);

  /// Prints and reports how a request compares, as `key` of its entry.
  void tell(size_t index, const char *key, const Result &result);

  runtime::Status tryPlan();

  /// Of arguments, before anything ran: guards and indices that fail are the
  /// plan's, since one rank has run the request, and say where.
  static bool isRefusal(const runtime::Status &status);

  /// A step of rows against the requests that it does. One that it refuses, as
  /// one whose mask says other lengths than its caches have, is no difference.
  runtime::Status tryRows(runtime::Session &session);

  //===--- Against what was not imported alike (OtherImports.cpp) ------------===//

  /// One rank, of the model's own weights once these are what is compared.
  Build &reference() { return comparesOwn ? own : one; }

  bool isRecovered() const { return options.plan.recover; }

  /// Of results that other kernels, or another program, give: constants of the
  /// graph are rounded to its types, in double precision too.
  tensors::Tolerance looseTolerance();

  /// Whether both agree where nothing is rounded to 16 bits: the runtime's own
  /// kernels round what each op results in, others not within a row.
  bool agreesInDoubles(const Request &request);

  bool isOf16Bits() { return reference().session().tolerance() == "low"; }

  /// One rank against the graph as it was before any recovery, by the runtime's
  /// own kernels: an import that recovers the wrong thing does so on one rank
  /// and on all.
  runtime::Status tryRecovery();

  /// What --weights-type takes from the model, which is for the user to judge;
  /// from here on the model's own weights, and types, are what is compared.
  runtime::Status tryOwnWeights();

  /// What --compute rounds away: one rank against one that does without.
  runtime::Status tryOwnTypes();

  runtime::Status tryOnnxRuntime();

  //===--- Programs in place of the plan (Programs.cpp) ----------------------===//

  runtime::Status tryPrograms();
  runtime::Status tryProgram(size_t index, const std::string &text,
                             bool isAlone);
  void verdict(size_t index, const char *what, const std::string &why,
               double ofTolerance);

  static runtime::Status differs(const std::string &why);
  void say(const std::string &line);

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

} // namespace shardc::verifier

#endif // SHARDC_TOOLS_SHARDC_VERIFY_VERIFICATION_H
