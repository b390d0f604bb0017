#include "runtime/exec/RankPlan.h"

#include "runtime/artifact/ProgramChecks.h"
#include "runtime/base/Message.h"
#include "runtime/exec/Kernel.h"

#include <algorithm>
#include <unordered_map>

namespace shardc::runtime {
namespace {

Status atInstruction(const artifact::Instruction &instruction,
                     const Status &status) {
  std::string node = instruction.node() ? instruction.node()->str() : "";
  return Status::error(status.code(),
                       message(instruction.kernel()->c_str(), " at node '",
                               node, "': ", status.message()));
}

} // namespace

void RankPlan::reserve(const PlanContext &context) {
  const Segment &segment = context.segment;
  size_t numOperands = segment.isLast ? context.program.outputs()->size() : 0;
  size_t numAttributes = 0, numInts = 0;
  for (uint32_t i = segment.first; i < segment.end; ++i) {
    const artifact::Instruction *instruction = context.instructions.Get(i);
    numOperands += instruction->inputs()->size();
    numOperands += instruction->outputs()->size();
    if (!instruction->attributes())
      continue;
    numAttributes += instruction->attributes()->size();
    for (const artifact::Attribute *attribute : *instruction->attributes())
      if (attribute->scalars())
        numInts += attribute->scalars()->size();
  }
  bound.reserve(segment.end - segment.first);
  operands.reserve(numOperands);
  unplaced.reserve(numOperands);
  replicated.reserve(numOperands);
  attributes.reserve(numAttributes);
  attributeInts.reserve(numInts);
}

Status RankPlan::bindOperand(const PlanContext &context, int32_t view) {
  ResolvedView resolved;
  resolved.view.rank = -1; // absent
  bool same = false;
  if (view >= 0) {
    auto index = static_cast<uint32_t>(view);
    SHARDC_RETURN_IF_ERROR(
        resolveView(context.program, index, scalars, resolved));
    same = context.program.views()->Get(index)->replicated();
  }
  operands.push_back(resolved.view);
  unplaced.push_back(resolved);
  replicated.push_back(same);
  return Status::ok();
}

Status RankPlan::bindAttributes(const artifact::Instruction &instruction,
                                BoundInstruction &into) {
  if (!instruction.attributes())
    return Status::ok();
  into.call.attributes = attributes.data() + attributes.size();
  into.call.numAttributes = static_cast<int>(instruction.attributes()->size());
  for (const artifact::Attribute *from : *instruction.attributes()) {
    KernelAttribute attribute;
    attribute.name = from->name()->string_view();
    if (from->scalars() && from->scalars()->size() > 0) {
      attribute.ints = attributeInts.data() + attributeInts.size();
      attribute.numInts = static_cast<int>(from->scalars()->size());
      for (uint32_t scalar : *from->scalars())
        attributeInts.push_back(scalars[scalar]);
    } else if (from->ints()) {
      attribute.ints = from->ints()->data();
      attribute.numInts = static_cast<int>(from->ints()->size());
    }
    if (from->floats()) {
      attribute.floats = from->floats()->data();
      attribute.numFloats = static_cast<int>(from->floats()->size());
    }
    if (from->text())
      attribute.text = from->text()->string_view();
    attributes.push_back(attribute);
  }
  return Status::ok();
}

/// The device's own; values go to the host's where it has none.
Status RankPlan::findKernel(const RankResources &resources,
                            BoundInstruction &into) {
  if (artifact::isGeneratedKernel(into.name))
    into.kernel =
        resources.library ? resources.library->find(into.name) : nullptr;
  else
    into.kernel = resources.device->findKernel(into.name);
  if (!into.kernel) {
    into.kernel = findHostKernel(into.name);
    into.runsOnHost = true;
  }
  if (!into.kernel)
    return artifactError("there is no kernel ", into.name);
  into.call.code = into.kernel->code;
  return Status::ok();
}

Status RankPlan::bindInstruction(const PlanContext &context,
                                 const RankResources &resources,
                                 uint32_t index) {
  const artifact::Instruction &instruction = *context.instructions.Get(index);
  BoundInstruction into;
  into.index = index;
  into.source = &instruction;
  into.name = instruction.kernel()->string_view();
  if (instruction.node())
    into.node = instruction.node()->string_view();
  into.call.inputs = operands.data() + operands.size();
  into.call.numInputs = static_cast<int>(instruction.inputs()->size());
  for (int32_t view : *instruction.inputs())
    SHARDC_RETURN_IF_ERROR(bindOperand(context, view));
  into.call.outputs = operands.data() + operands.size();
  into.call.numOutputs = static_cast<int>(instruction.outputs()->size());
  for (int32_t view : *instruction.outputs()) {
    SHARDC_RETURN_IF_ERROR(bindOperand(context, view));
    into.replicated |= replicated.back() != 0;
  }
  SHARDC_RETURN_IF_ERROR(bindAttributes(instruction, into));
  if (hostInstruction(into.name) != HostInstruction::None) {
    // The engine does it, when the segment is over.
  } else if (into.name == artifact::kSend || into.name == artifact::kReceive) {
    into.channel = resources.channels[index];
  } else if (callsKernel(into.name)) {
    SHARDC_RETURN_IF_ERROR(findKernel(resources, into));
  } else {
    SHARDC_RETURN_IF_ERROR(bindCommunication(context, resources, into));
  }
  bound.push_back(into);
  return Status::ok();
}

/// A collective, or the wait for one.
Status RankPlan::bindCommunication(const PlanContext &context,
                                   const RankResources &resources,
                                   BoundInstruction &into) {
  into.flight = flightOf(*into.source);
  const auto flight = static_cast<size_t>(std::max(into.flight, 0));
  inFlight.resize(std::max(inFlight.size(), flight + 1));
  if (into.name == artifact::kWait) {
    into.awaits = inFlight[flight];
    return Status::ok();
  }
  const auto group = static_cast<size_t>(into.source->group());
  Communicator &communicator = *resources.communicators[group];
  if (into.flight >= 0) {
    inFlight[flight] = &communicator;
    into.replicated = false; // not before it is awaited
  }
  const GroupPartition &partition = context.groups[group];
  const auto rank = static_cast<size_t>(resources.rank);
  into.collective = static_cast<int>(boundCollectives.size());
  boundCollectives.emplace_back();
  return bindCollective(
      context.program, *into.source,
      partition.groups[static_cast<size_t>(partition.groupOf[rank])],
      context.allScalars, communicator, boundCollectives.back());
}

/// Whether the last two dims of a view are the same bytes in all runs.
static bool isConstantMatrix(const PlanContext &context, uint32_t index) {
  const artifact::View *view = context.program.views()->Get(index);
  const artifact::BufferKind kind =
      context.program.buffers()->Get(view->buffer())->kind();
  if (kind != artifact::BufferKind_Weight &&
      kind != artifact::BufferKind_Persistent)
    return false;
  auto isFixed = [&](uint32_t scalar) {
    return (context.dependence[scalar] & kOnSymbols) == 0;
  };
  bool isConstant = isFixed(view->offset()) && view->dims()->size() >= 2;
  for (uint32_t i = 1; isConstant && i <= 2; ++i) {
    const uint32_t d = view->dims()->size() - i;
    isConstant =
        isFixed(view->dims()->Get(d)) && isFixed(view->strides()->Get(d));
  }
  return isConstant;
}

Status RankPlan::packOperands(const PlanContext &context,
                              const RankResources &resources) {
  if (!resources.packed)
    return Status::ok();
  for (BoundInstruction &instruction : bound) {
    const OperandPacking *packing =
        instruction.kernel ? instruction.kernel->packing : nullptr;
    if (!packing || packing->input >= instruction.call.numInputs)
      continue;
    const int32_t view = instruction.source->inputs()->Get(
        static_cast<uint32_t>(packing->input));
    if (view < 0 || !isConstantMatrix(context, static_cast<uint32_t>(view)))
      continue;
    TensorView operand = instruction.call.inputs[packing->input];
    const ResolvedView &resolved =
        unplaced[static_cast<size_t>(instruction.call.inputs -
                                     operands.data()) +
                 static_cast<size_t>(packing->input)];
    operand.data =
        resources.fixedBuffers[resolved.buffer] + resolved.byteOffset;
    if (Status status =
            resources.packed->find(*packing, operand, instruction.call.packed);
        !status.isOk())
      return atInstruction(*instruction.source, status);
  }
  return Status::ok();
}

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
  inputPatches.resize(context.program.inputs()->size());
  for (uint32_t i = 0; i < operands.size(); ++i) {
    if (operands[i].rank < 0)
      continue;
    const ResolvedView &resolved = unplaced[i];
    const artifact::Buffer *buffer =
        context.program.buffers()->Get(resolved.buffer);
    const int64_t offset = resolved.byteOffset;
    if (context.carried[resolved.buffer]) {
      SHARDC_RETURN_IF_ERROR(bufferBytes(context.program, resolved.buffer,
                                         scalars, carried[resolved.buffer]));
      carriedPatches.push_back({{i, offset}, resolved.buffer});
    } else if (buffer->kind() == artifact::BufferKind_Arena)
      arenaPatches.push_back(
          {i, offsets[context.arenaPlace[resolved.buffer]] + offset});
    else if (buffer->kind() == artifact::BufferKind_Input)
      inputPatches[buffer->source()].push_back({i, offset});
    else
      operands[i].data = resources.fixedBuffers[resolved.buffer] + offset;
  }
  for (const auto &[buffer, bytes] : carried)
    carriedUses.push_back({buffer, bytes});
  unplaced = {};
  return Status::ok();
}

Status RankPlan::placeOutput(const PlanContext &context, uint32_t index) {
  const artifact::Output *output = context.program.outputs()->Get(index);
  SHARDC_RETURN_IF_ERROR(
      bindOperand(context, static_cast<int32_t>(output->view())));
  const TensorView &local = operands.back();
  for (uint32_t d = 0; d < output->dims()->size(); ++d) {
    OwnedRuns owned;
    SHARDC_RETURN_IF_ERROR(
        resolveLayout(*output->layout()->Get(d), scalars, owned));
    if (owned.globalSize != scalars[output->dims()->Get(d)] ||
        owned.localSize != local.dims[d])
      return artifactError("output '", output->name()->c_str(), "': dim ", d,
                           " and its layout disagree");
  }
  outputs.push_back(&local);
  return Status::ok();
}

Status RankPlan::prepare(const PlanContext &context,
                         const RankResources &resources, ArenaMemo &arena) {
  scalars = context.allScalars[static_cast<size_t>(resources.rank)];
  reserve(context);
  for (uint32_t i = context.segment.first; i < context.segment.end; ++i)
    if (Status status = bindInstruction(context, resources, i); !status.isOk())
      return atInstruction(*context.instructions.Get(i), status);
  if (context.segment.isLast)
    for (uint32_t i = 0; i < context.program.outputs()->size(); ++i)
      SHARDC_RETURN_IF_ERROR(placeOutput(context, i));
  SHARDC_RETURN_IF_ERROR(packOperands(context, resources));
  Offsets offsets;
  SHARDC_RETURN_IF_ERROR(planBuffers(context, arena, offsets));
  return placeOperands(context, resources, offsets);
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
