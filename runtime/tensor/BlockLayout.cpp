#include "runtime/tensor/BlockLayout.h"

#include <algorithm>

namespace shardc::runtime {

std::optional<BlockLayout> BlockLayout::of(std::span<const OwnedRuns> owned) {
  BlockLayout layout;
  if (owned.size() > kMaxRank)
    return std::nullopt;
  int64_t stride = 1, wholeStride = 1;
  for (size_t d = owned.size(); d-- > 0;) {
    if (owned[d].runs.size() != 1)
      return std::nullopt;
    const OwnedRun &run = owned[d].runs.front();
    layout.firstElement += run.start * wholeStride;
    if (run.length > 1) {
      Dim *inner = layout.dims.empty() ? nullptr : &layout.dims.back();
      if (inner && inner->wholeStride * inner->size == wholeStride)
        inner->size *= run.length;
      else
        layout.dims.push_back({run.length, stride, wholeStride});
    }
    stride *= run.length;
    wholeStride *= owned[d].globalSize;
  }
  return layout;
}

int64_t BlockLayout::extent() const {
  int64_t last = 0;
  for (const Dim &dim : dims)
    last += (dim.size - 1) * dim.wholeStride;
  return last + 1;
}

bool BlockLayout::see(TensorView &view, int64_t &offset) const {
  if (std::count(view.dims, view.dims + view.rank, 0) > 0)
    return true; // it has no elements
  // By dim of the block: the largest index that the view has there.
  int64_t reach[kMaxRank] = {};
  int64_t left = offset, seenOffset = 0;
  for (size_t d = dims.size(); d-- > 0;) {
    reach[d] = left / dims[d].stride;
    left %= dims[d].stride;
    seenOffset += reach[d] * dims[d].wholeStride;
  }
  if (left != 0)
    return false;
  TensorView seen = view;
  for (int i = 0; i < view.rank; ++i) {
    if (view.dims[i] == 1 || view.strides[i] == 0)
      continue;
    size_t d = dims.size();
    while (d > 0 && view.strides[i] % dims[d - 1].stride != 0)
      --d;
    if (d == 0 || view.strides[i] < 0)
      return false;
    const Dim &dim = dims[d - 1];
    const int64_t steps = view.strides[i] / dim.stride;
    if (view.dims[i] - 1 > (dim.size - 1) / steps)
      return false;
    seen.strides[i] = steps * dim.wholeStride;
    reach[d - 1] += steps * (view.dims[i] - 1);
  }
  for (size_t d = 0; d < dims.size(); ++d)
    if (reach[d] >= dims[d].size)
      return false;
  view = seen;
  offset = seenOffset;
  return true;
}

} // namespace shardc::runtime
