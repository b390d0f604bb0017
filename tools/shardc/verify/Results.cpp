#include "tools/shardc/verify/Results.h"

#include <algorithm>
#include <cmath>

using namespace shardc::runtime;
using Json = nlohmann::json;

namespace shardc::verifier {

Json number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Result compareOutputs(std::span<const TensorInfo> infos,
                      std::span<const Tensor> found,
                      std::span<const Tensor> expected,
                      const tensors::Tolerance &tolerance) {
  Result result;
  for (size_t o = 0; o < found.size(); ++o) {
    const tensors::Comparison compared =
        tensors::compare(found[o], expected[o], tolerance);
    result.lines.push_back(
        tensors::comparisonText(o, infos[o].name, found[o], compared));
    result.outputs.push_back({{"name", infos[o].name},
                              {"agrees", compared.fits},
                              {"largest_error", number(compared.largestError)},
                              {"of_tolerance", number(compared.ofTolerance)},
                              {"problem", compared.problem}});
    result.agrees &= compared.fits;
    result.ofTolerance = std::max(result.ofTolerance, compared.ofTolerance);
  }
  return result;
}

} // namespace shardc::verifier
