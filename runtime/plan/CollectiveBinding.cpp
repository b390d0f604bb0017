#include "runtime/plan/CollectiveBinding.h"

#include "runtime/base/Message.h"
#include "runtime/program/ViewResolver.h"
#include "runtime/tensor/CopyView.h"

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

/// Dims that may differ.
using Except = std::initializer_list<int>;

bool sameDims(const TensorView &a, const TensorView &b, Except except) {
  for (int d = 0; d < a.rank && d < b.rank; ++d)
    if (a.dims[d] != b.dims[d] &&
        std::find(except.begin(), except.end(), d) == except.end())
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
  if (bound.form->whole == artifact::WholeSide::Both && same)
    return Status::ok();
  return artifactError("its input and output overlap");
}

/// The ranks' parts of a dim cover all of `size` elements, and this rank's has
/// as many as `part`.
Status checkBlocks(std::span<const OwnedRuns> blocks, size_t self, int64_t size,
                   int64_t part) {
  for (const OwnedRuns &block : blocks)
    if (block.globalSize != size)
      return artifactError("its layout has ", block.globalSize,
                           " elements, expected ", size);
  if (blocks[self].localSize != part)
    return artifactError("this rank owns ", blocks[self].localSize,
                         " elements of its dim, but its block has ", part);
  if (!coverAll(blocks, size))
    return artifactError("the ranks' blocks do not cover its dim");
  return Status::ok();
}

Status checkBlocks(const BoundCollective &bound, size_t self,
                   const Operands &mine) {
  const TensorView &in = mine.input.view, &out = mine.output.view;
  const int dim = bound.split.dim, to = bound.to.dim;
  const std::vector<OwnedRuns> &blocks = bound.split.blocks;
  if (bound.form->splitDims == 0)
    return Status::ok();
  if (bound.form->whole == artifact::WholeSide::Output)
    return checkBlocks(blocks, self, out.dims[dim], in.dims[dim]);
  if (bound.form->whole == artifact::WholeSide::Input)
    return checkBlocks(blocks, self, in.dims[dim], out.dims[dim]);
  // Of one dim both sides have parts alone: its size stands in the layouts.
  const bool isOne = dim == to;
  const int64_t size = blocks[self].globalSize;
  SHARDC_RETURN_IF_ERROR(
      checkBlocks(blocks, self, isOne ? size : out.dims[dim], in.dims[dim]));
  return checkBlocks(bound.to.blocks, self, isOne ? size : in.dims[to],
                     out.dims[to]);
}

/// Dim number `index` of the instruction, with the ranks' parts of it.
Status bindDim(const artifact::Instruction &instruction, uint32_t index,
               std::span<const int> members, StageScalars &scalars,
               DimBlocks &bound) {
  bound.dim =
      static_cast<int>(findAttribute(instruction, "dim")->ints()->Get(index));
  const artifact::DimLayout *layout =
      findAttribute(instruction, "layout")->layout()->Get(index);
  bound.blocks.resize(members.size());
  for (size_t i = 0; i < members.size(); ++i) {
    std::span<const int64_t> of;
    SHARDC_RETURN_IF_ERROR(scalars.of(members[i], of));
    SHARDC_RETURN_IF_ERROR(resolveLayout(*layout, of, bound.blocks[i]));
  }
  return Status::ok();
}

/// Either their number, of which members have equal parts, or bounds.
Status bindExperts(const flatbuffers::Vector<int64_t> &given, size_t members,
                   std::vector<int64_t> &bounds) {
  if (given.size() == 1) {
    const auto ways = static_cast<int64_t>(members);
    for (int64_t member = 0; member <= ways; ++member)
      bounds.push_back(wayBegin(given.Get(0), ways, member));
    return Status::ok();
  }
  if (given.size() != members + 1)
    return artifactError("its experts lie on ", given.size() - 1,
                         " ranks, its group has ", members);
  bounds.assign(given.begin(), given.end());
  return Status::ok();
}

Status bindAttributes(const artifact::Instruction &instruction,
                      std::span<const int> members, StageScalars &scalars,
                      BoundCollective &bound) {
  const CollectiveForm &form = *bound.form;
  if (form.hasDistance)
    bound.distance = static_cast<int>(
        findAttribute(instruction, "distance")->ints()->Get(0) %
        static_cast<int64_t>(members.size()));
  if (form.reduces) {
    const auto *text = findAttribute(instruction, "kind")->text();
    bound.reduce = text->string_view() == "max"   ? ReduceKind::Max
                   : text->string_view() == "min" ? ReduceKind::Min
                                                  : ReduceKind::Sum;
  }
  if (form.isRouted)
    SHARDC_RETURN_IF_ERROR(
        bindExperts(*findAttribute(instruction, "experts")->ints(),
                    members.size(), bound.experts));
  if (form.splitDims > 0)
    SHARDC_RETURN_IF_ERROR(
        bindDim(instruction, 0, members, scalars, bound.split));
  if (form.splitDims > 1)
    SHARDC_RETURN_IF_ERROR(bindDim(instruction, 1, members, scalars, bound.to));
  return Status::ok();
}

/// The operands of all ranks of a group, by index in it.
using GroupOperands = std::vector<Operands>;

Status checkShapes(const BoundCollective &bound, std::span<const int> members,
                   size_t self, const GroupOperands &all) {
  const Operands &mine = all[self];
  const int dim = bound.form->splitDims > 0 ? bound.split.dim : -1;
  const int to = bound.form->splitDims > 1 ? bound.to.dim : dim;
  if (!sameDims(mine.input.view, mine.output.view, {dim, to}))
    return artifactError("its input ", dimsText(mine.input.view),
                         " and output ", dimsText(mine.output.view),
                         " do not fit");
  SHARDC_RETURN_IF_ERROR(checkBlocks(bound, self, mine));
  for (size_t i = 0; i < members.size(); ++i)
    if (!sameDims(mine.output.view, all[i].output.view, {to}) ||
        !sameDims(mine.input.view, all[i].input.view, {dim}))
      return artifactError(
          "ranks ", members[self], " and ", members[i],
          " have different shapes: ", dimsText(mine.output.view), " and ",
          dimsText(all[i].output.view));
  return Status::ok();
}

/// Every rank's output is as large as the input that it gets.
Status checkShift(const BoundCollective &bound, std::span<const int> members,
                  const GroupOperands &all) {
  for (size_t i = 0; i < members.size(); ++i) {
    const size_t source =
        (i + static_cast<size_t>(bound.distance)) % members.size();
    const TensorView &out = all[i].output.view, &in = all[source].input.view;
    if (!sameDims(out, in, {}))
      return artifactError("rank ", members[i], " has room for ", dimsText(out),
                           ", but gets ", dimsText(in), " from rank ",
                           members[source]);
  }
  return Status::ok();
}

/// What the group holds together, and what its ranks send.
void countBytes(const GroupOperands &all, size_t self, BoundCollective &bound) {
  const TensorView &in = all[self].input.view, &out = all[self].output.view;
  const auto ranks = static_cast<int64_t>(all.size());
  const CollectiveForm &form = *bound.form;
  const bool hasParts = form.splitDims > 1;
  TensorView whole = form.whole == artifact::WholeSide::Output ? out : in;
  if (hasParts)
    whole.dims[bound.split.dim] = bound.split.blocks[self].globalSize;
  bound.bytes = viewBytes(whole);
  bound.wireBytes =
      bound.bytes * form.passes * (ranks - 1) / (hasParts ? ranks : 1);
  if (!form.hasDistance)
    return;
  bound.bytes = 0;
  for (const Operands &operands : all)
    bound.bytes += viewBytes(operands.input.view);
  bound.wireBytes = bound.distance == 0 ? 0 : bound.bytes;
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
  return {call.inputs[1], bound.experts};
}

} // namespace

Status bindCollective(const artifact::Program &program,
                      const artifact::Instruction &instruction,
                      std::span<const int> members, StageScalars &scalars,
                      Communicator &communicator, BoundCollective &bound) {
  bound.form = collectiveForm(instruction.kernel()->string_view());
  bound.communicator = &communicator;
  SHARDC_RETURN_IF_ERROR(bindAttributes(instruction, members, scalars, bound));
  const auto self = static_cast<size_t>(communicator.index());
  GroupOperands all(members.size());
  for (size_t i = 0; i < members.size(); ++i) {
    std::span<const int64_t> of;
    SHARDC_RETURN_IF_ERROR(scalars.of(members[i], of));
    SHARDC_RETURN_IF_ERROR(resolveOperands(program, instruction, of, all[i]));
  }
  SHARDC_RETURN_IF_ERROR(checkOverlap(bound, all[self]));
  SHARDC_RETURN_IF_ERROR(bound.form->hasDistance
                             ? checkShift(bound, members, all)
                             : checkShapes(bound, members, self, all));
  if (bound.form->isRouted)
    SHARDC_RETURN_IF_ERROR(checkChoices(program, instruction, scalars.mine(),
                                        bound.split.blocks[self].globalSize));
  countBytes(all, self, bound);
  return Status::ok();
}

Status runCollective(const BoundCollective &bound, const KernelCall &call,
                     const CollectiveSite &site) {
  Communicator &communicator = *bound.communicator;
  const TensorView &input = call.inputs[0], &output = call.outputs[0];
  switch (bound.form->kind) {
  case CollectiveKind::AllReduce:
    return communicator.allReduce(input, output, bound.reduce, site);
  case CollectiveKind::AllGather:
    return communicator.allGather(input, output, bound.split.dim,
                                  bound.split.blocks, site);
  case CollectiveKind::ReduceScatter:
    return communicator.reduceScatter(input, output, bound.split.dim,
                                      bound.split.blocks, bound.reduce, site);
  case CollectiveKind::Dispatch:
    return communicator.dispatch(input, output, bound.split.blocks,
                                 routingOf(bound, call), site);
  case CollectiveKind::Combine:
    return communicator.combine(input, output, bound.split.blocks,
                                routingOf(bound, call), site);
  case CollectiveKind::AllToAll:
    return communicator.allToAll(input, output, bound.split, bound.to, site);
  case CollectiveKind::Shift:
    return communicator.shift(input, output, bound.distance, site);
  }
  return artifactError("not a collective");
}

} // namespace shardc::runtime
