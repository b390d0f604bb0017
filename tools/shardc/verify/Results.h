//===- Results.h - How the outputs of one request compare -----------------===//
#ifndef SHARDC_TOOLS_SHARDC_VERIFY_RESULTS_H
#define SHARDC_TOOLS_SHARDC_VERIFY_RESULTS_H

#include "tools/tensors/Compare.h"

#include <nlohmann/json.hpp>

#include <span>
#include <string>
#include <vector>

namespace shardc::verifier {

struct Result {
  std::vector<std::string> lines; ///< one an output, for people
  nlohmann::json outputs = nlohmann::json::array();
  bool agrees = true;
  double ofTolerance = 0; ///< the most of any output
};

/// A non-number has no JSON.
nlohmann::json number(double value);

Result compareOutputs(std::span<const runtime::TensorInfo> infos,
                      std::span<const runtime::Tensor> found,
                      std::span<const runtime::Tensor> expected,
                      const tensors::Tolerance &tolerance);

/// How far an output is from what it is of a model with other weights: the
/// largest error, also as a share of the largest number, and the root of the
/// mean square as a share of that of the numbers.
struct OutputError {
  double largest = 0, ofLargest = 0, rms = 0;
};
OutputError outputError(const runtime::Tensor &found,
                        const runtime::Tensor &expected);
std::string errorText(size_t output, const std::string &name,
                      const OutputError &error);

} // namespace shardc::verifier

#endif // SHARDC_TOOLS_SHARDC_VERIFY_RESULTS_H
