#include "runtime/exec/DeviceWeights.h"

#include "runtime/base/Message.h"

#include <algorithm>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace shardc::runtime {
namespace {

/// Large enough for a device's copy engine, and for the host's threads.
constexpr int64_t kPieceBytes = int64_t{16} << 20;
/// What is worth a thread of its own: reading a file's pages costs more than
/// copying them.
constexpr int64_t kBytesPerThread = int64_t{1} << 20;

void copyOnThreads(const WeightSlice &slice, int64_t begin, int64_t end,
                   std::byte *to) {
  const int64_t parts = (end - begin + kBytesPerThread - 1) / kBytesPerThread;
#pragma omp parallel for if (parts > 1)
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t first = begin + part * kBytesPerThread;
    copyPacked(slice, first, std::min(first + kBytesPerThread, end),
               to + part * kBytesPerThread);
  }
}

} // namespace

/// Piece by piece of the device's memory, with all parts that lie in it.
Status DeviceWeights::send(Device &device, DeviceStream &stream, std::byte *to,
                           int64_t bytes, const std::vector<Part> &parts) {
  DeviceBuffer pieces[2];
  std::unique_ptr<DeviceEvent> sent[2];
  for (int p = 0; p < 2; ++p) {
    if (!pieces[p].allocate(device, MemoryKind::Staging,
                            std::min(bytes, kPieceBytes)))
      return artifactError("out of memory for ", std::min(bytes, kPieceBytes),
                           " bytes between host and device");
    SHARDC_RETURN_IF_ERROR(device.createEvent(sent[p]));
  }
  auto next = parts.begin();
  int p = 0;
  for (int64_t begin = 0; begin < bytes; begin += kPieceBytes, p = 1 - p) {
    const int64_t end = std::min(begin + kPieceBytes, bytes);
    SHARDC_RETURN_IF_ERROR(sent[p]->synchronize());
    for (auto part = next; part != parts.end() && part->offset < end; ++part) {
      const int64_t first = std::max(part->offset, begin);
      const int64_t last = std::min(part->offset + part->slice->bytes, end);
      if (first < last)
        copyOnThreads(*part->slice, first - part->offset, last - part->offset,
                      pieces[p].data() + (first - begin));
      if (last < end)
        next = part + 1;
    }
    SHARDC_RETURN_IF_ERROR(stream.copy(to + begin, pieces[p].data(),
                                       {.rowBytes = end - begin},
                                       CopyDirection::HostToDevice));
    SHARDC_RETURN_IF_ERROR(stream.record(*sent[p]));
  }
  return stream.synchronize(); // before the pieces go
}

/// Into memory of their own.
Status DeviceWeights::sendAll(Device &device, DeviceStream &stream,
                              std::span<const WeightSlice *const> slices,
                              DeviceBuffer &to) {
  std::vector<Part> parts;
  int64_t bytes = 0;
  for (const WeightSlice *slice : slices) {
    parts.push_back({slice, bytes});
    bytes += alignBuffer(slice->bytes);
  }
  if (!to.allocate(device, MemoryKind::Device, bytes))
    return artifactError("out of memory: ", device.info().name,
                         " has no room for ", bytes,
                         " bytes of weights; use more ranks");
  SHARDC_RETURN_IF_ERROR(send(device, stream, to.data(), bytes, parts));
  for (const Part &part : parts)
    copies[part.slice] = to.data() + part.offset;
  return Status::ok();
}

Status DeviceWeights::upload(Device &device, DeviceStream &stream,
                             std::span<const char> stay, RankWeights &weights) {
  std::vector<const WeightSlice *> staying;
  for (const bool stays : {true, false}) // one that stays need not pass
    for (size_t w = 0; w < weights.slices.size(); ++w)
      if (weights.slices[w] && (stay[w] != 0) == stays &&
          copies.try_emplace(weights.slices[w], nullptr).second)
        (stays ? staying : passing).push_back(weights.slices[w]);
  SHARDC_RETURN_IF_ERROR(
      sendAll(device, stream, staying, memory.emplace_back()));
  SHARDC_RETURN_IF_ERROR(sendAll(device, stream, passing, passingMemory));
  for (size_t w = 0; w < weights.slices.size(); ++w)
    weights.data[w] = weights.slices[w] ? copies[weights.slices[w]] : nullptr;
  return Status::ok();
}

void DeviceWeights::freePassing() {
  for (const WeightSlice *slice : passing)
    copies.erase(slice);
  passing.clear();
  passingMemory.release();
}

} // namespace shardc::runtime
