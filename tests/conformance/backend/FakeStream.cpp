#include "tests/conformance/backend/FakeStream.h"

#include "runtime/base/Message.h"
#include "tests/conformance/backend/FakeMemory.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

using namespace shardc::runtime;

namespace shardc::test {
namespace {

/// A call with all that it points to, but for tensors and text.
class OwnCall {
public:
  explicit OwnCall(const KernelCall &from)
      : views(from.inputs, from.inputs + from.numInputs),
        attributes(from.attributes, from.attributes + from.numAttributes),
        call(from) {
    views.insert(views.end(), from.outputs, from.outputs + from.numOutputs);
    ints.resize(attributes.size());
    floats.resize(attributes.size());
    for (size_t a = 0; a < attributes.size(); ++a) {
      ints[a].assign(attributes[a].ints,
                     attributes[a].ints + attributes[a].numInts);
      floats[a].assign(attributes[a].floats,
                       attributes[a].floats + attributes[a].numFloats);
    }
  }

  /// With addresses that the host's kernels can follow.
  const KernelCall &bind() {
    FakeMemory &memory = FakeMemory::instance();
    for (TensorView &view : views)
      if (view.data && memory.isDevice(view.data))
        view.data = memory.stored(view.data);
    for (size_t a = 0; a < attributes.size(); ++a) {
      attributes[a].ints = ints[a].data();
      attributes[a].floats = floats[a].data();
    }
    if (call.scratch && memory.isDevice(call.scratch))
      call.scratch = memory.stored(call.scratch);
    call.inputs = views.data();
    call.outputs = views.data() + call.numInputs;
    call.attributes = attributes.data();
    return call;
  }

  /// A kernel of the device has no use for memory of the host.
  Status check() const {
    for (const TensorView &view : views)
      if (view.data && view.numElements() > 0 &&
          !FakeMemory::instance().isDevice(view.data))
        return artifactError("an operand is in memory of the host");
    return Status::ok();
  }

private:
  std::vector<TensorView> views;
  std::vector<KernelAttribute> attributes;
  std::vector<std::vector<int64_t>> ints;
  std::vector<std::vector<double>> floats;
  KernelCall call;
};

/// Each side is where the direction says.
Status checkSides(const std::byte *to, const std::byte *from,
                  CopyDirection direction) {
  const FakeMemory &memory = FakeMemory::instance();
  if (memory.isDevice(to) != (direction != CopyDirection::DeviceToHost) ||
      memory.isDevice(from) != (direction != CopyDirection::HostToDevice))
    return artifactError("a copy's direction is not that of its addresses");
  return Status::ok();
}

} // namespace

Status FakeEvent::synchronize() {
  if (stream)
    stream->runUntil(ticket);
  return Status::ok();
}

Status FakeStream::copy(std::byte *to, const std::byte *from,
                        const CopyShape &shape, CopyDirection direction) {
  if (shape.rowBytes <= 0 || shape.rows <= 0)
    return Status::ok();
  SHARDC_RETURN_IF_ERROR(checkSides(to, from, direction));
  enqueue([=] {
    FakeMemory &memory = FakeMemory::instance();
    for (int64_t row = 0; row < shape.rows; ++row) {
      std::byte *target = to + row * shape.toPitch;
      const std::byte *source = from + row * shape.fromPitch;
      if (direction != CopyDirection::DeviceToHost)
        target = memory.stored(target, shape.rowBytes);
      if (direction != CopyDirection::HostToDevice)
        source = memory.stored(source, shape.rowBytes);
      std::memmove(target, source, static_cast<size_t>(shape.rowBytes));
    }
    return Status::ok();
  });
  return Status::ok();
}

Status FakeStream::launch(const Kernel &kernel, const KernelCall &call,
                          const CollectiveSite &site) {
  auto own = std::make_shared<OwnCall>(call);
  SHARDC_RETURN_IF_ERROR(own->check());
  auto *run = kernel.run;
  enqueue(
      [own, run,
       at = message(owner, site.kind, " at node '", site.node,
                    "' (instruction ", site.instruction, "): ")] {
        Status status = run(own->bind());
        return status.isOk()
                   ? status
                   : Status::error(status.code(), at + status.message());
      },
      site.instruction);
  return Status::ok();
}

Status FakeStream::record(DeviceEvent &event) {
  SHARDC_RETURN_IF_ERROR(refuseInCapture());
  auto &mine = static_cast<FakeEvent &>(event);
  mine.stream = this;
  mine.ticket = enqueued;
  return Status::ok();
}

Status FakeStream::wait(const DeviceEvent &event) {
  SHARDC_RETURN_IF_ERROR(refuseInCapture());
  const auto &other = static_cast<const FakeEvent &>(event);
  if (other.stream && other.stream != this)
    enqueue([stream = other.stream, ticket = other.ticket] {
      std::lock_guard lock(stream->mutex);
      stream->runUntil(ticket);
      return stream->failed;
    });
  return Status::ok();
}

void FakeStream::runUntil(uint64_t ticket) {
  std::lock_guard lock(mutex);
  while (done < ticket && !queue.empty()) {
    Work work = std::move(queue.front());
    queue.pop_front();
    ++done;
    // What follows a failure is not done: the stream is of no use.
    if (failed.isOk())
      failed = work();
  }
}

Status FakeStream::synchronize() {
  SHARDC_RETURN_IF_ERROR(refuseInCapture());
  std::lock_guard lock(mutex);
  runUntil(enqueued);
  Status status = failed;
  failed = Status::ok();
  return status;
}

Status FakeStream::refuseInCapture() {
  if (!capturing)
    return Status::ok();
  isBroken = true;
  return artifactError("a stream that captures has no events and no waits");
}

Status FakeStream::beginCapture() {
  SHARDC_RETURN_IF_ERROR(refuseInCapture());
  capturing = std::make_unique<FakeGraph>();
  isBroken = false;
  return Status::ok();
}

Status FakeStream::endCapture(std::unique_ptr<DeviceGraph> &graph) {
  std::unique_ptr<FakeGraph> captured = std::move(capturing);
  graph.reset();
  if (!captured || isBroken)
    return artifactError("nothing was captured");
  graph = std::move(captured);
  return Status::ok();
}

Status FakeStream::beginUpdate(DeviceGraph &graph) {
  SHARDC_RETURN_IF_ERROR(beginCapture());
  updated = static_cast<FakeGraph *>(&graph);
  return Status::ok();
}

Status FakeStream::endUpdate() {
  std::unique_ptr<DeviceGraph> captured;
  FakeGraph *graph = std::exchange(updated, nullptr);
  SHARDC_RETURN_IF_ERROR(endCapture(captured));
  for (FakeGraph::Node &node : static_cast<FakeGraph &>(*captured).nodes) {
    auto same = std::find_if(graph->nodes.begin(), graph->nodes.end(),
                             [&](const FakeGraph::Node &other) {
                               return other.instruction >= 0 &&
                                      other.instruction == node.instruction;
                             });
    if (same == graph->nodes.end())
      return artifactError("the graph has no launch of that instruction");
    same->work = std::move(node.work);
  }
  return Status::ok();
}

Status FakeStream::run(DeviceGraph &graph) {
  SHARDC_RETURN_IF_ERROR(refuseInCapture());
  for (const FakeGraph::Node &node : static_cast<FakeGraph &>(graph).nodes)
    enqueue(node.work);
  return Status::ok();
}

} // namespace shardc::test
