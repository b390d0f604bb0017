//===- Parts.h - From whole values to a rank's parts and back -------------===//
//
// A dim that is a product of factors is reshaped to them, so that each split
// factor is a dim of its own; packed segments are cut apart first. On rank 1 of
// "tp" = 2:
//
//   (6:"tp"=2, 16)        [96] -> [6, 16] -> [3:6, :] -> [48]
//   [8: (2:"tp", 4) | 4: ...]   [0:8], [8:12] by themselves, then put together
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_RANKS_PARTS_H
#define SHARDC_COMPILER_RANKS_PARTS_H

#include "compiler/ranks/GraphWriter.h"

namespace shardc::ranks {

/// The sizes that a value has on some rank of the stage.
using DimsAt = llvm::function_ref<Dims(int64_t rank)>;

/// Puts the parts that a group's ranks hold of a plain dim together, in the order
/// of the group: `sizes` are theirs.
using GatherDim = llvm::function_ref<Tensor(
    const Tensor &part, size_t dim, llvm::ArrayRef<int64_t> group,
    llvm::ArrayRef<dist::DimExpr> sizes, DimsAt dimsAt)>;

class Parts {
public:
  Parts(GraphWriter &writer, const StageRank &rank)
      : writer(writer), rank(rank) {}

  /// What the rank has of `x`, which is held as `from`, once it is held as `to`:
  /// dims that are whole may be split.
  Tensor cut(Tensor x, const dist::Sharding &from, const dist::Sharding &to);

  /// Dim `dim` of `x`, split as `split`, with what `axes` split of it together.
  /// `dimsAt` are those of `x`.
  Tensor gather(const Tensor &x, size_t dim, const dist::DimSharding &split,
                llvm::ArrayRef<dist::AxisRef> axes, DimsAt dimsAt,
                GatherDim gatherDim);

private:
  Tensor cutDim(const Tensor &x, size_t dim, const dist::DimSharding &held,
                const dist::DimSharding &split);
  Tensor gatherSegment(const Tensor &x, size_t dim,
                       const dist::Segment &segment,
                       llvm::ArrayRef<dist::AxisRef> axes, DimsAt dimsAt,
                       GatherDim gatherDim);

  GraphWriter &writer;
  const StageRank rank;
};

} // namespace shardc::ranks

#endif // SHARDC_COMPILER_RANKS_PARTS_H
