#include "runtime/runner/CapturedCalls.h"

#include <algorithm>

namespace shardc::runtime {
namespace {

bool isEqual(const TensorView &a, const TensorView &b) {
  return a.data == b.data && a.element == b.element && a.rank == b.rank &&
         a.skipped == b.skipped &&
         (a.rank <= 0 ||
          (std::equal(a.dims, a.dims + a.rank, b.dims) &&
           std::equal(a.strides, a.strides + a.rank, b.strides)));
}

/// Calls `visit(operand)` for inputs, then outputs, until one is refused.
template <typename Visit>
bool allOperands(const KernelCall &call, Visit visit) {
  return std::all_of(call.inputs, call.inputs + call.numInputs, visit) &&
         std::all_of(call.outputs, call.outputs + call.numOutputs, visit);
}

/// The same for the integers of its attributes: all else stays as it is.
template <typename Visit> bool allSizes(const KernelCall &call, Visit visit) {
  auto areAll = [&](const KernelAttribute &attribute) {
    return std::all_of(attribute.ints, attribute.ints + attribute.numInts,
                       visit);
  };
  return std::all_of(call.attributes, call.attributes + call.numAttributes,
                     areAll);
}

std::byte *scratchOf(const BoundInstruction &instruction) {
  return instruction.kernel && instruction.kernel->scratchBytes
             ? instruction.call.scratch
             : nullptr;
}

} // namespace

CapturedCalls::Call::Call(const BoundInstruction &instruction)
    : kernel(instruction.kernel), runsOnHost(instruction.runsOnHost),
      scratch(scratchOf(instruction)) {
  allOperands(instruction.call, [&](const TensorView &operand) {
    operands.push_back(operand);
    return true;
  });
  allSizes(instruction.call, [&](int64_t size) {
    sizes.push_back(size);
    return true;
  });
}

bool CapturedCalls::Call::operator==(
    const BoundInstruction &instruction) const {
  auto operand = operands.begin();
  auto size = sizes.begin();
  return kernel == instruction.kernel && runsOnHost == instruction.runsOnHost &&
         scratch == scratchOf(instruction) &&
         allOperands(
             instruction.call,
             [&](const TensorView &now) { return isEqual(*operand++, now); }) &&
         allSizes(instruction.call,
                  [&](int64_t now) { return *size++ == now; });
}

void CapturedCalls::take(const RankPlan &plan) {
  calls.clear();
  for (const BoundInstruction &instruction : plan.instructions())
    calls.emplace_back(instruction);
  collectives = plan.collectives();
}

std::vector<size_t> CapturedCalls::findChanged(const RankPlan &plan) const {
  std::vector<size_t> changed;
  for (size_t i = 0; i < calls.size(); ++i) {
    const BoundInstruction &instruction = plan.instructions()[i];
    const auto collective = static_cast<size_t>(instruction.collective);
    if (!(calls[i] == instruction) ||
        (instruction.collective >= 0 &&
         collectives[collective] != plan.collectives()[collective]))
      changed.push_back(i);
  }
  return changed;
}

void CapturedCalls::takeAgain(const RankPlan &plan,
                              std::span<const size_t> changed) {
  for (size_t i : changed)
    calls[i] = Call(plan.instructions()[i]);
  collectives = plan.collectives();
}

} // namespace shardc::runtime
