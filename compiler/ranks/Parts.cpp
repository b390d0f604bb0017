//===- Parts.cpp - From whole values to a rank's parts and back -----------===//

#include "compiler/ranks/Parts.h"

using namespace mlir;

namespace shardc::ranks {

using dist::AxisRef;
using dist::DimExpr;

/// `dims` with dim `dim` replaced by several.
static Dims withFactors(const Dims &dims, size_t dim, const Dims &factors) {
  Dims all(dims.begin(), dims.begin() + dim);
  all.append(factors.begin(), factors.end());
  all.append(dims.begin() + dim + 1, dims.end());
  return all;
}

Tensor Parts::cut(Tensor x, const dist::Sharding &from,
                  const dist::Sharding &to) {
  for (size_t d = 0; d < to.dims.size(); ++d)
    if (from.dims[d] != to.dims[d])
      x = cutDim(x, d, from.dims[d], to.dims[d]);
  return x;
}

Tensor Parts::cutDim(const Tensor &x, size_t dim, const dist::DimSharding &held,
                     const dist::DimSharding &split) {
  const dist::Mesh &mesh = rank.mesh;
  if (held.isOneRange() && split.isOneRange())
    return writer.slice(
        x, dim, rank.size(split.lowerBound(mesh) - held.lowerBound(mesh)),
        rank.size(split.localSize(mesh)));
  if (held.isSplit()) {
    writer.fail("splits further what ranks hold in several pieces, which "
                "--emit onnx cannot write; use another plan");
    return x;
  }
  SmallVector<Tensor> segments;
  DimExpr offset = 0;
  for (const dist::Segment &segment : split.segments) {
    Tensor part =
        writer.slice(x, dim, rank.size(offset), rank.size(segment.size()));
    offset = offset + segment.size();
    Dims whole;
    for (const dist::Factor &factor : segment.factors)
      whole.push_back(rank.size(factor.size));
    part = writer.reshape(part, withFactors(part.dims, dim, whole));
    for (auto [f, factor] : llvm::enumerate(segment.factors))
      part = writer.slice(part, dim + f, rank.size(factor.lowerBound(mesh)),
                          rank.size(factor.localSize(mesh)));
    Dims dims = x.dims;
    dims[dim] = rank.size(segment.localSize(mesh));
    segments.push_back(writer.reshape(part, dims));
  }
  return writer.concat(segments, dim);
}

Tensor Parts::gather(const Tensor &x, size_t dim,
                     const dist::DimSharding &split, ArrayRef<AxisRef> axes,
                     DimsAt dimsAt, GatherDim gatherDim) {
  SmallVector<Tensor> segments;
  DimExpr offset = 0;
  for (const dist::Segment &segment : split.segments) {
    const DimExpr size = rank.size(segment.localSize(rank.mesh));
    segments.push_back(gatherSegment(writer.slice(x, dim, offset, size), dim,
                                     segment, axes, dimsAt, gatherDim));
    offset = offset + size;
  }
  return writer.concat(segments, dim);
}

/// Those of the axes that split the factor.
static SmallVector<AxisRef> axesHere(const dist::Factor &factor,
                                     ArrayRef<AxisRef> axes) {
  SmallVector<AxisRef> here;
  for (const AxisRef &axis : axes)
    if (dist::overlapsAny(factor.axes, axis))
      here.push_back(axis);
  return here;
}

/// How many elements of a factor the ranks of a group have.
static SmallVector<DimExpr> sizesOf(const dist::Factor &factor,
                                    ArrayRef<int64_t> group,
                                    const StageRank &rank) {
  SmallVector<DimExpr> sizes;
  for (int64_t member : group)
    sizes.push_back(rank.other(member).size(factor.localSize(rank.mesh)));
  return sizes;
}

static DimExpr sumOf(ArrayRef<DimExpr> sizes) {
  DimExpr sum = 0;
  for (DimExpr size : sizes)
    sum = sum + size;
  return sum;
}

/// Of a segment on a rank, with the first `count` factors put together.
static Dims factorsAt(const dist::Segment &segment, ArrayRef<AxisRef> axes,
                      const StageRank &rank, size_t count) {
  Dims factors;
  for (auto [f, factor] : llvm::enumerate(segment.factors)) {
    const SmallVector<AxisRef> here = axesHere(factor, axes);
    factors.push_back(f < count && !here.empty()
                          ? sumOf(sizesOf(factor, groupOf(rank, here), rank))
                          : rank.size(factor.localSize(rank.mesh)));
  }
  return factors;
}

Tensor Parts::gatherSegment(const Tensor &x, size_t dim,
                            const dist::Segment &segment,
                            ArrayRef<AxisRef> axes, DimsAt dimsAt,
                            GatherDim gatherDim) {
  Tensor part = writer.reshape(
      x, withFactors(x.dims, dim, factorsAt(segment, axes, rank, 0)));
  for (auto [f, factor] : llvm::enumerate(segment.factors)) {
    const SmallVector<AxisRef> here = axesHere(factor, axes);
    if (here.empty())
      continue;
    SmallVector<int64_t> group = groupOf(rank, here);
    if (factor.isReversed)
      std::reverse(group.begin(), group.end());
    const size_t done = f;
    part = gatherDim(
        part, dim + f, group, sizesOf(factor, group, rank), [&](int64_t other) {
          return withFactors(dimsAt(other), dim,
                             factorsAt(segment, axes, rank.other(other), done));
        });
  }
  Dims dims = x.dims;
  dims[dim] =
      dist::product(factorsAt(segment, axes, rank, segment.factors.size()));
  return writer.reshape(part, dims);
}

} // namespace shardc::ranks
