//===- Verify.h - Runs a plan against one rank ----------------------------===//
//
// `shardc verify`: compiles the model for one rank and by the plan, runs both
// in this process on the same inputs, and compares every output. What differs
// is followed back to the first value that does. Then one rank is compared with
// one of the graph as it was before any recovery, which a wrong import cannot
// agree with by being wrong twice, and if asked with another engine.
//
//   test_data_set_0
//     output 0 'logits' [2, 8, 1024]: largest error 2e-06, 0.02 of the ...
//   one rank, against the graph without recovery
//     output 0 'logits' [2, 8, 1024]: largest error 4e-06, 0.03 of the ...
//   the plan computes what one rank computes, without recovery too: 4 ranks, ...
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TOOLS_SHARDC_VERIFY_VERIFY_H
#define SHARDC_TOOLS_SHARDC_VERIFY_VERIFY_H

#include "compiler/Compile.h"

#include <string>
#include <vector>

namespace shardc::verifier {

struct VerifyOptions {
  CompileOptions plan; ///< model, mesh, and all else that makes the plan
  std::vector<std::string> inputs;
  uint64_t seed = 0;
  /// A file of partitioned programs of the model, separated by lines `//
  /// -----`, to try in place of the plan.
  std::string programs;
  bool trustPrograms = false; ///< run them unchecked
  std::string against;        ///< "onnxruntime", or nothing more
  std::string python;         ///< that has it; may be empty (OnnxRuntime.h)
  bool json = false;
};

/// The exit status: 0 all agree, 1 something differs, 2 wrong flags or inputs,
/// 3 the model, 4 it does not run.
int verify(const VerifyOptions &options);

} // namespace shardc::verifier

#endif // SHARDC_TOOLS_SHARDC_VERIFY_VERIFY_H
