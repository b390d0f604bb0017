//===- Scatter.h - How scattered updates combine --------------------------===//

#ifndef SHARDC_RUNTIME_KERNELS_INDEX_SCATTER_H
#define SHARDC_RUNTIME_KERNELS_INDEX_SCATTER_H

#include "runtime/kernels/Dispatch.h"

#include <string>

namespace shardc::runtime::host {

enum class Reduction { None, Add, Mul, Max, Min };

inline Status readReduction(const KernelCall &call, std::string_view kernel,
                            Reduction &reduction) {
  const KernelAttribute *attribute = call.find("reduction");
  const std::string_view text = attribute ? attribute->text : "none";
  constexpr std::string_view names[] = {"none", "add", "mul", "max", "min"};
  for (int i = 0; i < 5; ++i)
    if (text == names[i]) {
      reduction = static_cast<Reduction>(i);
      return Status::ok();
    }
  return failure(kernel, "unknown reduction '" + std::string(text) + "'");
}

/// Integers wrap around; NaN propagates through max and min.
template <typename T>
SHARDC_HOST_DEVICE T combine(Reduction reduction, T old, T update) {
  using C = Compute<T>;
  const C a(old), b(update);
  switch (reduction) {
  case Reduction::Add:
    if constexpr (std::is_integral_v<C>)
      return T(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    else
      return T(a + b);
  case Reduction::Mul:
    if constexpr (std::is_integral_v<C>)
      return T(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    else
      return T(a * b);
  case Reduction::Max:
    return a > b || a != a ? old : update;
  case Reduction::Min:
    return a < b || a != a ? old : update;
  case Reduction::None:
    break;
  }
  return update;
}

} // namespace shardc::runtime::host

#endif // SHARDC_RUNTIME_KERNELS_INDEX_SCATTER_H
