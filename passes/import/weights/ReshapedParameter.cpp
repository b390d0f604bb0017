#include "passes/import/weights/ReshapedParameter.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace llvm;

namespace shardc::import {

static int64_t product(ArrayRef<int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t(1),
                         std::multiplies<>());
}

/// The same of dims that become others by themselves.
static bool reshapeGroup(ArrayRef<int64_t> parameter, ArrayRef<int64_t> from,
                         ArrayRef<int64_t> to, ReshapedParameter &result) {
  const size_t first = result.dims.size();
  if (product(parameter) == 1) {
    result.dims.append(to.size(), 1);
    return true;
  }
  result.dims.append(to.begin(), to.end());
  if (parameter == from)
    return true;
  size_t alike = from.size(); // where dims begin along which it does not change
  while (alike > 0 && parameter[alike - 1] == 1)
    --alike;
  const auto isLong = [](int64_t size) { return size > 1; };
  if (parameter.take_front(alike) != from.take_front(alike) ||
      llvm::count_if(to, isLong) != 1 || result.block != 0)
    return false;
  result.axis = int64_t(first) + (llvm::find_if(to, isLong) - to.begin());
  result.block = product(from.drop_front(alike));
  result.dims[size_t(result.axis)] = product(parameter);
  return true;
}

std::optional<ReshapedParameter>
ReshapedParameter::of(ArrayRef<int64_t> parameter, ArrayRef<int64_t> from,
                      ArrayRef<int64_t> to) {
  if (parameter.size() != from.size() || product(from) != product(to) ||
      product(from) == 0)
    return std::nullopt;
  ReshapedParameter result;
  for (size_t i = 0, j = 0; i < from.size() || j < to.size();) {
    // The least that holds as many elements on both sides, and sizes of 1 at
    // the end with it.
    size_t endI = i, endJ = j;
    int64_t before = 1, after = 1;
    do {
      if (endI < from.size() && (before <= after || endJ == to.size()))
        before *= from[endI++];
      else
        after *= to[endJ++];
    } while (before != after);
    if (product(from.drop_front(endI)) == 1)
      endI = from.size();
    if (product(to.drop_front(endJ)) == 1)
      endJ = to.size();
    if (!reshapeGroup(parameter.slice(i, endI - i), from.slice(i, endI - i),
                      to.slice(j, endJ - j), result))
      return std::nullopt;
    i = endI;
    j = endJ;
  }
  return result;
}

} // namespace shardc::import
