#include "tools/shardc/verify/Requests.h"

#include "runtime/artifact/ElementNames.h"
#include "runtime/base/Message.h"
#include "tools/tensors/Compare.h"

#include <algorithm>
#include <cmath>

using namespace shardc::runtime;

namespace shardc::verifier {
namespace {

/// SplitMix64: the same numbers everywhere.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}

  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// In [0, 1).
  double unit() { return double(next() >> 11) * 0x1p-53; }

private:
  uint64_t state;
};

std::vector<double> valuesOf(const probe::ModelInput &input, size_t count,
                             int64_t last, int64_t bound, Random &random) {
  std::vector<double> values(count);
  last = std::max<int64_t>(last, 1);
  double first = 0;
  if (input.kind == probe::InputKind::Place && bound > last)
    first = std::floor(random.unit() * double(bound - last + 1));
  for (size_t i = 0; i < count; ++i)
    switch (input.kind) {
    case probe::InputKind::Number:
      values[i] = 2 * random.unit() - 1;
      break;
    case probe::InputKind::Index:
      values[i] = std::floor(random.unit() * double(bound));
      break;
    case probe::InputKind::Position:
    case probe::InputKind::Place:
      values[i] = first + double(i % size_t(last));
      break;
    case probe::InputKind::Flag:
      values[i] = 1;
      break;
    }
  return values;
}

} // namespace

Status makeInputs(const probe::ModelInputs &model, const probe::Sizes &sizes,
                  std::span<const TensorInfo> infos, uint64_t seed,
                  std::vector<NamedTensor> &inputs) {
  Random random(seed);
  for (const probe::ModelInput &input : model.inputs) {
    std::vector<int64_t> dims;
    size_t count = 1;
    for (dist::DimExpr size : input.dims) {
      dims.push_back(
          std::max<int64_t>(probe::evaluate(size, sizes).value_or(0), 0));
      count *= static_cast<size_t>(dims.back());
    }
    const int64_t bound = probe::evaluate(input.bound, sizes).value_or(1);
    std::vector<double> values =
        valuesOf(input, count, dims.empty() ? 1 : dims.back(), bound, random);
    if (auto when = model.when.find(input.name); when != model.when.end())
      std::fill(values.begin(), values.end(), when->second ? 1 : 0);
    auto info = std::find_if(infos.begin(), infos.end(), [&](const auto &i) {
      return i.name == input.name;
    });
    NamedTensor &named = inputs.emplace_back();
    named.name = input.name;
    SHARDC_RETURN_IF_ERROR(tensors::fromDoubles(
        info == infos.end() ? artifact::ElementType_Float32 : info->element,
        dims, values, named.tensor));
  }
  return Status::ok();
}

} // namespace shardc::verifier
