//===- ThreadTeam.h - Threads that help the one that calls them -----------===//
//
// Each thread may have a team. Whoever calls runOnTeam works itself, and waits
// for nobody but those who have begun: what is called takes units of work that
// nobody has, until there are none, so that a helper that sleeps, or whose core
// others use, holds nobody up.
//
//   setTeamThreads(2);
//   std::atomic<int> next = 0;
//   runOnTeam(2, [&](int64_t thread) {     // thread 0, and perhaps 1
//     for (int unit; (unit = next++) < 100;)
//       results[unit] = work(unit, scratch[thread]);
//   });                                    // all 100 are there
//
// Helpers are started when they are first wanted and end with their caller.
// They wait awake for a moment, and then sleep. A child that was forked has none
// of them: its threads get teams of their own when they first want them.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_BASE_THREADTEAM_H
#define SHARDC_RUNTIME_BASE_THREADTEAM_H

#include <cstdint>
#include <type_traits>

namespace shardc::runtime {

/// Of the calling thread with its helpers, from now on; 1 unless said.
void setTeamThreads(int threads);

/// 1 within what runOnTeam calls, too.
int teamThreads();

namespace detail {
using TeamWork = void (*)(void *work, int64_t thread);
void runOnTeam(int64_t threads, TeamWork call, void *work);
} // namespace detail

/// Calls work(thread) on this thread, number 0, and on up to `threads` - 1
/// others at the same time, numbers 1 and on. `work` must not throw.
template <typename Work> void runOnTeam(int64_t threads, Work &&work) {
  using Body = std::remove_reference_t<Work>;
  detail::runOnTeam(
      threads,
      [](void *at, int64_t thread) { (*static_cast<Body *>(at))(thread); },
      const_cast<std::remove_const_t<Body> *>(&work));
}

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_BASE_THREADTEAM_H
