//===- Meeting.h - How the processes of a run find each other -------------===//
//
// Rank 0 listens at the rendezvous; all others call it, say who they are and
// where they listen themselves. Once all are there it answers with everyone's
// address, and each rank calls those below it. In the end each pair has one
// connection:
//
//   rank 2 -> rank 0  "I am 2 of 3, job J, and listen on port 40123"
//   rank 0 -> rank 2  "rank 1 is at 10.0.0.5:40777; 4 threads a rank"
//   rank 2 -> rank 1
//
// Whoever says anything else (a port scanner, a process of another job, one
// that does not know the job's secret: JobSecret.h) is turned away.
//
// Ranks listen where others need to reach them, and no further: on loopback
// where the launcher says that all are on one machine; else on the address of
// SHARDC_INTERFACE, or at which they reach rank 0. Only rank 0, and those that
// reach it over loopback, cannot know and listen on all.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_TRANSPORT_MEETING_H
#define SHARDC_RUNTIME_TRANSPORT_MEETING_H

#include "runtime/launch/ProcessPlace.h"
#include "runtime/transport/JobSecret.h"
#include "runtime/transport/Socket.h"

#include <vector>

namespace shardc::runtime {

struct Meeting {
  std::vector<Socket> peers; ///< by rank; this process's own is not open
  /// Of each rank's kernels, the same for all: cores of a machine are shared by
  /// the ranks on it, and replicated values must not depend on the number.
  int kernelThreads = 1;
};

struct MeetingOptions {
  std::chrono::milliseconds timeout;
  JobSecret secret;
  std::string interface; ///< its name, or an address of it; "": any
};

/// Returns when all are connected, or at the deadline with who is missing.
Status meet(const ProcessPlace &place, const MeetingOptions &options,
            Meeting &meeting);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRANSPORT_MEETING_H
