#include "runtime/artifact/check/TransferChecks.h"

#include "runtime/artifact/check/ProgramChecks.h"
#include "runtime/base/Message.h"

#include <map>
#include <set>

namespace shardc::runtime {

std::optional<TransferEnd>
transferOf(const artifact::Instruction &instruction) {
  const std::string_view kernel = instruction.kernel()->string_view();
  if (kernel != artifact::kSend && kernel != artifact::kReceive)
    return std::nullopt;
  auto number = [&](const char *name) -> int64_t {
    const artifact::Attribute *attribute = findAttribute(instruction, name);
    return attribute && attribute->ints() && attribute->ints()->size() == 1
               ? attribute->ints()->Get(0)
               : -1;
  };
  const int64_t stage = number("stage"), transfer = number("transfer");
  if (stage < 0 || stage > INT32_MAX || transfer < 0)
    return std::nullopt;
  return TransferEnd{kernel == artifact::kSend, static_cast<int>(stage),
                     transfer};
}

/// send and receive have one view, and stand in `run`.
Status ProgramChecker::checkTransfer(const artifact::Instruction &instruction,
                                     bool load) {
  const std::string_view kernel = instruction.kernel()->string_view();
  if (kernel != artifact::kSend && kernel != artifact::kReceive)
    return Status::ok();
  const bool isSend = kernel == artifact::kSend;
  const auto *some = isSend ? instruction.inputs() : instruction.outputs();
  const auto *none = isSend ? instruction.outputs() : instruction.inputs();
  if (load || some->size() != 1 || some->Get(0) < 0 || none->size() != 0 ||
      !transferOf(instruction))
    return artifactError(kernel, " must have one ", isSend ? "input" : "output",
                         ", a stage and a transfer, in run");
  return Status::ok();
}

namespace {

struct Sent {
  int from, to;
  artifact::ElementType element;
  bool isReceived = false;
};

artifact::ElementType elementOf(const artifact::Program &program,
                                const artifact::Instruction &instruction,
                                bool isSend) {
  const auto *views = isSend ? instruction.inputs() : instruction.outputs();
  return program.views()->Get(static_cast<uint32_t>(views->Get(0)))->element();
}

Status addStage(const artifact::Program &program, int stage,
                std::map<int64_t, Sent> &sent) {
  for (const artifact::Instruction *instruction : *program.run()) {
    const std::optional<TransferEnd> end = transferOf(*instruction);
    if (!end)
      continue;
    const artifact::ElementType element =
        elementOf(program, *instruction, end->isSend);
    if (end->isSend) {
      if (end->stage <= stage ||
          !sent.emplace(end->number, Sent{stage, end->stage, element}).second)
        return artifactError("stage ", stage, " sends transfer ", end->number,
                             " again, or to an earlier stage");
      continue;
    }
    auto found = sent.find(end->number);
    if (found == sent.end() || found->second.isReceived ||
        found->second.from != end->stage || found->second.to != stage ||
        found->second.element != element)
      return artifactError("stage ", stage, " receives transfer ", end->number,
                           ", which no stage sends it like this");
    found->second.isReceived = true;
  }
  return Status::ok();
}

/// Of those with the other stage; nothing if it may run some of them twice, or
/// not at all.
std::optional<std::vector<int64_t>> orderOf(const artifact::Program &program,
                                            bool sends, int otherStage) {
  std::vector<int64_t> numbers;
  for (const artifact::Instruction *instruction : *program.run()) {
    const HostInstruction host =
        hostInstruction(instruction->kernel()->string_view());
    if (host == HostInstruction::If || host == HostInstruction::Loop)
      return std::nullopt;
    const std::optional<TransferEnd> end = transferOf(*instruction);
    if (end && end->isSend == sends && end->stage == otherStage)
      numbers.push_back(end->number);
  }
  return numbers;
}

} // namespace

bool isInOrder(const artifact::Program &sender, int from,
               const artifact::Program &receiver, int to) {
  const auto sent = orderOf(sender, /*sends=*/true, to);
  return sent && sent == orderOf(receiver, /*sends=*/false, from);
}

Status checkTransfers(const std::vector<const artifact::Program *> &stages) {
  std::map<int64_t, Sent> sent;
  std::set<uint32_t> outputs;
  size_t numOutputs = 0;
  for (size_t stage = 0; stage < stages.size(); ++stage) {
    SHARDC_RETURN_IF_ERROR(
        addStage(*stages[stage], static_cast<int>(stage), sent));
    for (const artifact::Output *output : *stages[stage]->outputs()) {
      outputs.insert(output->index());
      ++numOutputs;
    }
  }
  for (const auto &[number, transfer] : sent)
    if (!transfer.isReceived)
      return artifactError("stage ", transfer.from, " sends transfer ", number,
                           ", which no stage receives");
  if (outputs.size() != numOutputs ||
      (numOutputs > 0 && *outputs.rbegin() + 1 != numOutputs))
    return artifactError("the stages do not have each output once");
  return Status::ok();
}

} // namespace shardc::runtime
