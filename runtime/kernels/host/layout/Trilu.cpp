//===- Trilu.cpp - Upper or lower triangle of matrices --------------------===//
//
// Upper keeps column >= row + k, lower keeps column <= row + k. On a part of a
// sharded matrix the compiler adds the part's first row and column to k.
//
//===----------------------------------------------------------------------===//

#include "runtime/kernels/Dispatch.h"
#include "runtime/kernels/StridedLoop.h"

#include <algorithm>

namespace shardc::runtime::host {
namespace {

constexpr char kName[] = "Trilu";

Status run(const KernelCall &call) {
  SHARDC_RETURN_IF_ERROR(expectAlike(call, kName, 1));
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  if (x.rank < 2)
    return failure(kName, "expected matrices, found " + dimsToString(x));
  const bool upper = call.intOr("upper", 1) != 0;
  const int row = x.rank - 2, column = x.rank - 1;
  const int64_t rows = x.dims[row], columns = x.dims[column];
  // Beyond the matrix all diagonals are alike; this also keeps r + k in range.
  const int64_t k = std::clamp(call.intOr("k", 0), -rows - 1, columns + 1);
  const auto matrices = nestOf(dimsOf(out, 0, row), dimsOf(x, 0, row));
  return dispatchSize(x.element, kName, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    forEachIndex(matrices, [&](const int64_t (&at)[2]) {
      for (int64_t r = 0; r < rows; ++r) {
        T *o = out.as<T>() + at[0] + r * out.strides[row];
        const T *from = x.as<T>() + at[1] + r * x.strides[row];
        const int64_t first =
            std::clamp<int64_t>(upper ? r + k : 0, 0, columns);
        const int64_t last =
            std::clamp<int64_t>(upper ? columns : r + k + 1, 0, columns);
        for (int64_t c = 0; c < columns; ++c)
          o[c * out.strides[column]] =
              c >= first && c < last ? from[c * x.strides[column]] : T(0);
      }
    });
  });
}

const HostKernelRegistration registration(kName, {run, nullptr});

} // namespace
} // namespace shardc::runtime::host
