//===- SessionKeeper.h - A session that is opened again -------------------===//
//
// Several threads run on it. Where it is lost, a rank no longer answers or a
// process is gone, the one that finds it waits until no other is in it, and
// opens it again; the others then know by its number that it is another one.
//
//   uint64_t number = 0;
//   SHARDC_RETURN_IF_ERROR(keeper.enter(number));
//   ... session->run(...) ...
//   keeper.leave();
//   if (session->isLost())
//     keeper.reopen(status);
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_SERVE_SESSIONKEEPER_H
#define SHARDC_RUNTIME_SERVE_SESSIONKEEPER_H

#include "runtime/api/shardrt.hpp"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>

namespace shardc::runtime {

class SessionKeeper {
public:
  using Reopen = std::function<Status(Session &, const Status &why)>;
  /// `reopen`: opens it again in place, while nobody uses it.
  SessionKeeper(Session &session, Reopen reopen)
      : session(session), reopenSession(std::move(reopen)) {}

  /// Waits while it is opened again. `number`: of this session. An error, and
  /// then not entered, once that went wrong.
  Status enter(uint64_t &number);
  void leave();
  /// Somebody waits for all to leave.
  bool isWanted() const { return wanted.load(std::memory_order_relaxed); }
  /// Not from within. `why`: what ended the run that found it lost.
  void reopen(const Status &why);

private:
  Session &session;
  const Reopen reopenSession;
  std::mutex mutex; ///< of what follows
  std::condition_variable changed;
  std::atomic<bool> wanted = false;
  int inside = 0;
  uint64_t current = 0;
  Status gone;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_SERVE_SESSIONKEEPER_H
