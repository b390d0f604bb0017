#include "runtime/exec/CollectiveBinding.h"

#include "runtime/base/Message.h"
#include "runtime/exec/ViewResolver.h"

#include <algorithm>

namespace shardc::runtime {
namespace {

struct Operands {
  ResolvedView input;
  ResolvedView output;
};

Status resolveOperands(const artifact::Program &program,
                       const artifact::Instruction &instruction,
                       std::span<const int64_t> scalars, Operands &operands) {
  SHARDC_RETURN_IF_ERROR(
      resolveView(program, static_cast<uint32_t>(instruction.inputs()->Get(0)),
                  scalars, operands.input));
  return resolveView(program,
                     static_cast<uint32_t>(instruction.outputs()->Get(0)),
                     scalars, operands.output);
}

/// `except`: a dim that may differ, -1 for none.
bool sameDims(const TensorView &a, const TensorView &b, int except) {
  for (int d = 0; d < a.rank; ++d)
    if (d != except && a.dims[d] != b.dims[d])
      return false;
  return a.rank == b.rank;
}

/// Every element of the dim is in some block. It is in several where a dim is
/// split in some segments only: all ranks hold the others.
bool coverAll(std::span<const OwnedRuns> blocks, int64_t size) {
  std::vector<OwnedRun> runs;
  for (const OwnedRuns &block : blocks)
    runs.insert(runs.end(), block.runs.begin(), block.runs.end());
  std::sort(runs.begin(), runs.end(), [](const OwnedRun &a, const OwnedRun &b) {
    return a.start < b.start;
  });
  int64_t end = 0;
  for (const OwnedRun &run : runs) {
    if (run.start > end)
      return false;
    end = std::max(end, run.start + run.length);
  }
  return end == size;
}

/// The two views may be one, but must not overlap in another way.
Status checkOverlap(const BoundCollective &bound, const Operands &mine) {
  if (mine.input.buffer != mine.output.buffer)
    return Status::ok();
  const TensorView &in = mine.input.view, &out = mine.output.view;
  bool same = mine.input.byteOffset == mine.output.byteOffset &&
              std::equal(in.strides, in.strides + in.rank, out.strides);
  if (bound.kind == CollectiveKind::AllReduce && same)
    return Status::ok();
  return artifactError("its input and output overlap");
}

Status checkBlocks(const BoundCollective &bound, size_t self,
                   const Operands &mine) {
  const bool gather = isGather(bound.kind);
  const TensorView &whole = gather ? mine.output.view : mine.input.view;
  const TensorView &part = gather ? mine.input.view : mine.output.view;
  const int64_t size = whole.dims[bound.dim];
  for (const OwnedRuns &block : bound.blocks)
    if (block.globalSize != size)
      return artifactError("its layout has ", block.globalSize,
                           " elements, expected ", size);
  if (bound.blocks[self].localSize != part.dims[bound.dim])
    return artifactError("this rank owns ", bound.blocks[self].localSize,
                         " elements of its dim, but its block has ",
                         part.dims[bound.dim]);
  if (!coverAll(bound.blocks, size))
    return artifactError("the ranks' blocks do not cover its dim");
  return Status::ok();
}

Status bindAttributes(const artifact::Instruction &instruction,
                      std::span<const int> members,
                      std::span<const std::vector<int64_t>> allScalars,
                      BoundCollective &bound) {
  if (isRouted(bound.kind))
    bound.experts = findAttribute(instruction, "experts")->ints()->Get(0);
  else if (!isGather(bound.kind)) {
    const auto *text = findAttribute(instruction, "kind")->text();
    bound.reduce = text->string_view() == "max"   ? ReduceKind::Max
                   : text->string_view() == "min" ? ReduceKind::Min
                                                  : ReduceKind::Sum;
  }
  if (bound.kind == CollectiveKind::AllReduce)
    return Status::ok();
  bound.dim =
      static_cast<int>(findAttribute(instruction, "dim")->ints()->Get(0));
  const artifact::DimLayout *layout =
      findAttribute(instruction, "layout")->layout()->Get(0);
  bound.blocks.resize(members.size());
  for (size_t i = 0; i < members.size(); ++i)
    SHARDC_RETURN_IF_ERROR(resolveLayout(
        *layout, allScalars[static_cast<size_t>(members[i])], bound.blocks[i]));
  return Status::ok();
}

/// A row of choices for each token.
Status checkChoices(const artifact::Program &program,
                    const artifact::Instruction &instruction,
                    std::span<const int64_t> scalars, int64_t tokens) {
  ResolvedView choices;
  SHARDC_RETURN_IF_ERROR(
      resolveView(program, static_cast<uint32_t>(instruction.inputs()->Get(1)),
                  scalars, choices));
  if (choices.view.dims[0] != tokens)
    return artifactError("its choices are ", dimsText(choices.view), " for ",
                         tokens, " tokens");
  return Status::ok();
}

ExpertRouting routingOf(const BoundCollective &bound, const KernelCall &call) {
  return {call.inputs[1], bound.experts, bound.communicator->size()};
}

} // namespace

Status bindCollective(const artifact::Program &program,
                      const artifact::Instruction &instruction,
                      std::span<const int> members,
                      std::span<const std::vector<int64_t>> allScalars,
                      Communicator &communicator, BoundCollective &bound) {
  bound.kind = collectiveKind(instruction.kernel()->string_view());
  bound.communicator = &communicator;
  SHARDC_RETURN_IF_ERROR(
      bindAttributes(instruction, members, allScalars, bound));
  const auto self = static_cast<size_t>(communicator.index());
  auto scalarsOf = [&](size_t i) -> const std::vector<int64_t> & {
    return allScalars[static_cast<size_t>(members[i])];
  };
  Operands mine;
  SHARDC_RETURN_IF_ERROR(
      resolveOperands(program, instruction, scalarsOf(self), mine));
  const bool reduce = bound.kind == CollectiveKind::AllReduce;
  const int dim = reduce ? -1 : bound.dim;
  if (!sameDims(mine.input.view, mine.output.view, dim))
    return artifactError("its input ", dimsText(mine.input.view),
                         " and output ", dimsText(mine.output.view),
                         " do not fit");
  SHARDC_RETURN_IF_ERROR(checkOverlap(bound, mine));
  if (!reduce)
    SHARDC_RETURN_IF_ERROR(checkBlocks(bound, self, mine));
  for (size_t i = 0; i < members.size(); ++i) {
    Operands theirs;
    SHARDC_RETURN_IF_ERROR(
        resolveOperands(program, instruction, scalarsOf(i), theirs));
    if (!sameDims(mine.output.view, theirs.output.view, dim) ||
        !sameDims(mine.input.view, theirs.input.view, dim))
      return artifactError(
          "ranks ", members[self], " and ", members[i],
          " have different shapes: ", dimsText(mine.output.view), " and ",
          dimsText(theirs.output.view));
  }
  const TensorView &whole =
      isGather(bound.kind) ? mine.output.view : mine.input.view;
  if (isRouted(bound.kind))
    SHARDC_RETURN_IF_ERROR(
        checkChoices(program, instruction, scalarsOf(self), whole.dims[0]));
  bound.bytes = artifact::storageBytes(whole.element, whole.numElements());
  bound.wireBytes = bound.bytes * (reduce ? 2 : 1) *
                    (static_cast<int64_t>(members.size()) - 1);
  return Status::ok();
}

Status runCollective(const BoundCollective &bound, const KernelCall &call,
                     const CollectiveSite &site) {
  Communicator &communicator = *bound.communicator;
  switch (bound.kind) {
  case CollectiveKind::AllReduce:
    return communicator.allReduce(call.inputs[0], call.outputs[0], bound.reduce,
                                  site);
  case CollectiveKind::AllGather:
    return communicator.allGather(call.inputs[0], call.outputs[0], bound.dim,
                                  bound.blocks, site);
  case CollectiveKind::ReduceScatter:
    return communicator.reduceScatter(call.inputs[0], call.outputs[0],
                                      bound.dim, bound.blocks, bound.reduce,
                                      site);
  case CollectiveKind::Dispatch:
    return communicator.dispatch(call.inputs[0], call.outputs[0], bound.blocks,
                                 routingOf(bound, call), site);
  case CollectiveKind::Combine:
    return communicator.combine(call.inputs[0], call.outputs[0], bound.blocks,
                                routingOf(bound, call), site);
  case CollectiveKind::None:
    break;
  }
  return artifactError("not a collective");
}

} // namespace shardc::runtime
