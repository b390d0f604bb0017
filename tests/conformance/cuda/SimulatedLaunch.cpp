#include "runtime/device/cuda/kernels/Launch.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
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
  CallSite site;      ///< where it waits
  uint32_t lanes = 0; ///< that it waits for there
  WarpCall call;
  const void *given = nullptr; ///< in the call
  /// Groups of copies that nobody waited for yet; the last one is open.
  std::deque<std::vector<AsideCopy>> copies{1};
};

bool isSameLine(const CallSite &a, const CallSite &b) {
  return a.line() == b.line() && a.column() == b.column() &&
         std::strcmp(a.file_name(), b.file_name()) == 0;
}

/// In which order blocks, or the threads of one, run.
class Order {
public:
  Order() {
    const char *said = std::getenv("SHARDC_SIMULATED_ORDER");
    const std::string_view text = said ? said : "";
    constexpr std::string_view kRandom = "random:";
    isReverse = text == "reverse";
    isRandom = text.substr(0, kRandom.size()) == kRandom;
    if (isRandom)
      numbers.seed(std::strtoul(said + kRandom.size(), nullptr, 10));
    else if (!isReverse && !text.empty())
      refuseInKernel("SHARDC_SIMULATED_ORDER is reverse or random:SEED");
  }
  /// The numbers below `count`.
  const std::vector<size_t> &of(size_t count) {
    if (order.size() != count || isRandom) {
      order.resize(count);
      std::iota(order.begin(), order.end(), 0);
    }
    if (isRandom)
      std::shuffle(order.begin(), order.end(), numbers);
    else if (isReverse && !order.empty() && order.front() == 0)
      std::reverse(order.begin(), order.end());
    return order;
  }
  /// A warp that gets its turn later.
  bool fallsBehind() { return isRandom && numbers() % 4 == 0; }

private:
  bool isReverse = false, isRandom = false;
  std::minstd_rand numbers;
  std::vector<size_t> order;
};

/// The threads of one block, which take turns.
class Block {
public:
  Block(unsigned size, const std::function<void()> &body, Order &order)
      : size(size), body(body), order(order) {}

  void run();
  void wait(Thread::State state) {
    Thread &mine = *threads[current];
    mine.state = state;
    if (_setjmp(mine.at) == 0)
      _longjmp(scheduler, 1);
  }
  void waitAt(Thread::State state, const CallSite &site, uint32_t lanes = 0) {
    threads[current]->site = site;
    threads[current]->lanes = lanes;
    wait(state);
  }
  uint64_t shuffle(uint64_t value, int lane, uint32_t lanes,
                   const CallSite &site);
  WarpGifts giftsOf(const WarpCall &call, const void *mine);
  Thread &thread() { return *threads[current]; }
  void work() {
    body();
    wait(Thread::State::Ended);
  }

private:
  [[gnu::noinline]] void resume(Thread &thread);
  bool release(size_t first, size_t end, Thread::State state);
  bool releaseBarrier();
  bool releaseShuffle(size_t first);
  bool releaseAny();
  bool runAll();

  static thread_local std::vector<std::unique_ptr<Thread>> threads;
  const size_t size;
  const std::function<void()> &body;
  Order &order;
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

bool Block::releaseBarrier() {
  if (!release(0, size, Thread::State::AtBarrier))
    return false;
  for (size_t i = 1; i < size; ++i)
    if (!isSameLine(threads[i]->site, threads[0]->site))
      refuseInKernel("threads of a block came to different barriers");
  barrierOfBlock();
  return true;
}

/// Lets lanes of a warp go on that wait for each other and for nobody else.
bool Block::releaseShuffle(size_t first) {
  bool any = false;
  for (size_t i = first; i < std::min(first + warpSize, size); ++i) {
    const Thread &mine = *threads[i];
    if (mine.state != Thread::State::AtShuffle)
      continue;
    bool areThere = true;
    for (size_t lane = 0; lane < warpSize; ++lane) {
      if (!(mine.lanes >> lane & 1))
        continue;
      if (first + lane >= size ||
          threads[first + lane]->state == Thread::State::Ended)
        refuseInKernel("a shuffle names a lane that is not there, or has "
                       "ended");
      const Thread &other = *threads[first + lane];
      const bool isThere = other.state == Thread::State::AtShuffle;
      if (isThere &&
          (other.lanes != mine.lanes || !isSameLine(other.site, mine.site)))
        refuseInKernel("lanes of a warp came to different shuffles");
      areThere &= isThere;
    }
    if (!areThere)
      continue;
    const uint32_t lanes = mine.lanes;
    for (size_t lane = 0; lane < warpSize; ++lane)
      if (lanes >> lane & 1)
        threads[first + lane]->state = Thread::State::Runs;
    if (lanes == ~0u)
      barrierOfWarp(first / warpSize);
    any = true;
  }
  return any;
}

bool Block::releaseAny() {
  bool any = releaseBarrier();
  for (size_t first = 0; first < size; first += warpSize) {
    any |= releaseShuffle(first);
    if (release(first, std::min(first + warpSize, size),
                Thread::State::InCall)) {
      barrierOfWarp(first / warpSize);
      any = true;
    }
  }
  return any;
}

uint64_t Block::shuffle(uint64_t value, int lane, uint32_t lanes,
                        const CallSite &site) {
  const size_t mine = current, first = mine / warpSize * warpSize;
  const size_t theirs = static_cast<size_t>(lane) % warpSize;
  if (!(lanes >> (mine - first) & 1) || !(lanes >> theirs & 1))
    refuseInKernel("a shuffle's mask lacks the lane that comes, or that it "
                   "asks for");
  threads[mine]->shuffled = value;
  waitAt(Thread::State::AtShuffle, site, lanes);
  const uint64_t given = threads[first + theirs]->shuffled;
  // Nobody gives the next value before.
  waitAt(Thread::State::AtShuffle, site, lanes);
  return given;
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

/// A turn for all that can go on; whether some were passed over.
bool Block::runAll() {
  uint32_t behind = 0; // warps
  for (size_t first = 0; first < size; first += warpSize)
    behind |= uint32_t{order.fallsBehind()} << first / warpSize;
  bool areLeft = false;
  for (size_t thread : order.of(size)) {
    if (threads[thread]->state != Thread::State::Runs)
      continue;
    if (behind >> thread / warpSize & 1) {
      areLeft = true;
      continue;
    }
    current = thread;
    threadIdx = {static_cast<unsigned>(thread), 0, 0};
    beginSimulatedThread(threadIdx.x);
    resume(*threads[thread]);
    endSimulatedThread();
  }
  return areLeft;
}

void Block::run() {
  running = this;
  while (threads.size() < size) {
    threads.push_back(std::make_unique<Thread>());
    // Tops that are apart do not crowd the same lines of the cache.
    prepare(*threads.back(), Thread::kStackBytes - threads.size() % 64 * 256);
  }
  (void)release(0, size, Thread::State::Ended);
  while (runAll() || releaseAny()) {
  }
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

/// Threads that do not meet need no stacks of their own.
void runApart(unsigned threads, const std::function<void()> &body,
              Order &order) {
  for (size_t thread : order.of(threads)) {
    threadIdx = {static_cast<unsigned>(thread), 0, 0};
    beginSimulatedThread(threadIdx.x);
    body();
    endSimulatedThread();
  }
}

} // namespace

void simulateLaunch(const runtime::cuda::Grid &grid,
                    const std::function<void()> &thread) {
  gridDim = grid.blocks;
  blockDim = dim3(grid.threads);
  Order ofBlocks, ofThreads;
  const size_t inPlane = size_t{grid.blocks.x} * grid.blocks.y;
  for (size_t block : ofBlocks.of(inPlane * grid.blocks.z)) {
    blockIdx = {static_cast<unsigned>(block % grid.blocks.x),
                static_cast<unsigned>(block % inPlane / grid.blocks.x),
                static_cast<unsigned>(block / inPlane)};
    poisonShared(grid.sharedBytes);
    watchShared(simulatedSharedMemory(), grid.sharedBytes);
    if (grid.threadsMeet)
      Block(grid.threads, thread, ofThreads).run();
    else
      runApart(grid.threads, thread, ofThreads);
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

void meetAtBarrier(const CallSite &site) {
  runningBlock().waitAt(Thread::State::AtBarrier, site);
}

uint64_t meetAtShuffle(uint64_t mine, int lane, uint32_t lanes,
                       const CallSite &site) {
  return runningBlock().shuffle(mine, lane, lanes, site);
}

void meetInCall(const WarpCall &call, const void *mine,
                const std::function<void(const WarpGifts &)> &take) {
  Block &block = runningBlock();
  take(block.giftsOf(call, mine));
  block.wait(Thread::State::InCall);
}

void copyAside(const AsideCopy &copy) {
  checkCopy(copy);
  // From now on until the wait for it.
  noteAccess(copy.from, copy.bytes - copy.zeros, Access::Read);
  noteAccess(copy.to, copy.bytes, Access::Write);
  runningBlock().thread().copies.back().push_back(copy);
}

void commitCopies() { runningBlock().thread().copies.emplace_back(); }

void waitForCopies(size_t groups) {
  auto &copies = runningBlock().thread().copies;
  for (; copies.size() > groups + 1; copies.pop_front())
    for (const AsideCopy &copy : copies.front()) {
      std::memcpy(copy.to, copy.from, copy.bytes - copy.zeros);
      std::memset(copy.to + copy.bytes - copy.zeros, 0, copy.zeros);
      noteAccess(copy.to, copy.bytes, Access::Write);
    }
}

} // namespace shardc::testing
