#include "tools/shardc/verify/Results.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>

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

OutputError outputError(const Tensor &found, const Tensor &expected) {
  OutputError error;
  const std::vector<double> a = tensors::toDoubles(found),
                            b = tensors::toDoubles(expected);
  double most = 0, squares = 0, all = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(b[i]) && !(std::isfinite(a[i])))
      continue; // masked alike
    const double difference = std::abs(a[i] - b[i]);
    error.largest = difference > error.largest || std::isnan(difference)
                        ? difference
                        : error.largest;
    most = std::max(most, std::abs(b[i]));
    squares += difference * difference;
    all += b[i] * b[i];
  }
  error.ofLargest = most > 0 ? error.largest / most : error.largest;
  error.rms = all > 0 ? std::sqrt(squares / all) : std::sqrt(squares);
  return error;
}

std::string errorText(size_t output, const std::string &name,
                      const OutputError &error) {
  std::ostringstream text;
  text << "output " << output << " '" << name << "': largest error "
       << std::setprecision(3) << error.largest << ", " << 100 * error.ofLargest
       << " % of the largest number; in the mean " << 100 * error.rms << " %";
  return text.str();
}

} // namespace shardc::verifier
