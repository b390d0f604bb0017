//===- TransferChecks.h - Stages fit together -----------------------------===//
#ifndef SHARDC_RUNTIME_ARTIFACT_CHECK_TRANSFERCHECKS_H
#define SHARDC_RUNTIME_ARTIFACT_CHECK_TRANSFERCHECKS_H

#include "runtime/artifact/Format.h"
#include "runtime/base/Status.h"

#include <optional>
#include <vector>

namespace shardc::runtime {

/// One end of a transfer.
struct TransferEnd {
  bool isSend = false;
  int stage = 0; ///< the other one
  int64_t number = 0;
};

/// What a send or receive says of itself; nothing for any other instruction, or
/// one without these attributes.
std::optional<TransferEnd> transferOf(const artifact::Instruction &instruction);

/// Whether what one stage sends to the other is received in the order in which
/// it is sent, each value once.
bool isInOrder(const artifact::Program &sender, int from,
               const artifact::Program &receiver, int to);

/// The programs of one profile, by stage: every value that one of them sends is
/// received once, by the stage it is for, which is a later one, and as elements
/// of the same type. Every output of the model has one stage.
Status checkTransfers(const std::vector<const artifact::Program *> &stages);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_ARTIFACT_CHECK_TRANSFERCHECKS_H
