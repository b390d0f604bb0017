//===- Lint.h - Rules that a plan is to keep ------------------------------===//
//
// For those who guard a plan without FileCheck: one rule a line, `#` begins a
// comment.
//
//   max all_reduce per layer 2
//   max collective per run 300
//   no all_gather of weights
//   no all_to_all over tp
//   no collective between nodes except dp, pp
//   memory per rank <= 40 GiB
//   weights per rank <= 20 GB
//
// KIND is all_reduce, all_gather, reduce_scatter, all_to_all, dispatch, combine,
// transfer (between stages), or collective, which is any of these but a transfer.
// A layer is one of the model's (Layers.h); a model of one layer is that.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_REPORT_LINT_H
#define SHARDC_COMPILER_REPORT_LINT_H

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace shardc::report {

struct Rule {
  enum class Form { Most, None, Memory };
  Form form = Form::None;
  size_t line = 0;
  std::string text;
  std::string kind;        ///< of Most and None
  bool isPerLayer = false; ///< of Most, else of a run
  bool ofWeights = false;  ///< of None, as these are
  bool betweenNodes = false;
  std::vector<std::string> axes; ///< that it is about, or `except`
  bool isExcept = false;
  bool isOfWeights = false; ///< of Memory: else all of it
  double limit = 0;         ///< entries or bytes
};

/// "" or what is wrong, with its line.
std::string parseRules(const std::string &text, std::vector<Rule> &rules);

struct Violation {
  size_t line = 0;
  std::string rule, what;
};
/// Of a report (Explain.h), in the order of the rules.
std::vector<Violation> checkRules(const std::vector<Rule> &rules,
                                  const nlohmann::json &report);

} // namespace shardc::report

#endif // SHARDC_COMPILER_REPORT_LINT_H
