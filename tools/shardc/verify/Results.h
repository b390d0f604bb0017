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

} // namespace shardc::verifier

#endif // SHARDC_TOOLS_SHARDC_VERIFY_RESULTS_H
