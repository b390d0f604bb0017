#include "runtime/weights/DeviceWeights.h"

#include "runtime/base/Message.h"
#include "runtime/weights/SliceCopy.h"

#include <algorithm>

namespace shardc::runtime {
namespace {

/// Large enough for a device's copy engine, and for the host's threads.
constexpr int64_t kPieceBytes = int64_t{16} << 20;
/// What waits for slice `next`; behind the last one that which waited for it.
uint64_t stepOf(const ComingSlices &slices, size_t next) {
  return next < slices.list.size() ? slices.list[next].step
                                   : slices.list.back().step;
}

/// Piece by piece of the device's memory, with all slices that lie in it.
class Sender {
public:
  Sender(Device &device, DeviceStream &stream, WeightWatch &watch)
      : device(device), stream(stream), watch(watch) {}
  /// Pieces and events go when nobody uses them any more, after an error too.
  ~Sender() {
    (void)stream.synchronize();
    watch.arrived(0);
  }

  Status send(const ComingSlices &slices) {
    SHARDC_RETURN_IF_ERROR(open(std::min(slices.bytes, kPieceBytes)));
    size_t next = 0; // the first slice that is not there as a whole
    int p = 0;
    for (int64_t begin = 0; begin < slices.bytes;
         begin += kPieceBytes, p = 1 - p) {
      const int64_t end = std::min(begin + kPieceBytes, slices.bytes);
      SHARDC_RETURN_IF_ERROR(sent[p]->synchronize());
      SHARDC_RETURN_IF_ERROR(fill(slices, begin, end, pieces[p].data(), next));
      SHARDC_RETURN_IF_ERROR(stream.copy(slices.to + begin, pieces[p].data(),
                                         {.rowBytes = end - begin},
                                         CopyDirection::HostToDevice));
      SHARDC_RETURN_IF_ERROR(
          watch.sent(stepOf(slices, next), stream, *sent[p]));
    }
    return stream.synchronize();
  }

private:
  Status open(int64_t bytes) {
    for (int p = 0; p < 2; ++p) {
      if (!pieces[p].allocate(device, MemoryKind::Staging, bytes))
        return artifactError("out of memory for ", bytes,
                             " bytes between host and device");
      SHARDC_RETURN_IF_ERROR(device.createEvent(sent[p]));
    }
    return Status::ok();
  }

  Status fill(const ComingSlices &slices, int64_t begin, int64_t end,
              std::byte *piece, size_t &next) {
    for (size_t i = next; i < slices.list.size(); ++i) {
      const ComingSlice &coming = slices.list[i];
      if (coming.offset >= end)
        break;
      if (coming.offset >= begin)
        SHARDC_RETURN_IF_ERROR(watch.begins(coming, slices.end));
      const int64_t first = std::max(coming.offset, begin);
      const int64_t last = std::min(coming.offset + coming.slice->bytes, end);
      if (first < last)
        SHARDC_RETURN_IF_ERROR(
            copyOnThreads(*coming.slice, first - coming.offset,
                          last - coming.offset, piece + (first - begin)));
      watch.read(std::max<int64_t>(last - first, 0));
      if (coming.offset + coming.slice->bytes <= end)
        next = i + 1;
    }
    return Status::ok();
  }

  Device &device;
  DeviceStream &stream;
  WeightWatch &watch;
  DeviceBuffer pieces[2];
  std::unique_ptr<DeviceEvent> sent[2];
};

/// Into the host's memory, which is where they are read. What stays where the file
/// is mapped is brought into the system's cache, and into the process when it is
/// read: most is packed once, and would be in memory twice until then.
Status fillHost(const ComingSlices &slices, bool readsFiles,
                WeightWatch &watch) {
  for (size_t i = 0; i < slices.list.size(); ++i) {
    const ComingSlice &coming = slices.list[i];
    SHARDC_RETURN_IF_ERROR(watch.begins(coming, slices.end));
    const bool stays = coming.slice->data || coming.slice->isTransient;
    if (readsFiles && stays) {
      SHARDC_RETURN_IF_ERROR(readSource(*coming.slice));
    } else if (!stays) {
      SHARDC_RETURN_IF_ERROR(copyOnThreads(
          *coming.slice, 0, coming.slice->bytes, slices.to + coming.offset));
      releaseSource(*coming.slice);
    }
    watch.read(coming.slice->bytes);
    if (i + 1 < slices.list.size())
      watch.arrived(slices.list[i + 1].step);
  }
  return Status::ok();
}

Status bringTo(Device &device, DeviceStream &stream, bool readsFiles,
               const ComingSlices &slices, WeightWatch &watch) {
  if (!slices.list.empty())
    SHARDC_RETURN_IF_ERROR(device.isHost()
                               ? fillHost(slices, readsFiles, watch)
                               : Sender(device, stream, watch).send(slices));
  watch.arrived(slices.end);
  return Status::ok();
}

} // namespace

/// One memory for all that do not stay where they are.
Status DeviceWeights::reserve(Device &device, ComingSlices &slices,
                              DeviceBuffer &to) {
  auto stays = [&](const ComingSlice &coming) {
    return device.isHost() && (coming.slice->data || coming.slice->isTransient);
  };
  for (ComingSlice &coming : slices.list) {
    coming.offset = slices.bytes;
    if (!stays(coming))
      slices.bytes += alignBuffer(coming.slice->bytes);
  }
  if (!to.allocate(device, MemoryKind::Device, slices.bytes))
    return artifactError("out of memory: ", device.info().name,
                         " has no room for ", slices.bytes,
                         " bytes of weights; use more ranks");
  slices.to = to.data();
  for (const ComingSlice &coming : slices.list) {
    std::byte *&place = places[coming.slice];
    if (!stays(coming)) {
      place = slices.to + coming.offset;
    } else if (coming.slice->isTransient) {
      TransientSlice &transient = transients[coming.slice];
      SHARDC_RETURN_IF_ERROR(transient.reserve(*coming.slice));
      place = transient.data();
    } else {
      place = const_cast<std::byte *>(coming.slice->data);
    }
  }
  return Status::ok();
}

bool DeviceWeights::isComing(const WeightSlice *slice) const {
  return std::any_of(coming.begin(), coming.end(), [&](const auto &slices) {
    return std::any_of(slices.list.begin(), slices.list.end(),
                       [&](const auto &each) { return each.slice == slice; });
  });
}

Status DeviceWeights::place(Device &device, DeviceStream &stream,
                            const SliceUses &uses, RankWeights &weights) {
  // One slice may be several weights.
  struct Use {
    bool load = false;
    ComingSlice coming;
  };
  std::map<const WeightSlice *, Use> all;
  bool isLate = false; // the load-time program reads what is still to come
  for (size_t w = 0; w < weights.slices.size(); ++w) {
    const WeightSlice *slice = weights.slices[w];
    if (!slice)
      continue;
    if (places.contains(slice)) {
      isLate |= uses.load[w] && isComing(slice);
      continue;
    }
    Use &use = all.try_emplace(slice, Use{false, {slice, w, uses.first[w], 0}})
                   .first->second;
    use.load |= uses.load[w] != 0;
    use.coming.step = std::min(use.coming.step, uses.first[w]);
  }
  ComingSlices now, later;
  for (const auto &[slice, use] : all)
    (use.coming.step == SliceUses::kNever ? passing
     : use.load                           ? now
                                          : later)
        .list.push_back(use.coming);
  std::sort(later.list.begin(), later.list.end(),
            [](const ComingSlice &a, const ComingSlice &b) {
              return std::pair(a.step, a.number) < std::pair(b.step, b.number);
            });
  later.end = uses.end;
  WeightWatch nobody;
  if (isLate)
    SHARDC_RETURN_IF_ERROR(bring(device, stream, /*readsFiles=*/true, nobody));
  SHARDC_RETURN_IF_ERROR(reserve(device, now, memory.emplace_back()));
  SHARDC_RETURN_IF_ERROR(bringTo(device, stream, true, now, nobody));
  SHARDC_RETURN_IF_ERROR(reserve(device, passing, passingMemory));
  SHARDC_RETURN_IF_ERROR(bringTo(device, stream, true, passing, nobody));
  SHARDC_RETURN_IF_ERROR(reserve(device, later, memory.emplace_back()));
  coming.push_back(std::move(later));
  weights.transients.assign(weights.slices.size(), nullptr);
  for (size_t w = 0; w < weights.slices.size(); ++w) {
    weights.data[w] = weights.slices[w] ? places[weights.slices[w]] : nullptr;
    if (auto found = transients.find(weights.slices[w]);
        found != transients.end())
      weights.transients[w] = &found->second;
  }
  return Status::ok();
}

void DeviceWeights::freePassing() {
  for (const ComingSlice &each : passing.list)
    places.erase(each.slice);
  passing = {};
  passingMemory.release();
}

int64_t DeviceWeights::comingBytes() const {
  int64_t bytes = 0;
  for (const ComingSlices &slices : coming)
    for (const ComingSlice &each : slices.list)
      bytes += each.slice->bytes;
  return bytes;
}

Status DeviceWeights::bring(Device &device, DeviceStream &stream,
                            bool readsFiles, WeightWatch &watch) {
  for (const ComingSlices &slices : coming)
    SHARDC_RETURN_IF_ERROR(bringTo(device, stream, readsFiles, slices, watch));
  coming.clear();
  return Status::ok();
}

} // namespace shardc::runtime
