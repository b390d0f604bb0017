//===- NcclCollectives.cpp - The operations -------------------------------===//
#include "runtime/device/cuda/collectives/NcclCommunicator.h"
#include "runtime/device/cuda/trace/NvtxRange.h"
#include "runtime/tensor/BlockOverlap.h"

#include <algorithm>
#include <optional>

namespace shardc::runtime {
namespace {

using namespace artifact;

std::optional<ncclDataType_t> typeOf(ElementType element) {
  switch (element) {
  case ElementType_Bool:
  case ElementType_UInt8:
    return ncclUint8;
  case ElementType_Int8:
    return ncclInt8;
  case ElementType_Int32:
    return ncclInt32;
  case ElementType_UInt32:
    return ncclUint32;
  case ElementType_Int64:
    return ncclInt64;
  case ElementType_UInt64:
    return ncclUint64;
  case ElementType_Float16:
    return ncclFloat16;
  case ElementType_BFloat16:
    return ncclBfloat16;
  case ElementType_Float32:
    return ncclFloat32;
  case ElementType_Float64:
    return ncclFloat64;
  default:
    return std::nullopt;
  }
}

ncclRedOp_t operationOf(ReduceKind kind) {
  return kind == ReduceKind::Max   ? ncclMax
         : kind == ReduceKind::Min ? ncclMin
                                   : ncclSum;
}

Status checkReduces(const TensorView &view) {
  if (typeOf(view.element))
    return Status::ok();
  return artifactError("NCCL cannot reduce ", EnumNameElementType(view.element),
                       "; run it with --device host");
}

/// Parts are packed whole bytes long.
Status checkMoves(const TensorView &view) {
  if (!isSubByte(view.element))
    return Status::ok();
  return artifactError("NCCL cannot send ", EnumNameElementType(view.element),
                       "; run it with --device host");
}

int64_t largestOf(std::span<const OwnedRuns> blocks) {
  int64_t largest = 0;
  for (const OwnedRuns &block : blocks)
    largest = std::max(largest, block.localSize);
  return largest;
}

/// Rank i's block is the i-th of equal pieces of `whole`, and `part` is one.
bool goesAsItLies(const TensorView &whole, const TensorView &part, int dim,
                  std::span<const OwnedRuns> blocks) {
  for (int d = 0; d < dim; ++d)
    if (whole.dims[d] != 1)
      return false;
  int64_t at = 0;
  for (const OwnedRuns &block : blocks) {
    if (block.localSize != blocks[0].localSize || block.runs.size() != 1 ||
        block.runs[0].start != at)
      return false;
    at += block.localSize;
  }
  return whole.isContiguous() && part.isContiguous();
}

/// Visits the pieces of a rank's block: `visit(in the whole, in the part)`.
template <typename Visit>
Status forEachRun(const TensorView &whole, const TensorView &part, int dim,
                  const OwnedRuns &block, Visit visit) {
  int64_t at = 0;
  for (const OwnedRun &run : block.runs) {
    SHARDC_RETURN_IF_ERROR(visit(narrowed(whole, dim, run.start, run.length),
                                 narrowed(part, dim, at, run.length)));
    at += run.length;
  }
  return Status::ok();
}

} // namespace

Status NcclCommunicator::allReduce(const TensorView &input,
                                   const TensorView &output, ReduceKind kind,
                                   const CollectiveSite &site) {
  const NvtxRange range(site);
  if (input.numElements() == 0)
    return Status::ok(); // on every rank alike
  SHARDC_RETURN_IF_ERROR(checkReduces(input));
  const bool packs = !input.isContiguous() || !output.isContiguous();
  if (packs)
    SHARDC_RETURN_IF_ERROR(reserve(viewBytes(input)));
  SHARDC_RETURN_IF_ERROR(enter());
  const TensorView slot = packedLike(slots, input);
  if (packs)
    SHARDC_RETURN_IF_ERROR(copy(slot, input));
  SHARDC_RETURN_IF_ERROR(group.settle(
      "ncclAllReduce", ncclAllReduce(packs ? slot.data : input.data,
                                     packs ? slot.data : output.data,
                                     static_cast<size_t>(input.numElements()),
                                     *typeOf(input.element), operationOf(kind),
                                     group.comm(), stream)));
  if (packs)
    SHARDC_RETURN_IF_ERROR(copy(output, slot));
  return leave(site);
}

Status NcclCommunicator::allGather(const TensorView &input,
                                   const TensorView &output, int dim,
                                   std::span<const OwnedRuns> blocks,
                                   const CollectiveSite &site) {
  const NvtxRange range(site);
  if (output.numElements() == 0)
    return Status::ok();
  SHARDC_RETURN_IF_ERROR(checkMoves(output));
  if (goesAsItLies(output, input, dim, blocks)) {
    SHARDC_RETURN_IF_ERROR(enter());
    SHARDC_RETURN_IF_ERROR(group.settle(
        "ncclAllGather", ncclAllGather(input.data, output.data,
                                       static_cast<size_t>(viewBytes(input)),
                                       ncclUint8, group.comm(), stream)));
    return leave(site);
  }
  TensorView like = input; // of the largest part
  like.dims[dim] = largestOf(blocks);
  const int64_t bytes = viewBytes(like);
  SHARDC_RETURN_IF_ERROR(reserve(bytes * size()));
  SHARDC_RETURN_IF_ERROR(enter());
  // In place: NCCL takes this rank's own from its slot.
  std::byte *mine = slots + index() * bytes;
  if (input.numElements() > 0)
    SHARDC_RETURN_IF_ERROR(copy(packedLike(mine, input), input));
  SHARDC_RETURN_IF_ERROR(group.settle(
      "ncclAllGather", ncclAllGather(mine, slots, static_cast<size_t>(bytes),
                                     ncclUint8, group.comm(), stream)));
  for (int i = 0; i < size(); ++i) {
    const OwnedRuns &block = blocks[static_cast<size_t>(i)];
    like.dims[dim] = block.localSize;
    SHARDC_RETURN_IF_ERROR(
        forEachRun(output, packedLike(slots + i * bytes, like), dim, block,
                   [&](const TensorView &whole, const TensorView &part) {
                     return copy(whole, part);
                   }));
  }
  return leave(site);
}

Status NcclCommunicator::reduceScatter(const TensorView &input,
                                       const TensorView &output, int dim,
                                       std::span<const OwnedRuns> blocks,
                                       ReduceKind kind,
                                       const CollectiveSite &site) {
  const NvtxRange range(site);
  if (input.numElements() == 0)
    return Status::ok();
  SHARDC_RETURN_IF_ERROR(checkReduces(input));
  const ncclDataType_t type = *typeOf(input.element);
  if (goesAsItLies(input, output, dim, blocks)) {
    SHARDC_RETURN_IF_ERROR(enter());
    SHARDC_RETURN_IF_ERROR(group.settle(
        "ncclReduceScatter",
        ncclReduceScatter(input.data, output.data,
                          static_cast<size_t>(output.numElements()), type,
                          operationOf(kind), group.comm(), stream)));
    return leave(site);
  }
  TensorView like = output; // of the largest part
  like.dims[dim] = largestOf(blocks);
  const int64_t bytes = viewBytes(like), elements = like.numElements();
  SHARDC_RETURN_IF_ERROR(reserve(bytes * size()));
  SHARDC_RETURN_IF_ERROR(enter());
  for (int i = 0; i < size(); ++i) {
    const OwnedRuns &block = blocks[static_cast<size_t>(i)];
    like.dims[dim] = block.localSize;
    SHARDC_RETURN_IF_ERROR(
        forEachRun(input, packedLike(slots + i * bytes, like), dim, block,
                   [&](const TensorView &whole, const TensorView &part) {
                     return copy(part, whole);
                   }));
  }
  std::byte *mine = slots + index() * bytes;
  SHARDC_RETURN_IF_ERROR(group.settle(
      "ncclReduceScatter",
      ncclReduceScatter(slots, mine, static_cast<size_t>(elements), type,
                        operationOf(kind), group.comm(), stream)));
  if (output.numElements() > 0)
    SHARDC_RETURN_IF_ERROR(copy(output, packedLike(mine, output)));
  return leave(site);
}

Status NcclCommunicator::allToAll(const TensorView &input,
                                  const TensorView &output,
                                  const DimBlocks &from, const DimBlocks &to,
                                  const CollectiveSite &site) {
  const NvtxRange range(site);
  SHARDC_RETURN_IF_ERROR(checkMoves(input));
  const auto self = static_cast<size_t>(index());
  const int64_t element = elementBytes(input.element);
  // What rank `a` has of what rank `b` gets, with only dims that mean it.
  TensorView source = input, target = output;
  auto forEach = [&](size_t a, size_t b, auto visit) {
    source.dims[from.dim] = from.blocks[a].localSize;
    target.dims[to.dim] = to.blocks[b].localSize;
    forEachCommon(source, target, from.dim, from.blocks[a], to.dim,
                  to.blocks[b], visit);
  };
  int64_t bytes = 0;
  for (size_t peer = 0; peer < toPeer.size(); ++peer) {
    toPeer[peer] = fromPeer[peer] = 0;
    forEach(self, peer, [&](const TensorView &box, const TensorView &) {
      toPeer[peer] += box.numElements() * element;
    });
    forEach(peer, self, [&](const TensorView &, const TensorView &box) {
      fromPeer[peer] += box.numElements() * element;
    });
    bytes += toPeer[peer] + fromPeer[peer];
  }
  SHARDC_RETURN_IF_ERROR(reserve(bytes));
  SHARDC_RETURN_IF_ERROR(enter());
  std::byte *at = slots;
  Status status;
  for (size_t peer = 0; peer < toPeer.size(); ++peer)
    forEach(self, peer, [&](const TensorView &box, const TensorView &) {
      if (status.isOk() && box.numElements() > 0)
        status = copy(packedLike(at, box), box);
      at += box.numElements() * element;
    });
  SHARDC_RETURN_IF_ERROR(status);
  const std::byte *sent = slots;
  std::byte *received = at;
  ncclResult_t result = ncclGroupStart();
  for (size_t peer = 0; peer < toPeer.size(); ++peer) {
    const int rank = static_cast<int>(peer);
    if (result == ncclSuccess && toPeer[peer] > 0)
      result = ncclSend(sent, static_cast<size_t>(toPeer[peer]), ncclUint8,
                        rank, group.comm(), stream);
    if (result == ncclSuccess && fromPeer[peer] > 0)
      result = ncclRecv(received, static_cast<size_t>(fromPeer[peer]),
                        ncclUint8, rank, group.comm(), stream);
    sent += toPeer[peer];
    received += fromPeer[peer];
  }
  const ncclResult_t ended = ncclGroupEnd();
  SHARDC_RETURN_IF_ERROR(
      group.settle("ncclSend", result == ncclSuccess ? ended : result));
  for (size_t peer = 0; peer < toPeer.size(); ++peer)
    forEach(peer, self, [&](const TensorView &, const TensorView &box) {
      if (status.isOk() && box.numElements() > 0)
        status = copy(box, packedLike(at, box));
      at += box.numElements() * element;
    });
  SHARDC_RETURN_IF_ERROR(status);
  return leave(site);
}

Status NcclCommunicator::shift(const TensorView &input,
                               const TensorView &output, int distance,
                               const CollectiveSite &site) {
  const NvtxRange range(site);
  SHARDC_RETURN_IF_ERROR(checkMoves(input));
  const int source = (index() + distance) % size();
  const int target = (index() + size() - distance) % size();
  const int64_t sends = viewBytes(input), gets = viewBytes(output);
  const bool packsInput = !input.isContiguous(),
             packsOutput = !output.isContiguous();
  SHARDC_RETURN_IF_ERROR(
      reserve((packsInput ? sends : 0) + (packsOutput ? gets : 0)));
  SHARDC_RETURN_IF_ERROR(enter());
  const TensorView from = packsInput ? packedLike(slots, input) : input;
  const TensorView to =
      packsOutput ? packedLike(slots + (packsInput ? sends : 0), output)
                  : output;
  if (packsInput)
    SHARDC_RETURN_IF_ERROR(copy(from, input));
  ncclResult_t result = ncclGroupStart();
  if (result == ncclSuccess && sends > 0)
    result = ncclSend(from.data, static_cast<size_t>(sends), ncclUint8, target,
                      group.comm(), stream);
  if (result == ncclSuccess && gets > 0)
    result = ncclRecv(to.data, static_cast<size_t>(gets), ncclUint8, source,
                      group.comm(), stream);
  const ncclResult_t ended = ncclGroupEnd();
  SHARDC_RETURN_IF_ERROR(
      group.settle("ncclSend", result == ncclSuccess ? ended : result));
  if (packsOutput)
    SHARDC_RETURN_IF_ERROR(copy(output, to));
  return leave(site);
}

Status NcclCommunicator::dispatch(const TensorView &input,
                                  const TensorView &output,
                                  std::span<const OwnedRuns> blocks,
                                  const ExpertRouting &,
                                  const CollectiveSite &site) {
  return allGather(input, output, 0, blocks, site);
}

Status NcclCommunicator::combine(const TensorView &input,
                                 const TensorView &output,
                                 std::span<const OwnedRuns> blocks,
                                 const ExpertRouting &,
                                 const CollectiveSite &site) {
  return reduceScatter(input, output, 0, blocks, ReduceKind::Sum, site);
}

} // namespace shardc::runtime
