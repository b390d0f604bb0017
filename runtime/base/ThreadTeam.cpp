#include "runtime/base/ThreadTeam.h"

#include "runtime/base/Futex.h"
#include "runtime/base/PauseCore.h"
#include "runtime/base/QuietThread.h"

#include <algorithm>
#include <memory>
#include <pthread.h>
#include <sched.h>
#include <system_error>
#include <vector>

namespace shardc::runtime {
namespace {

/// Longer than most of what lies between two kernels.
constexpr std::chrono::microseconds kSpinTime(50);

/// Waits awake, and makes way for others on this core. False: it was in vain.
template <typename Ready> bool spinUntil(Ready ready) {
  const auto end = std::chrono::steady_clock::now() + kSpinTime;
  for (int pauses = 1;; pauses = std::min(2 * pauses, 16)) {
    if (ready())
      return true;
    if (std::chrono::steady_clock::now() >= end)
      return false;
    for (int i = 0; i < pauses; ++i)
      pauseCore();
    if (pauses == 16)
      sched_yield();
  }
}

/// Counts how often this process is the child of a fork: its teams are the
/// parent's. Cheaper to ask than who this process is.
std::atomic<uint32_t> forks = 0;

uint32_t watchForks() {
  [[maybe_unused]] static const int watched =
      pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1); });
  return forks.load();
}

class ThreadTeam {
public:
  /// Whether a child has the memory of it, but none of its helpers.
  bool isForked() const { return forks.load() != bornIn; }

  ~ThreadTeam() {
    isClosing.store(true);
    posted.fetch_add(1);
    futexWakeAll(posted);
    for (std::thread &helper : helpers)
      helper.join();
  }

  /// Where there cannot be so many, fewer do, and no more are asked for.
  void grow(size_t count) {
    try {
      while (helpers.size() < std::min(count, mostHelpers))
        helpers.push_back(quietThread([this] { help(); }));
    } catch (const std::system_error &) {
      mostHelpers = helpers.size();
    }
  }

  void run(uint64_t most, detail::TeamWork calls, void *with) {
    call = calls;
    work = with;
    room = std::min<uint64_t>(most, helpers.size());
    gate.store(++round << 32 | room << kRoomShift);
    posted.fetch_add(1);
    if (sleepers.load() > 0)
      syscall(SYS_futex, &posted, FUTEX_WAKE_PRIVATE, static_cast<int>(room),
              nullptr, nullptr, 0);
    call(work, 0);
    if (!isForked()) // in what it called: none of its helpers is here
      finish();
  }

private:
  // The gate: which work it is, how many may still begin, how many are at it.
  static constexpr int kRoomShift = 16;
  static constexpr uint64_t kActive = 0xffff, kRoom = kActive << kRoomShift;

  /// Nobody begins any more, and those who have are waited for.
  void finish() {
    gate.fetch_and(~kRoom);
    const auto isDone = [&] { return (gate.load() & kActive) == 0; };
    if (spinUntil(isDone))
      return;
    callerSleeps.store(true);
    for (;;) {
      const uint32_t seen = left.load();
      if (isDone())
        break;
      futexWait(left, seen);
    }
    callerSleeps.store(false);
  }

  /// The number of this helper in the work that there is; 0: it has enough.
  uint64_t enter() {
    uint64_t now = gate.load();
    while ((now & kRoom) != 0)
      if (gate.compare_exchange_weak(now, now - (1u << kRoomShift) + 1))
        return room - ((now & kRoom) >> kRoomShift) + 1;
    return 0;
  }

  void leave() {
    if ((gate.fetch_sub(1) & kActive) != 1)
      return;
    left.fetch_add(1);
    if (callerSleeps.load())
      futexWakeAll(left);
  }

  void help() {
    for (uint32_t seen = 0; !isClosing.load();) {
      if (const uint64_t number = enter()) {
        call(work, static_cast<int64_t>(number));
        leave();
      }
      const auto isNew = [&] { return posted.load() != seen; };
      if (!isNew() && !spinUntil(isNew)) {
        sleepers.fetch_add(1);
        futexWait(posted, seen);
        sleepers.fetch_sub(1);
      }
      seen = posted.load();
    }
  }

  const uint32_t bornIn = watchForks();
  size_t mostHelpers = 4096; // less than kActive
  std::vector<std::thread> helpers;
  detail::TeamWork call = nullptr;
  void *work = nullptr;
  uint64_t room = 0, round = 0;
  alignas(64) std::atomic<uint64_t> gate = 0;
  alignas(64) FutexWord posted = 0; ///< counts what there was to do
  std::atomic<int32_t> sleepers = 0;
  alignas(64) FutexWord left = 0; ///< counts how often all had left
  std::atomic<bool> callerSleeps = false, isClosing = false;
};

/// The team of a thread. One of the process that this was forked from is left as
/// it is: there is nobody to wait for.
class OwnTeam {
public:
  ~OwnTeam() { leaveForked(); }
  ThreadTeam &get() {
    leaveForked();
    if (!team)
      team = std::make_unique<ThreadTeam>();
    return *team;
  }

private:
  void leaveForked() {
    if (team && team->isForked())
      (void)team.release();
  }
  std::unique_ptr<ThreadTeam> team;
};

thread_local int ownThreads = 1;
thread_local OwnTeam ownTeam;

} // namespace

void setTeamThreads(int threads) { ownThreads = std::max(threads, 1); }

int teamThreads() { return ownThreads; }

void detail::runOnTeam(int64_t threads, TeamWork call, void *work) {
  const int64_t most = std::min<int64_t>(threads, ownThreads);
  if (most <= 1)
    return call(work, 0);
  ThreadTeam &team = ownTeam.get();
  team.grow(static_cast<size_t>(most - 1));
  const int before = std::exchange(ownThreads, 1);
  team.run(static_cast<uint64_t>(most - 1), call, work);
  ownThreads = before;
}

} // namespace shardc::runtime
