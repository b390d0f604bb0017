//===- RankPlanMemory.cpp - Where a bound segment's values lie ------------===//
#include "runtime/plan/RankPlan.h"

#include <algorithm>
#include <unordered_map>

namespace shardc::runtime {

/// Offsets of arena buffers, then scratch.
Status RankPlan::planBuffers(const PlanContext &context, ArenaMemo &arena,
                             Offsets &offsets) {
  const std::vector<ArenaBufferUse> &uses = context.segment.arenaUses;
  std::vector<ArenaRequest> requests;
  requests.reserve(uses.size());
  for (const ArenaBufferUse &use : uses) {
    int64_t bytes = 0;
    SHARDC_RETURN_IF_ERROR(
        bufferBytes(context.program, use.buffer, scalars, bytes));
    requests.push_back({bytes, use.first, use.last});
  }
  const ArenaLayout &layout = arena.plan(std::move(requests));
  offsets = layout.offsets;
  int64_t scratch = 0;
  for (const BoundInstruction &instruction : bound)
    if (instruction.kernel && instruction.kernel->scratchBytes &&
        !instruction.runsOnHost)
      scratch =
          std::max(scratch, instruction.kernel->scratchBytes(instruction.call));
  scratchOffset = layout.bytes;
  totalBytes = scratchOffset + alignBuffer(scratch);
  return Status::ok();
}

/// Gives operands on fixed memory their address and notes how to find that of
/// the others.
Status RankPlan::placeOperands(const PlanContext &context,
                               const RankResources &resources,
                               Offsets offsets) {
  std::unordered_map<uint32_t, int64_t> carried;
  carriedUses.clear();
  carriedPatches.clear();
  arenaPatches.clear();
  inputPatches.resize(context.program.inputs()->size());
  for (std::vector<Patch> &patches : inputPatches)
    patches.clear();
  for (uint32_t i = 0; i < operands.size(); ++i) {
    if (operands[i].rank < 0)
      continue;
    const auto &[view, number, offset] = sources[i];
    const artifact::Buffer *buffer = context.program.buffers()->Get(number);
    if (context.carried[number]) {
      SHARDC_RETURN_IF_ERROR(
          bufferBytes(context.program, number, scalars, carried[number]));
      carriedPatches.push_back({{i, offset}, number});
    } else if (buffer->kind() == artifact::BufferKind_Arena)
      arenaPatches.push_back({i, offsets[context.arenaPlace[number]] + offset});
    else if (buffer->kind() == artifact::BufferKind_Input)
      inputPatches[buffer->source()].push_back({i, offset});
    else
      operands[i].data = resources.fixedBuffers[number] + offset;
  }
  for (const auto &[buffer, bytes] : carried)
    carriedUses.push_back({buffer, bytes});
  return Status::ok();
}

/// Through a collective, ranks read each other's parts; of small ones some may
/// have a copy and others not.
void RankPlan::findBorrowers(const PlanContext &context) {
  auto isCallers = [&](size_t operand, bool isShared) {
    if (operands[operand].rank < 0)
      return false;
    const artifact::Buffer *buffer =
        context.program.buffers()->Get(sources[operand].buffer);
    return buffer->kind() == artifact::BufferKind_Input &&
           (isShared || context.borrowed[buffer->source()]);
  };
  for (BoundInstruction &instruction : bound) {
    instruction.borrows = false;
    const auto first =
        static_cast<size_t>(instruction.call.inputs - operands.data());
    const auto count = static_cast<size_t>(instruction.call.numInputs);
    for (size_t i = first; !context.borrowed.empty() && i < first + count; ++i)
      instruction.borrows |= isCallers(i, instruction.collective >= 0);
  }
}

Status RankPlan::placeAll(const PlanContext &context,
                          const RankResources &resources, ArenaMemo &arena) {
  for (uint32_t i = 0; i < outputs.size(); ++i)
    SHARDC_RETURN_IF_ERROR(checkOutput(context, i));
  Offsets offsets;
  SHARDC_RETURN_IF_ERROR(planBuffers(context, arena, offsets));
  SHARDC_RETURN_IF_ERROR(placeOperands(context, resources, offsets));
  findBorrowers(context);
  boundArena = nullptr;
  boundScalars.assign(scalars.begin(), scalars.end());
  return Status::ok();
}

void RankPlan::bindArena(std::byte *arena) {
  if (arena == boundArena)
    return;
  boundArena = arena;
  for (const Patch &patch : arenaPatches)
    operands[patch.operand].data = arena + patch.byteOffset;
  for (BoundInstruction &instruction : bound)
    instruction.call.scratch = arena + scratchOffset;
}

void RankPlan::bindInput(size_t index, std::byte *data) {
  for (const Patch &patch : inputPatches[index])
    operands[patch.operand].data = data + patch.byteOffset;
}

void RankPlan::bindCarried(std::span<std::byte *const> memory) {
  for (const auto &[patch, buffer] : carriedPatches)
    operands[patch.operand].data = memory[buffer] + patch.byteOffset;
}

} // namespace shardc::runtime
