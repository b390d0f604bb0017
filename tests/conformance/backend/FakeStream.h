//===- FakeStream.h - Work that is put off --------------------------------===//
//
// Keeps what is enqueued until somebody waits, as late as a device may. A
// kernel's arguments are taken when it is enqueued, as a launch takes them.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TESTS_CONFORMANCE_BACKEND_FAKESTREAM_H
#define SHARDC_TESTS_CONFORMANCE_BACKEND_FAKESTREAM_H

#include "runtime/device/Backend.h"

#include <deque>
#include <functional>
#include <mutex>
#include <vector>

namespace shardc::test {

class FakeStream;

class FakeEvent final : public runtime::DeviceEvent {
public:
  runtime::Status synchronize() override;

  mutable FakeStream *stream = nullptr; ///< null: over, or never recorded
  uint64_t ticket = 0;
};

class FakeGraph final : public runtime::DeviceGraph {
public:
  struct Node {
    int instruction; ///< -1: no launch
    std::function<runtime::Status()> work;
  };
  std::vector<Node> nodes;
};

class FakeStream final : public runtime::DeviceStream {
public:
  ~FakeStream() override { (void)synchronize(); }

  runtime::Status copy(std::byte *to, const std::byte *from,
                       const runtime::CopyShape &shape,
                       runtime::CopyDirection direction) override;
  runtime::Status launch(const runtime::Kernel &kernel,
                         const runtime::KernelCall &call,
                         const runtime::CollectiveSite &site) override;
  runtime::Status record(runtime::DeviceEvent &event) override;
  runtime::Status wait(const runtime::DeviceEvent &event) override;
  runtime::Status synchronize() override;
  bool canCapture() const override { return true; }
  runtime::Status beginCapture() override;
  runtime::Status
  endCapture(std::unique_ptr<runtime::DeviceGraph> &graph) override;
  runtime::Status beginUpdate(runtime::DeviceGraph &graph) override;
  runtime::Status endUpdate() override;
  runtime::Status run(runtime::DeviceGraph &graph) override;

  /// Does the work that was enqueued up to then.
  void runUntil(uint64_t ticket);

private:
  using Work = std::function<runtime::Status()>;
  void enqueue(Work work, int instruction = -1) {
    if (capturing)
      return capturing->nodes.push_back({instruction, std::move(work)});
    std::lock_guard lock(mutex);
    queue.push_back(std::move(work));
    ++enqueued;
  }
  /// As with CUDA, the capture is of no use after that.
  runtime::Status refuseInCapture();

  /// Of the queue: another thread's stream may wait for an event of this one,
  /// and then it is that thread which does this one's work.
  std::recursive_mutex mutex;
  std::deque<Work> queue;
  uint64_t enqueued = 0, done = 0;
  runtime::Status failed;
  std::unique_ptr<FakeGraph> capturing; ///< null: nothing is
  bool isBroken = false;                ///< what is captured
  FakeGraph *updated = nullptr;         ///< what it is captured for, or null
};

} // namespace shardc::test

#endif // SHARDC_TESTS_CONFORMANCE_BACKEND_FAKESTREAM_H
