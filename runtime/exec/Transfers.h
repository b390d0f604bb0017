//===- Transfers.h - The mailboxes between the stages of a replica --------===//
#ifndef SHARDC_RUNTIME_EXEC_TRANSFERS_H
#define SHARDC_RUNTIME_EXEC_TRANSFERS_H

#include "runtime/backend/host/Mailbox.h"

#include <map>
#include <memory>
#include <tuple>

namespace shardc::runtime {

class Transfers {
public:
  /// The mailbox of a transfer between the ranks of two stages that have number
  /// `rank` there; both ends get the same one.
  struct Ends {
    int from, to;                 ///< stages
    std::string sender, receiver; ///< ranks, for messages
  };
  Mailbox &between(size_t profile, int64_t transfer, int rank,
                   const Ends &ends);

  /// A stage has failed: nobody waits for the others any more.
  void abort(const Status &status);
  /// Before a run, while no stage runs.
  void reset();

private:
  std::map<std::tuple<size_t, int64_t, int>, std::unique_ptr<Mailbox>> boxes;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_EXEC_TRANSFERS_H
