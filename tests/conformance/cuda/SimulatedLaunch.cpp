#include "runtime/backend/cuda/kernels/Launch.h"

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <string>
#include <ucontext.h>
#include <utility>

namespace shardc::testing {
namespace {

/// A thread of blocks, one after the other: it is made once, since a kernel may
/// have thousands of blocks of hundreds of them.
struct Thread {
  enum class State { Runs, AtBarrier, AtShuffle, InCall, Ended };
  static constexpr size_t kStackBytes = 64 << 10;

  State state = State::Ended;
  ucontext_t entry; ///< where it begins, the first time
  jmp_buf at;       ///< where it goes on: a jump, without a call of Linux
  bool isThere = false;
  std::unique_ptr<char[]> stack{new char[kStackBytes]};
  uint64_t shuffled = 0;
  WarpCall call;
  const void *given = nullptr; ///< in the call
  /// Groups of copies that nobody waited for yet; the last one is open.
  std::deque<std::vector<AsideCopy>> copies{1};
};

/// The threads of one block, which take turns.
class Block {
public:
  Block(unsigned size, const std::function<void()> &body)
      : size(size), body(body) {}

  void run();
  void wait(Thread::State state) {
    Thread &mine = *threads[current];
    mine.state = state;
    if (_setjmp(mine.at) == 0)
      _longjmp(scheduler, 1);
  }
  uint64_t shuffle(uint64_t value, int lane) {
    threads[current]->shuffled = value;
    const size_t mine = current;
    wait(Thread::State::AtShuffle);
    const size_t first = mine / warpSize * warpSize;
    const uint64_t theirs =
        threads[first + static_cast<size_t>(lane) % warpSize]->shuffled;
    wait(Thread::State::AtShuffle); // nobody gives the next value before
    return theirs;
  }
  WarpGifts giftsOf(const WarpCall &call, const void *mine);
  Thread &thread() { return *threads[current]; }
  void work() {
    body();
    wait(Thread::State::Ended);
  }

private:
  [[gnu::noinline]] void resume(Thread &thread);
  bool release(size_t first, size_t end, Thread::State state);
  bool releaseAny();

  static thread_local std::vector<std::unique_ptr<Thread>> threads;
  const size_t size;
  const std::function<void()> &body;
  jmp_buf scheduler;
  size_t current = 0;
};

thread_local std::vector<std::unique_ptr<Thread>> Block::threads;
thread_local Block *running = nullptr;
/// As sharedMemory() aligns them.
struct alignas(32) SharedWord {
  uint32_t parts[8];
};
thread_local std::vector<SharedWord> shared;
thread_local size_t sharedBytes = 0; ///< of the launch

constexpr uint32_t kPoison = 0x7fc0dead;
constexpr size_t kGuardWords = 128; ///< behind what a launch asked for

/// What a block finds there is what another one left, or anything.
void poisonShared(size_t bytes) {
  sharedBytes = bytes;
  SharedWord word;
  std::fill(std::begin(word.parts), std::end(word.parts), kPoison);
  shared.assign(bytes / sizeof(SharedWord) + 1 + kGuardWords, word);
}

/// Beyond its bytes lies what is another block's, or nobody's.
void checkShared(size_t bytes) {
  const auto *memory = reinterpret_cast<const unsigned char *>(shared.data());
  for (size_t at = bytes; at < shared.size() * sizeof(SharedWord); ++at)
    if (memory[at] != (kPoison >> at % 4 * 8 & 0xff))
      refuseInKernel(("a block wrote beyond the " + std::to_string(bytes) +
                      " bytes of shared memory that its launch asked for")
                         .c_str());
}

/// A thread's life: each time it goes on here it is in another block.
void live() {
  for (;;)
    running->work();
}

void prepare(Thread &thread, size_t stackBytes) {
  getcontext(&thread.entry);
  thread.entry.uc_stack.ss_sp = thread.stack.get();
  thread.entry.uc_stack.ss_size = stackBytes;
  thread.entry.uc_link = nullptr;
  makecontext(&thread.entry, live, 0);
}

void Block::resume(Thread &thread) {
  if (_setjmp(scheduler) != 0)
    return; // it waits
  if (std::exchange(thread.isThere, true))
    _longjmp(thread.at, 1);
  setcontext(&thread.entry);
}

/// Lets all of these threads go on if all of them wait alike; whether they did.
bool Block::release(size_t first, size_t end, Thread::State state) {
  for (size_t i = first; i < end; ++i)
    if (threads[i]->state != state)
      return false;
  for (size_t i = first; i < end; ++i)
    threads[i]->state = Thread::State::Runs;
  return true;
}

bool Block::releaseAny() {
  bool any = release(0, size, Thread::State::AtBarrier);
  for (size_t first = 0; first < size; first += warpSize)
    for (const auto state : {Thread::State::AtShuffle, Thread::State::InCall})
      any |= release(first, std::min(first + warpSize, size), state);
  return any;
}

WarpGifts Block::giftsOf(const WarpCall &call, const void *mine) {
  const size_t first = current / warpSize * warpSize;
  if (first + warpSize > size)
    refuseInKernel("a warp that is not whole came to what takes all its lanes");
  thread().call = call;
  thread().given = mine;
  wait(Thread::State::InCall);
  WarpGifts gifts;
  for (size_t lane = 0; lane < gifts.size(); ++lane) {
    gifts[lane] = threads[first + lane]->given;
    if (threads[first + lane]->call != call)
      refuseInKernel("lanes of a warp came to different calls, or with "
                     "different arguments");
  }
  return gifts;
}

void Block::run() {
  running = this;
  while (threads.size() < size) {
    threads.push_back(std::make_unique<Thread>());
    // Tops that are apart do not crowd the same lines of the cache.
    prepare(*threads.back(), Thread::kStackBytes - threads.size() % 64 * 256);
  }
  (void)release(0, size, Thread::State::Ended);
  do {
    for (current = 0; current < size; ++current) {
      if (threads[current]->state != Thread::State::Runs)
        continue;
      threadIdx = {static_cast<unsigned>(current), 0, 0};
      resume(*threads[current]);
    }
  } while (releaseAny());
  running = nullptr;
  for (size_t i = 0; i < size; ++i) {
    if (threads[i]->state != Thread::State::Ended)
      refuseInKernel("a thread of a block waits for one that has ended, or "
                     "waits elsewhere");
    auto &copies = threads[i]->copies;
    for (; copies.size() > 1 || !copies.back().empty(); copies.pop_back())
      if (!copies.back().empty())
        refuseInKernel("a thread has ended without a wait for its copies");
  }
}

Block &runningBlock() {
  if (!running)
    refuseInKernel("threads meet in a launch that does not say so");
  return *running;
}

/// What a GPU asks of a copy beside its thread.
void checkCopy(const AsideCopy &copy) {
  const auto misfit = reinterpret_cast<uintptr_t>(copy.to) % copy.bytes +
                      reinterpret_cast<uintptr_t>(copy.from) % copy.bytes;
  if ((copy.bytes != 4 && copy.bytes != 8 && copy.bytes != 16) ||
      copy.zeros > copy.bytes)
    refuseInKernel("a copy beside a thread is not of 4, 8 or 16 bytes");
  if (misfit != 0)
    refuseInKernel("a copy beside a thread is not aligned to its size");
  if (!isSimulatedShared(copy.to, copy.bytes))
    refuseInKernel("a copy beside a thread leaves shared memory");
}

} // namespace

void simulateLaunch(const runtime::cuda::Grid &grid,
                    const std::function<void()> &thread) {
  gridDim = grid.blocks;
  blockDim = dim3(grid.threads);
  for (unsigned z = 0; z < grid.blocks.z; ++z)
    for (unsigned y = 0; y < grid.blocks.y; ++y)
      for (unsigned x = 0; x < grid.blocks.x; ++x) {
        blockIdx = {x, y, z};
        poisonShared(grid.sharedBytes);
        if (grid.threadsMeet)
          Block(grid.threads, thread).run();
        else
          for (unsigned t = 0; t < grid.threads; ++t) {
            threadIdx = {t, 0, 0};
            thread();
          }
        checkShared(grid.sharedBytes);
      }
}

std::byte *simulatedSharedMemory() {
  return reinterpret_cast<std::byte *>(shared.data());
}

bool isSimulatedShared(const void *memory, size_t bytes) {
  const auto begin = reinterpret_cast<uintptr_t>(shared.data());
  const auto at = reinterpret_cast<uintptr_t>(memory);
  return at >= begin && at + bytes <= begin + sharedBytes;
}

void refuseInKernel(const char *why) {
  std::fprintf(stderr, "%s\n", why);
  std::abort();
}

void meetAtBarrier() { runningBlock().wait(Thread::State::AtBarrier); }

uint64_t meetAtShuffle(uint64_t mine, int lane) {
  return runningBlock().shuffle(mine, lane);
}

void meetInCall(const WarpCall &call, const void *mine,
                const std::function<void(const WarpGifts &)> &take) {
  Block &block = runningBlock();
  take(block.giftsOf(call, mine));
  block.wait(Thread::State::InCall);
}

void copyAside(const AsideCopy &copy) {
  checkCopy(copy);
  runningBlock().thread().copies.back().push_back(copy);
}

void commitCopies() { runningBlock().thread().copies.emplace_back(); }

void waitForCopies(size_t groups) {
  auto &copies = runningBlock().thread().copies;
  for (; copies.size() > groups + 1; copies.pop_front())
    for (const AsideCopy &copy : copies.front()) {
      std::memcpy(copy.to, copy.from, copy.bytes - copy.zeros);
      std::memset(copy.to + copy.bytes - copy.zeros, 0, copy.zeros);
    }
}

} // namespace shardc::testing
