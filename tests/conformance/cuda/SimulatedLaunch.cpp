#include "runtime/backend/cuda/kernels/Launch.h"

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <ucontext.h>
#include <utility>

namespace shardc::testing {
namespace {

/// A thread of blocks, one after the other: it is made once, since a kernel may
/// have thousands of blocks of hundreds of them.
struct Thread {
  enum class State { Runs, AtBarrier, AtShuffle, Ended };
  static constexpr size_t kStackBytes = 64 << 10;

  State state = State::Ended;
  ucontext_t entry; ///< where it begins, the first time
  jmp_buf at;       ///< where it goes on: a jump, without a call of Linux
  bool isThere = false;
  std::unique_ptr<char[]> stack{new char[kStackBytes]};
  uint64_t shuffled = 0;
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
thread_local std::vector<uint4> shared; // 16-byte words, as a GPU aligns them

constexpr uint32_t kPoison = 0x7fc0dead;
constexpr size_t kGuardWords = 256; ///< behind what a launch asked for

/// What a block finds there is what another one left, or anything.
void poisonShared(size_t bytes) {
  shared.assign(bytes / sizeof(uint4) + 1 + kGuardWords,
                {kPoison, kPoison, kPoison, kPoison});
}

/// Beyond its bytes lies what is another block's, or nobody's.
void checkShared(size_t bytes) {
  const auto *memory = reinterpret_cast<const unsigned char *>(shared.data());
  for (size_t at = bytes; at < shared.size() * sizeof(uint4); ++at)
    if (memory[at] != (kPoison >> at % 4 * 8 & 0xff)) {
      std::fprintf(stderr,
                   "a block wrote beyond the %zu bytes of shared memory that "
                   "its launch asked for\n",
                   bytes);
      std::abort();
    }
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
    any |= release(first, std::min(first + warpSize, size),
                   Thread::State::AtShuffle);
  return any;
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
  for (size_t i = 0; i < size; ++i)
    if (threads[i]->state != Thread::State::Ended) {
      std::fputs("a thread of a block waits for one that has ended\n", stderr);
      std::abort();
    }
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

void meetAtBarrier() { running->wait(Thread::State::AtBarrier); }

uint64_t meetAtShuffle(uint64_t mine, int lane) {
  return running->shuffle(mine, lane);
}

} // namespace shardc::testing
