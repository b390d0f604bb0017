//===- StridedLayout.cpp - Views with symbolic sizes ----------------------===//

#include "passes/lower/StridedLayout.h"

#include "llvm/ADT/STLExtras.h"

namespace shardc::lower {

using dist::DimExpr;

StridedLayout StridedLayout::contiguous(llvm::ArrayRef<DimExpr> dims) {
  StridedLayout layout;
  layout.dims.assign(dims.begin(), dims.end());
  layout.strides.resize(dims.size());
  DimExpr stride = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    layout.strides[d] = stride;
    stride = stride * dims[d];
  }
  return layout;
}

bool StridedLayout::isContiguous() const {
  DimExpr expected = 1;
  for (size_t d = dims.size(); d-- > 0;) {
    if (!dims[d].isConstant(1) && strides[d] != expected)
      return false;
    expected = expected * dims[d];
  }
  return true;
}

StridedLayout
StridedLayout::transposed(llvm::ArrayRef<int64_t> permutation) const {
  StridedLayout layout{{}, {}, offset};
  for (int64_t from : permutation) {
    layout.dims.push_back(dims[from]);
    layout.strides.push_back(strides[from]);
  }
  return layout;
}

StridedLayout StridedLayout::sliced(size_t dim, DimExpr start, DimExpr size,
                                    int64_t step) const {
  StridedLayout layout = *this;
  layout.offset = offset + start * strides[dim];
  layout.dims[dim] = size;
  layout.strides[dim] = strides[dim] * step;
  return layout;
}

StridedLayout StridedLayout::broadcast(llvm::ArrayRef<DimExpr> to) const {
  StridedLayout layout{
      {to.begin(), to.end()}, Sizes(to.size(), DimExpr()), offset};
  size_t added = to.size() - dims.size();
  for (size_t d = 0; d < dims.size(); ++d)
    // Sizes that only a guard says are equal differ as expressions.
    if (!dims[d].isConstant(1))
      layout.strides[added + d] = strides[d];
  return layout;
}

StridedLayout StridedLayout::expanded(size_t dim,
                                      llvm::ArrayRef<DimExpr> factors) const {
  StridedLayout layout{{}, {}, offset};
  for (size_t d = 0; d < dims.size(); ++d) {
    if (d != dim) {
      layout.dims.push_back(dims[d]);
      layout.strides.push_back(strides[d]);
      continue;
    }
    StridedLayout inner = contiguous(factors);
    for (auto [size, stride] : llvm::zip(inner.dims, inner.strides)) {
      layout.dims.push_back(size);
      layout.strides.push_back(stride * strides[d]);
    }
  }
  return layout;
}

/// Takes dims with that product off the front of `sizes`; 0 where the front
/// does not start with such a product.
static size_t countPrefix(llvm::ArrayRef<DimExpr> sizes, DimExpr total) {
  DimExpr product = 1;
  for (size_t n = 0; n < sizes.size(); ++n) {
    product = product * sizes[n];
    if (product == total)
      return n + 1;
  }
  return 0;
}

std::optional<StridedLayout>
StridedLayout::reshaped(llvm::ArrayRef<DimExpr> to) const {
  if (isContiguous()) {
    StridedLayout layout = contiguous(to);
    layout.offset = offset;
    return layout;
  }
  // Dims of size 1 have no order; leave them out and put them back.
  Sizes from, fromStrides;
  for (auto [size, stride] : llvm::zip(dims, strides))
    if (!size.isConstant(1)) {
      from.push_back(size);
      fromStrides.push_back(stride);
    }
  StridedLayout layout{{}, {}, offset};
  size_t i = 0;
  for (size_t j = 0; j < to.size();) {
    if (to[j].isConstant(1)) {
      layout.dims.push_back(1);
      layout.strides.push_back(0);
      ++j;
      continue;
    }
    if (i == from.size())
      return std::nullopt;
    // Either one old dim becomes several, or several become one.
    size_t split = countPrefix(to.drop_front(j), from[i]);
    size_t merge =
        split ? 1 : countPrefix(llvm::ArrayRef(from).drop_front(i), to[j]);
    if (!merge)
      return std::nullopt;
    for (size_t d = i; d + 1 < i + merge; ++d)
      if (fromStrides[d] != fromStrides[d + 1] * from[d + 1])
        return std::nullopt;
    size_t count = split ? split : 1;
    StridedLayout inner = contiguous(to.slice(j, count));
    for (auto [size, stride] : llvm::zip(inner.dims, inner.strides)) {
      layout.dims.push_back(size);
      layout.strides.push_back(stride * fromStrides[i + merge - 1]);
    }
    i += merge;
    j += count;
  }
  return i == from.size() ? std::optional<StridedLayout>(layout) : std::nullopt;
}

std::optional<DimExpr> localOffset(const dist::DimSharding &dim, DimExpr start,
                                   const dist::Mesh &mesh) {
  if (!dim.isSplit())
    return start;
  DimExpr global = 0, local = 0;
  for (const dist::Segment &segment : dim.segments) {
    if (global == start)
      return local;
    DimExpr end = global + segment.size();
    if (!(start - end).isKnownNonNegative()) {
      bool isInside = !segment.isSplit() &&
                      (start - global).isKnownNonNegative() &&
                      (end - start).isKnownNonNegative();
      return isInside ? std::optional<DimExpr>(local + (start - global))
                      : std::nullopt;
    }
    global = end;
    local = local + segment.localSize(mesh);
  }
  return global == start ? std::optional<DimExpr>(local) : std::nullopt;
}

} // namespace shardc::lower
