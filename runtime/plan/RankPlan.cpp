#include "runtime/plan/RankPlan.h"

#include "runtime/artifact/Instructions.h"
#include "runtime/artifact/ScalarDependence.h"
#include "runtime/base/Message.h"
#include "runtime/kernels/Kernel.h"
#include "runtime/program/AttributeValues.h"
#include "runtime/weights/ConstantMatrix.h"

#include <algorithm>
#include <unordered_map>

namespace shardc::runtime {
namespace {

Status atInstruction(const artifact::Instruction &instruction,
                     const Status &status) {
  std::string node = instruction.node() ? instruction.node()->str() : "";
  const std::string kernel = instruction.kernel()->str();
  return status
      .saying(message(kernel, " at node '", node, "': ", status.message()))
      .at({.kernel = kernel, .node = node});
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
    numInts += numAttributeScalars(*instruction);
    if (instruction->attributes())
      numAttributes += instruction->attributes()->size();
  }
  bound.reserve(segment.end - segment.first);
  operands.reserve(numOperands);
  sources.reserve(numOperands);
  replicated.reserve(numOperands);
  attributes.reserve(numAttributes);
  attributeInts.reserve(numInts);
  attributeScalars.reserve(numInts);
}

Status RankPlan::resolveOperand(const PlanContext &context,
                                const RankResources &resources,
                                size_t operand) {
  OperandSource &source = sources[operand];
  ResolvedView resolved;
  SHARDC_RETURN_IF_ERROR(resolveView(
      context.program, static_cast<uint32_t>(source.view), scalars, resolved));
  if (const BlockLayout *block = resources.blocks[resolved.buffer])
    SHARDC_RETURN_IF_ERROR(seeBlock(*block, resolved));
  operands[operand] = resolved.view;
  source.buffer = resolved.buffer;
  source.byteOffset = resolved.byteOffset;
  return Status::ok();
}

Status RankPlan::bindOperand(const PlanContext &context,
                             const RankResources &resources, int32_t view) {
  operands.emplace_back().rank = -1; // absent
  sources.push_back({view});
  replicated.push_back(
      view >= 0 &&
      context.program.views()->Get(static_cast<uint32_t>(view))->replicated());
  return view < 0 ? Status::ok()
                  : resolveOperand(context, resources, operands.size() - 1);
}

Status RankPlan::bindAttributes(const artifact::Instruction &instruction,
                                BoundInstruction &into) {
  if (!instruction.attributes())
    return Status::ok();
  into.call.attributes = attributes.data() + attributes.size();
  into.call.numAttributes = static_cast<int>(instruction.attributes()->size());
  for (const artifact::Attribute *from : *instruction.attributes()) {
    const int64_t *values = attributeInts.data() + attributeInts.size();
    if (from->scalars())
      for (uint32_t scalar : *from->scalars()) {
        attributeInts.push_back(scalars[scalar]);
        attributeScalars.push_back(scalar);
      }
    attributes.push_back(attributeOf(*from, values));
  }
  return Status::ok();
}

static bool takeHostKernel(BoundInstruction &into) {
  const Kernel *kernel = findHostKernel(into.name);
  if (!kernel)
    return false;
  into.kernel = kernel;
  into.call.code = kernel->code;
  into.runsOnHost = true;
  return true;
}

/// Whether the compiler relies on the order in which the host's kernel adds up.
static bool asksForOrder(const artifact::Instruction &instruction) {
  if (instruction.attributes())
    for (const artifact::Attribute *attribute : *instruction.attributes())
      if (attribute->name()->string_view() == "in_order")
        return true;
  return false;
}

/// The device's own; values go to the host's where it has none.
Status RankPlan::findKernel(const RankResources &resources,
                            BoundInstruction &into) {
  if (!resources.device->isHost() && asksForOrder(*into.source))
    return artifactError(
        "the artifact was compiled with --bitwise, whose order "
        "of sums only processors keep; run it on the host, or "
        "compile without");
  if (artifact::isGeneratedKernel(into.name))
    into.kernel =
        resources.library ? resources.library->find(into.name) : nullptr;
  else
    into.kernel = resources.device->findKernel(into.name);
  if (into.kernel)
    into.call.code = into.kernel->code;
  else if (!takeHostKernel(into))
    return artifactError("there is no kernel ", into.name);
  return Status::ok();
}

bool RankPlan::moveToHost(const BoundInstruction &instruction) {
  return takeHostKernel(
      bound[static_cast<size_t>(&instruction - bound.data())]);
}

Status RankPlan::bindCollectiveOf(const PlanContext &context,
                                  const RankResources &resources,
                                  const BoundInstruction &instruction) {
  const auto group = static_cast<size_t>(instruction.source->group());
  const GroupPartition &partition = context.groups[group];
  const auto rank = static_cast<size_t>(resources.rank);
  BoundCollective &into =
      boundCollectives[static_cast<size_t>(instruction.collective)];
  into = BoundCollective();
  return bindCollective(
      context.program, *instruction.source,
      partition.groups[static_cast<size_t>(partition.groupOf[rank])],
      context.scalars, *resources.communicators[group], into);
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
    SHARDC_RETURN_IF_ERROR(bindOperand(context, resources, view));
  into.call.outputs = operands.data() + operands.size();
  into.call.numOutputs = static_cast<int>(instruction.outputs()->size());
  for (int32_t view : *instruction.outputs()) {
    SHARDC_RETURN_IF_ERROR(bindOperand(context, resources, view));
    into.replicated |= replicated.back() != 0;
  }
  SHARDC_RETURN_IF_ERROR(bindAttributes(instruction, into));
  if (hostInstruction(into.name) != HostInstruction::None) {
    // The stage does it, when the segment is over.
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
  if (into.flight >= 0) {
    const auto group = static_cast<size_t>(into.source->group());
    inFlight[flight] = resources.communicators[group].get();
    into.replicated = false; // not before it is awaited
  }
  into.collective = static_cast<int>(boundCollectives.size());
  boundCollectives.emplace_back();
  return bindCollectiveOf(context, resources, into);
}

/// Whether a view is of a buffer that is the same in all runs.
static bool isKept(const PlanContext &context, uint32_t view) {
  const artifact::BufferKind kind =
      context.program.buffers()
          ->Get(context.program.views()->Get(view)->buffer())
          ->kind();
  return kind == artifact::BufferKind_Weight ||
         kind == artifact::BufferKind_Joined ||
         kind == artifact::BufferKind_Persistent;
}

Status RankPlan::packOperands(const PlanContext &context,
                              const RankResources &resources) {
  if (!resources.packed)
    return Status::ok();
  for (BoundInstruction &instruction : bound)
    if (instruction.kernel)
      for (size_t i = 0; i < instruction.kernel->packings.size(); ++i)
        if (Status status = packOperand(context, resources, instruction, i);
            !status.isOk())
          return atInstruction(*instruction.source, status);
  return Status::ok();
}

Status RankPlan::packOperand(const PlanContext &context,
                             const RankResources &resources,
                             BoundInstruction &instruction, size_t index) {
  const OperandPacking &packing = instruction.kernel->packings[index];
  if (packing.input >= instruction.call.numInputs)
    return Status::ok();
  const int32_t view =
      instruction.source->inputs()->Get(static_cast<uint32_t>(packing.input));
  if (view < 0 || !isKept(context, static_cast<uint32_t>(view)) ||
      !findConstantMatrix(context.program, context.dependence, scalars,
                          static_cast<uint32_t>(view), packing.rank) ||
      (packing.replaces && !packing.replaces(instruction.call)))
    return Status::ok();
  TensorView operand = instruction.call.inputs[packing.input];
  const OperandSource &source =
      sources[static_cast<size_t>(instruction.call.inputs - operands.data()) +
              static_cast<size_t>(packing.input)];
  operand.data = resources.fixedBuffers[source.buffer] + source.byteOffset;
  SHARDC_RETURN_IF_ERROR(resources.packed->find(
      packing, operand, resources.transients[source.buffer],
      instruction.call.packed[index], unpacked));
  unpackedOf.resize(unpacked.size(),
                    static_cast<size_t>(&instruction - bound.data()));
  return Status::ok();
}

Status RankPlan::packUntil(size_t instruction) {
  while (hasUnpacked() && unpackedOf[nextUnpacked] <= instruction)
    if (Status status = unpacked[nextUnpacked].pack(); status.isOk())
      ++nextUnpacked;
    else
      return status; // a later run tries again
  return Status::ok();
}

Status RankPlan::checkOutput(const PlanContext &context, uint32_t index) const {
  const artifact::Output *output = context.program.outputs()->Get(index);
  for (uint32_t d = 0; d < output->dims()->size(); ++d) {
    OwnedRuns owned;
    SHARDC_RETURN_IF_ERROR(
        resolveLayout(*output->layout()->Get(d), scalars, owned));
    if (owned.globalSize != scalars[output->dims()->Get(d)] ||
        owned.localSize != outputs[index]->dims[d])
      return artifactError("output '", output->name()->c_str(), "': dim ", d,
                           " and its layout disagree");
  }
  return Status::ok();
}

Status RankPlan::prepare(const PlanContext &context,
                         const RankResources &resources, ArenaMemo &arena) {
  *this = RankPlan();
  scalars = context.scalars.mine();
  reserve(context);
  for (uint32_t i = context.segment.first; i < context.segment.end; ++i)
    if (Status status = bindInstruction(context, resources, i); !status.isOk())
      return atInstruction(*context.instructions.Get(i), status);
  if (context.segment.isLast)
    for (const artifact::Output *output : *context.program.outputs()) {
      SHARDC_RETURN_IF_ERROR(bindOperand(context, resources,
                                         static_cast<int32_t>(output->view())));
      outputs.push_back(&operands.back());
    }
  SHARDC_RETURN_IF_ERROR(packOperands(context, resources));
  return placeAll(context, resources, arena);
}

/// Whether a view has other dims, strides or offset than before.
static bool isChanged(const artifact::Program &program, uint32_t index,
                      std::span<const char> changed) {
  const artifact::View *view = program.views()->Get(index);
  auto isScalarChanged = [&](uint32_t scalar) { return changed[scalar] != 0; };
  const artifact::Buffer *buffer = program.buffers()->Get(view->buffer());
  return isScalarChanged(view->offset()) || isScalarChanged(buffer->bytes()) ||
         std::any_of(view->dims()->begin(), view->dims()->end(),
                     isScalarChanged) ||
         std::any_of(view->strides()->begin(), view->strides()->end(),
                     isScalarChanged);
}

Status RankPlan::rebindInstruction(const PlanContext &context,
                                   const RankResources &resources,
                                   const BoundInstruction &instruction,
                                   std::span<const char> changed) {
  const auto first =
      static_cast<size_t>(instruction.call.inputs - operands.data());
  const auto count = static_cast<size_t>(instruction.call.numInputs +
                                         instruction.call.numOutputs);
  for (size_t i = first; i < first + count; ++i)
    if (sources[i].view >= 0 &&
        isChanged(context.program, static_cast<uint32_t>(sources[i].view),
                  changed))
      SHARDC_RETURN_IF_ERROR(resolveOperand(context, resources, i));
  // The other ranks' scalars may have changed where this rank's have not.
  return instruction.collective < 0
             ? Status::ok()
             : bindCollectiveOf(context, resources, instruction);
}

Status RankPlan::rebind(const PlanContext &context,
                        const RankResources &resources, ArenaMemo &arena) {
  scalars = context.scalars.mine();
  std::vector<char> changed(scalars.size());
  for (size_t i = 0; i < changed.size(); ++i)
    changed[i] = scalars[i] != boundScalars[i];
  boundScalars.clear(); // in between it is bound to none
  for (const BoundInstruction &instruction : bound)
    if (Status status =
            rebindInstruction(context, resources, instruction, changed);
        !status.isOk())
      return atInstruction(*instruction.source, status);
  for (const TensorView *output : outputs)
    SHARDC_RETURN_IF_ERROR(resolveOperand(
        context, resources, static_cast<size_t>(output - operands.data())));
  for (size_t i = 0; i < attributeInts.size(); ++i)
    attributeInts[i] = scalars[attributeScalars[i]];
  return placeAll(context, resources, arena);
}

} // namespace shardc::runtime
