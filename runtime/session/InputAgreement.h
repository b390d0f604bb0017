//===- InputAgreement.h - All processes run the same requests -------------===//
//
// Processes that are given different inputs would compute nonsense, or hang:
// before each run their hashes are compared with rank 0's. All ranks learn the
// outcome, so that all end, or all begin.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_SESSION_INPUTAGREEMENT_H
#define SHARDC_RUNTIME_SESSION_INPUTAGREEMENT_H

#include "runtime/collectives/net/ControlExchange.h"
#include "runtime/session/Pipeline.h"

#include <array>

namespace shardc::runtime {

using ContentHash = std::array<uint64_t, 2>;

class InputAgreement {
public:
  InputAgreement(Transport &transport, std::chrono::milliseconds timeout)
      : control(transport, timeout) {}

  /// InvalidArgument, on all ranks alike, where inputs differ.
  Status check(std::span<const PipelineRequest> requests);
  /// The same for any list of hashes: `what(i)` names the i-th, and `remedy` is
  /// how the error ends.
  Status check(std::span<const ContentHash> hashes, StatusCode code,
               const std::function<std::string(size_t)> &what,
               const char *remedy);

private:
  /// Rank 0's verdict: ranks and the number of the first hash that differs.
  struct Difference {
    int32_t rank, first;
  };
  Status askFirst(std::span<const ContentHash> mine);
  Status judge(std::span<const ContentHash> mine);

  ControlExchange control;
  std::vector<ContentHash> hashes; // kept: a run allocates nothing
  std::vector<Difference> differences;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_SESSION_INPUTAGREEMENT_H
