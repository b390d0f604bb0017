//===- Processes.h - One process a rank -----------------------------------===//
//
// Under mpirun, srun or torchrun each process is one rank. They find each other
// first, and then open their sessions on that:
//
//   std::unique_ptr<Processes> processes;                  // null: no launcher
//   SHARDC_RETURN_IF_ERROR(Processes::join({}, processes));
//   SessionOptions options;
//   options.processes = processes.get();
//   Status status = Session::open("model.shard", options, session);
//   if (!processes || processes->rank() == 0)
//     ... session->run(...) ...; session.reset();
//   else
//     status = session->follow();             // does what rank 0 does
//   if (processes) status = processes->conclude(status);
//   if (!processes || processes->isSpeaker()) print(status);
//
// Rank 0 has the inputs, and gets the outputs. An error of a request, on any
// rank, ends that request everywhere, and the next one runs; so do a deadline and
// a cancellation, which rank 0 has. (On devices other than the host an error of a
// run still ends all.)
//
// A process that is gone, or whose rank no longer answers, ends the session of
// all: Session::isLost(), and follow() returns. Those that are left can go on
// with others in place of those that are not, which are started as any process
// is; weights stay mapped:
//
//   std::unique_ptr<Processes> again;                      // in all processes
//   SHARDC_RETURN_IF_ERROR(Processes::join({}, again));    // a new rendezvous
//   SHARDC_RETURN_IF_ERROR(session->reopen(again.get()));  // or open()
//   processes = std::move(again);
//   ... run or follow, as before ...
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_SESSION_PROCESSES_H
#define SHARDC_RUNTIME_SESSION_PROCESSES_H

#include "runtime/base/OwnProcess.h"
#include "runtime/base/Status.h"
#include "runtime/launch/ProcessPlace.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>

namespace shardc::runtime {

struct ProcessOptions {
  /// Who this process is; without it the environment says so (ProcessPlace.h).
  std::optional<ProcessPlace> place;
  /// Longest wait for all to come; 0: SHARDC_TIMEOUT (seconds), or 60 s.
  std::chrono::milliseconds timeout{0};
};

class Transport;

/// Thread-safe. Lives longer than the sessions on it, of which there is one at
/// a time.
class Processes {
public:
  static Status join(const ProcessOptions &options,
                     std::unique_ptr<Processes> &processes);
  ~Processes();

  int rank() const;
  int size() const;
  /// Whether this process is the one that should tell the user of an error:
  /// rank 0 as long as it lives.
  bool isSpeaker() const;
  /// The end of all: rank 0's status, which all processes get; where another
  /// one has failed, its error. Called once by each process.
  Status conclude(const Status &status);

  Transport &transport() { return *connected; } ///< for the runtime
  /// Streams that belong to one session.
  Status enter(uint32_t &firstStream);
  void leave();

private:
  explicit Processes(std::unique_ptr<Transport> transport);
  std::unique_ptr<Transport> connected;
  std::atomic<uint32_t> sessions = 0;
  std::atomic<bool> isInUse = false;
  const OwnProcess process;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_SESSION_PROCESSES_H
