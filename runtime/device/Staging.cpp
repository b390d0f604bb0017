#include "runtime/device/Staging.h"

#include "runtime/base/Message.h"
#include "runtime/tensor/CopyView.h"

#include <algorithm>

namespace shardc::runtime {
namespace {

/// The bytes from a view's first element in memory to its last, from where the
/// view points.
struct Reach {
  int64_t begin = 0, bytes = 0;
};

Reach reachOf(const TensorView &view) {
  if (view.numElements() == 0)
    return {};
  int64_t first = view.skipped, last = view.skipped;
  for (int d = 0; d < view.rank; ++d) {
    const int64_t reach = (view.dims[d] - 1) * view.strides[d];
    first += std::min<int64_t>(reach, 0);
    last += std::max<int64_t>(reach, 0);
  }
  if (artifact::isSubByte(view.element)) {
    const int64_t bits = artifact::elementBits(view.element);
    const int64_t begin = first * bits >> 3;
    return {begin, (last * bits >> 3) - begin + 1};
  }
  const int64_t size = artifact::elementBytes(view.element);
  return {first * size, (last - first + 1) * size};
}

/// All of its bytes are its own.
bool isWhole(const TensorView &view) {
  if (!view.isContiguous())
    return false;
  return !artifact::isSubByte(view.element) ||
         (view.skipped == 0 &&
          view.numElements() * artifact::elementBits(view.element) % 8 == 0);
}

} // namespace

Status Staging::reserve(DeviceBuffer &buffer, int64_t bytes) {
  if (buffer.data() && buffer.size() >= bytes)
    return Status::ok();
  if (buffer.allocate(device, MemoryKind::Staging, bytes))
    return Status::ok();
  return artifactError("out of memory for ", bytes,
                       " bytes between host and device");
}

Status Staging::startInto(DeviceBuffer &buffer, const TensorView &view,
                          TensorView &onHost) {
  const Reach extent = reachOf(view);
  // An earlier store may still read what this is about to write or replace.
  if (buffer.size() < extent.bytes)
    SHARDC_RETURN_IF_ERROR(stream.synchronize());
  SHARDC_RETURN_IF_ERROR(reserve(buffer, extent.bytes));
  if (extent.bytes > 0)
    SHARDC_RETURN_IF_ERROR(stream.copy(buffer.data(), view.data + extent.begin,
                                       {.rowBytes = extent.bytes},
                                       CopyDirection::DeviceToHost));
  onHost = view;
  onHost.data = buffer.data() - extent.begin;
  return Status::ok();
}

Status Staging::startFetch(const TensorView &view, TensorView &onHost) {
  if (!device.isHost())
    return startInto(memory, view, onHost);
  onHost = view;
  return Status::ok();
}

Status Staging::fetch(const TensorView &view, TensorView &onHost) {
  SHARDC_RETURN_IF_ERROR(startFetch(view, onHost));
  return device.isHost() ? Status::ok() : stream.synchronize();
}

Status Staging::prepare(const TensorView &view, TensorView &onHost) {
  if (device.isHost()) {
    onHost = view;
    return Status::ok();
  }
  SHARDC_RETURN_IF_ERROR(stream.synchronize());
  SHARDC_RETURN_IF_ERROR(reserve(memory, viewBytes(view)));
  onHost = packedLike(memory.data(), view);
  return Status::ok();
}

Status Staging::store(const TensorView &onHost, const TensorView &view) {
  if (device.isHost() || view.numElements() == 0)
    return Status::ok();
  if (isWhole(view))
    return stream.copy(view.data, onHost.data, {.rowBytes = viewBytes(view)},
                       CopyDirection::HostToDevice);
  TensorView target;
  SHARDC_RETURN_IF_ERROR(startInto(around, view, target));
  SHARDC_RETURN_IF_ERROR(stream.synchronize());
  copyView(target, onHost);
  const Reach extent = reachOf(view);
  return stream.copy(view.data + extent.begin, around.data(),
                     {.rowBytes = extent.bytes}, CopyDirection::HostToDevice);
}

//===----------------------------------------------------------------------===//
// Collectives and transfers of the host
//===----------------------------------------------------------------------===//

namespace {

class StagedCommunicator final : public Communicator {
public:
  StagedCommunicator(Communicator &host, Device &device, DeviceStream &stream)
      : host(host), in(device, stream), out(device, stream),
        choices(device, stream) {}

  int index() const override { return host.index(); }
  int size() const override { return host.size(); }

  Status allReduce(const TensorView &input, const TensorView &output,
                   ReduceKind kind, const CollectiveSite &site) override {
    return staged(input, output, [&](const auto &from, const auto &to) {
      return host.allReduce(from, to, kind, site);
    });
  }
  Status allGather(const TensorView &input, const TensorView &output, int dim,
                   std::span<const OwnedRuns> blocks,
                   const CollectiveSite &site) override {
    return staged(input, output, [&](const auto &from, const auto &to) {
      return host.allGather(from, to, dim, blocks, site);
    });
  }
  Status reduceScatter(const TensorView &input, const TensorView &output,
                       int dim, std::span<const OwnedRuns> blocks,
                       ReduceKind kind, const CollectiveSite &site) override {
    return staged(input, output, [&](const auto &from, const auto &to) {
      return host.reduceScatter(from, to, dim, blocks, kind, site);
    });
  }
  Status allToAll(const TensorView &input, const TensorView &output,
                  const DimBlocks &from, const DimBlocks &to,
                  const CollectiveSite &site) override {
    return staged(input, output, [&](const auto &source, const auto &target) {
      return host.allToAll(source, target, from, to, site);
    });
  }
  Status shift(const TensorView &input, const TensorView &output, int distance,
               const CollectiveSite &site) override {
    return staged(input, output, [&](const auto &from, const auto &to) {
      return host.shift(from, to, distance, site);
    });
  }
  Status dispatch(const TensorView &input, const TensorView &output,
                  std::span<const OwnedRuns> blocks,
                  const ExpertRouting &routing,
                  const CollectiveSite &site) override {
    ExpertRouting onHost = routing;
    SHARDC_RETURN_IF_ERROR(choices.fetch(routing.choices, onHost.choices));
    return staged(input, output, [&](const auto &from, const auto &to) {
      return host.dispatch(from, to, blocks, onHost, site);
    });
  }
  Status combine(const TensorView &input, const TensorView &output,
                 std::span<const OwnedRuns> blocks,
                 const ExpertRouting &routing,
                 const CollectiveSite &site) override {
    ExpertRouting onHost = routing;
    SHARDC_RETURN_IF_ERROR(choices.fetch(routing.choices, onHost.choices));
    return staged(input, output, [&](const auto &from, const auto &to) {
      return host.combine(from, to, blocks, onHost, site);
    });
  }
  Status exchange(const void *mine, size_t bytes, void *all,
                  const CollectiveSite &site) override {
    return host.exchange(mine, bytes, all, site);
  }

private:
  template <typename Operation>
  Status staged(const TensorView &input, const TensorView &output,
                Operation operation) {
    TensorView from, to;
    SHARDC_RETURN_IF_ERROR(in.fetch(input, from));
    SHARDC_RETURN_IF_ERROR(out.prepare(output, to));
    SHARDC_RETURN_IF_ERROR(operation(from, to));
    return out.store(to, output);
  }

  Communicator &host;
  Staging in, out, choices;
};

class StagedChannel final : public StageChannel {
public:
  StagedChannel(StageChannel &host, Device &device, DeviceStream &stream)
      : host(host), staging(device, stream) {}

  Status send(const TensorView &from, RunFailure &failure,
              const CollectiveSite &site) override {
    TensorView onHost;
    SHARDC_RETURN_IF_ERROR(staging.fetch(from, onHost));
    return host.send(onHost, failure, site);
  }
  Status receive(const TensorView &to, RunFailure &failure,
                 const CollectiveSite &site) override {
    TensorView onHost;
    SHARDC_RETURN_IF_ERROR(staging.prepare(to, onHost));
    SHARDC_RETURN_IF_ERROR(host.receive(onHost, failure, site));
    return staging.store(onHost, to);
  }

private:
  StageChannel &host;
  Staging staging;
};

} // namespace

std::unique_ptr<Communicator>
stageCommunicator(Communicator &host, Device &device, DeviceStream &stream) {
  return std::make_unique<StagedCommunicator>(host, device, stream);
}

Status joinGroup(const GroupPlace &place, Device &device, DeviceStream &stream,
                 std::unique_ptr<Communicator> &communicator) {
  SHARDC_RETURN_IF_ERROR(
      device.createCommunicator(place, stream, communicator));
  if (!communicator)
    communicator = stageCommunicator(*place.host, device, stream);
  return Status::ok();
}

std::unique_ptr<StageChannel> stageChannel(StageChannel &host, Device &device,
                                           DeviceStream &stream) {
  return std::make_unique<StagedChannel>(host, device, stream);
}

} // namespace shardc::runtime
