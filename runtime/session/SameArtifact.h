//===- SameArtifact.h - All processes have opened the same artifact -------===//
//
// Others would compute nonsense, or hang: their hashes are compared with rank
// 0's. All ranks learn the outcome, so that all end, or all begin.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_SESSION_SAMEARTIFACT_H
#define SHARDC_RUNTIME_SESSION_SAMEARTIFACT_H

#include "runtime/collectives/net/ControlExchange.h"

#include <array>
#include <cstdint>
#include <string>

namespace shardc::runtime {

/// `hash`: of its contents; `folder`: where this process has it.
Status checkSameArtifact(ControlExchange &control,
                         const std::array<uint64_t, 2> &hash,
                         const std::string &folder);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_SESSION_SAMEARTIFACT_H
