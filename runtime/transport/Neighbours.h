//===- Neighbours.h - Which processes are on this machine -----------------===//
//
// Once all are connected, each pair tells each other where its outboxes are, and
// then whether it has found the other's. Only where both have do their messages
// go that way; else they go over the connection, as between machines.
//
//   rank 2 -> rank 1   machine M, process 4711 has file 9, its nonce is N
//   rank 1 -> rank 2   machine M, process 4710 has file 9, its nonce is O
//   both               found it
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_TRANSPORT_NEIGHBOURS_H
#define SHARDC_RUNTIME_TRANSPORT_NEIGHBOURS_H

#include "runtime/transport/SharedFile.h"

#include <memory>
#include <string>
#include <vector>

namespace shardc::runtime {

/// Where a process's outbox is; as it is sent.
struct OutboxPlace {
  uint64_t machine = 0;   ///< and its network; 0: not known
  uint64_t processes = 0; ///< which of them are seen in /proc
  int64_t pid = 0;
  int32_t descriptor = -1; ///< negative: it has none
  int32_t unused = 0;
  Nonce nonce = {};

  /// Of this process.
  static OutboxPlace of(const Outbox &outbox);
};

/// What came of it; sent likewise.
struct OutboxFound {
  uint64_t isFound = 0;
};

struct Neighbours {
  std::vector<std::unique_ptr<PeerFile>> files; ///< by rank; null: elsewhere
  /// Which of this machine cannot be shared with, and why; empty if all can.
  std::string problem;
};

/// Of a rank whose connection ended while they told each other such things.
Status diedWhileMeeting(size_t rank);

/// `peers`: the connections by rank, that of this process not open. `made`: why
/// this process has no outbox; ok where it wants none. The error says who has
/// hung up.
Status findNeighbours(const std::vector<Socket> &peers, const Outbox &outbox,
                      const Status &made, Deadline deadline, Neighbours &found);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRANSPORT_NEIGHBOURS_H
