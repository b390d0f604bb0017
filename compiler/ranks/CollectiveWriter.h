//===- CollectiveWriter.h - Collectives as others spell them --------------===//
//
// Two runtimes have collectives as ONNX nodes:
//
//   microsoft   com.microsoft AllReduce (sums of floats), AllGather (axis,
//               group_size) and AllToAll, each over all ranks that run together
//   tensorrt    trt DistCollective (collective_operation, reduce_op, root,
//               nb_rank, groups, group_size), over the first dim
//
// All ranks of one stage run together. What a runtime lacks is written with what it
// has: a group that is not all of them, or a maximum, as a gather of all and the
// part of it that counts; uneven parts with zeros behind them that are cut off.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_RANKS_COLLECTIVEWRITER_H
#define SHARDC_COMPILER_RANKS_COLLECTIVEWRITER_H

#include "compiler/ranks/Parts.h"

namespace shardc::ranks {

enum class Collectives { Microsoft, TensorRT };
std::optional<Collectives> symbolizeCollectives(llvm::StringRef text);
llvm::StringRef domainOf(Collectives style);

class CollectiveWriter {
public:
  using Group = llvm::ArrayRef<int64_t>;

  CollectiveWriter(GraphWriter &writer, const StageRank &rank,
                   Collectives style)
      : writer(writer), rank(rank), style(style) {}

  /// `kind` is sum, max or min; `dimsAt` are the sizes of `x`.
  Tensor allReduce(const Tensor &x, Group group, llvm::StringRef kind,
                   DimsAt dimsAt);
  /// Parts of these sizes along `dim`, in the order of the group.
  Tensor allGather(const Tensor &x, size_t dim, Group group,
                   llvm::ArrayRef<dist::DimExpr> sizes, DimsAt dimsAt);
  /// The sum's part of each rank along `dim`, equal ones in the order of the
  /// group; nothing where the runtime has no such collective.
  std::optional<Tensor> reduceScatter(const Tensor &x, size_t dim, Group group,
                                      llvm::StringRef kind);
  /// Part i of dim `to` goes to rank i of the group; what comes is put together
  /// along `from`. All parts are equal. Nothing as above.
  std::optional<Tensor> allToAll(const Tensor &x, size_t from, size_t to,
                                 Group group);

private:
  /// Whether the group is all ranks of the stage in their order.
  bool isAll(Group group) const;
  static bool areAscending(Group group);
  /// What each rank of the group has, along a new first dim, with zeros behind
  /// it where those that talk have more.
  Tensor stack(const Tensor &x, Group group, DimsAt dimsAt);
  Tensor distCollective(const Tensor &x, Dims dims, Group group,
                        llvm::StringRef operation, llvm::StringRef reduce);
  /// In a type that the runtime takes.
  mlir::Type carrier(mlir::Type element, bool isSum) const;
  /// Brings dim `dim` to the front.
  Tensor toFront(const Tensor &x, size_t dim);

  GraphWriter &writer;
  const StageRank rank;
  const Collectives style;
};

} // namespace shardc::ranks

#endif // SHARDC_COMPILER_RANKS_COLLECTIVEWRITER_H
