#include "runtime/exec/Transfers.h"

namespace shardc::runtime {

Mailbox &Transfers::between(size_t profile, int64_t transfer, int rank,
                            const Ends &ends) {
  auto &box = boxes[{profile, transfer, rank}];
  // What skips stages is taken later: it must not keep the sender back.
  if (!box)
    box =
        std::make_unique<Mailbox>(static_cast<size_t>(ends.to - ends.from + 1),
                                  ends.sender, ends.receiver);
  return *box;
}

void Transfers::abort(const Status &status) {
  for (auto &[key, box] : boxes)
    box->abort(status);
}

void Transfers::reset() {
  for (auto &[key, box] : boxes)
    box->reset();
}

} // namespace shardc::runtime
