//===- Settlement.h - What processes agree on after a request that failed -===//
//
// All processes run the same requests, in order, and each has its part of them.
// Where one cannot go on, it says so, and the request ends everywhere with that
// error: all waits of streams that belong to requests return it. Each process
// then tells all others that nothing of it is at a request any more (it settles)
// and how far it has come. TCP delivers in order, so whatever was sent before is
// there by then, and is dropped; once all have settled, streams are as new, and
// the next request runs.
//
//   rank 0   request 7 ... waits for rank 1 ... | settles         | request 8
//   rank 1   request 7 fails: tells all         | settles         |
//   rank 2   is still done with 6: finds at 7   | settles         |
//
// A process may fail in what others have done already, since nobody waits for
// the last one: they settle as they are, and what they did beyond it is told
// apart by its number.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_TRANSPORT_SETTLEMENT_H
#define SHARDC_RUNTIME_TRANSPORT_SETTLEMENT_H

#include "runtime/base/Status.h"

#include <cstdint>

namespace shardc::runtime {

/// Requests by number, from 1 on.
struct Settlement {
  Status status;          ///< why one failed
  int rank = 0;           ///< the process whose error that is
  uint64_t failed = 0;    ///< that one, the first of several
  uint64_t mostBegun = 0; ///< none of those up to this one comes again
  /// The last one that each process has done.
  uint64_t leastDone = UINT64_MAX, mostDone = 0;
  uint64_t told = 0; ///< by rank 0 to its caller: the last one that went well

  /// Whether some processes have done the request, and others have not.
  bool isHalfDone(uint64_t request) const {
    return leastDone < request && request <= mostDone;
  }
  /// Whether those that have done it can take that back, and all is as before:
  /// its caller is told that it failed.
  bool canTakeBack(uint64_t request) const {
    return mostDone <= leastDone + 1 && request == mostDone && told < request;
  }
};

/// From one settlement to the next.
struct RequestRound {
  bool hasFailed = false;
  uint64_t number = UINT64_MAX; ///< of the request that failed
  int settled = 0;              ///< other processes
  Settlement found;
};

/// How far a process has come, as it is sent with its settling.
struct RequestCounts {
  uint64_t failed = 0, begun = 0, done = 0, told = 0;
  int64_t rank = 0; ///< whose error it has
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRANSPORT_SETTLEMENT_H
