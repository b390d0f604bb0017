#include "runtime/backend/cuda/kernels/Launch.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <ucontext.h>

namespace shardc::testing {
namespace {

/// A thread of the block that is running.
struct Thread {
  enum class State { Runs, AtBarrier, AtShuffle, Ended };
  static constexpr size_t kStackBytes = 64 << 10;

  State state = State::Runs;
  ucontext_t context;
  std::unique_ptr<char[]> stack{new char[kStackBytes]};
  uint64_t shuffled = 0;
};

/// The threads of one block, which take turns.
class Block {
public:
  Block(unsigned size, const std::function<void()> &body)
      : threads(size), body(body) {}

  void run();
  void wait(Thread::State state) {
    Thread &mine = threads[current];
    mine.state = state;
    swapcontext(&mine.context, &scheduler);
  }
  uint64_t shuffle(uint64_t value, int lane) {
    threads[current].shuffled = value;
    const size_t mine = current;
    wait(Thread::State::AtShuffle);
    const size_t first = mine / warpSize * warpSize;
    const uint64_t theirs =
        threads[first + static_cast<size_t>(lane) % warpSize].shuffled;
    wait(Thread::State::AtShuffle); // nobody gives the next value before
    return theirs;
  }
  void start() {
    body();
    wait(Thread::State::Ended);
  }

private:
  bool release(size_t first, size_t end, Thread::State state);
  bool releaseAny();

  std::vector<Thread> threads;
  const std::function<void()> &body;
  ucontext_t scheduler;
  size_t current = 0;
};

thread_local Block *running = nullptr;
thread_local std::vector<uint4> shared; // 16-byte words, as a GPU aligns them

void startThread() { running->start(); }

/// Lets all of these threads go on if all of them wait alike; whether they did.
bool Block::release(size_t first, size_t end, Thread::State state) {
  for (size_t i = first; i < end; ++i)
    if (threads[i].state != state)
      return false;
  for (size_t i = first; i < end; ++i)
    threads[i].state = Thread::State::Runs;
  return true;
}

bool Block::releaseAny() {
  bool any = release(0, threads.size(), Thread::State::AtBarrier);
  for (size_t first = 0; first < threads.size(); first += warpSize)
    any |= release(first, std::min(first + warpSize, threads.size()),
                   Thread::State::AtShuffle);
  return any;
}

void Block::run() {
  running = this;
  for (Thread &thread : threads) {
    getcontext(&thread.context);
    thread.context.uc_stack.ss_sp = thread.stack.get();
    thread.context.uc_stack.ss_size = Thread::kStackBytes;
    thread.context.uc_link = nullptr;
    makecontext(&thread.context, startThread, 0);
  }
  do {
    for (current = 0; current < threads.size(); ++current) {
      if (threads[current].state != Thread::State::Runs)
        continue;
      threadIdx = {static_cast<unsigned>(current), 0, 0};
      swapcontext(&scheduler, &threads[current].context);
    }
  } while (releaseAny());
  running = nullptr;
  if (release(0, threads.size(), Thread::State::Ended))
    return;
  std::fputs("a thread of a block waits for one that has ended\n", stderr);
  std::abort();
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
        // What a block finds there is what another one left, or anything.
        shared.assign(grid.sharedBytes / sizeof(uint4) + 1,
                      {0x7fc0dead, 0x7fc0dead, 0x7fc0dead, 0x7fc0dead});
        if (grid.threadsMeet) {
          Block(grid.threads, thread).run();
          continue;
        }
        for (unsigned t = 0; t < grid.threads; ++t) {
          threadIdx = {t, 0, 0};
          thread();
        }
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
