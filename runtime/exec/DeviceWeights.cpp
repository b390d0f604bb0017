#include "runtime/exec/DeviceWeights.h"

#include "runtime/base/Message.h"

#include <algorithm>
#include <cstring>

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

void copyOnThreads(std::byte *to, const std::byte *from, int64_t bytes) {
  const int64_t parts = (bytes + kBytesPerThread - 1) / kBytesPerThread;
#pragma omp parallel for if (parts > 1)
  for (int64_t part = 0; part < parts; ++part) {
    const int64_t first = part * kBytesPerThread;
    std::memcpy(to + first, from + first,
                static_cast<size_t>(std::min(kBytesPerThread, bytes - first)));
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
      const int64_t last = std::min(part->offset + part->slice.second, end);
      copyOnThreads(pieces[p].data() + (first - begin),
                    part->slice.first + (first - part->offset), last - first);
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

Status DeviceWeights::upload(Device &device, DeviceStream &stream,
                             RankWeights &weights) {
  std::vector<Part> parts; // those that are new
  int64_t bytes = 0;
  for (size_t w = 0; w < weights.data.size(); ++w) {
    const Slice slice(weights.data[w], weights.bytes[w]);
    if (!copies.try_emplace(slice, nullptr).second)
      continue;
    parts.push_back({slice, bytes});
    bytes += alignBuffer(slice.second);
  }
  DeviceBuffer buffer;
  if (!buffer.allocate(device, MemoryKind::Device, bytes))
    return artifactError("out of memory: ", device.info().name,
                         " has no room for ", bytes,
                         " bytes of weights; use more ranks");
  SHARDC_RETURN_IF_ERROR(send(device, stream, buffer.data(), bytes, parts));
  for (const Part &part : parts)
    copies[part.slice] = buffer.data() + part.offset;
  for (size_t w = 0; w < weights.data.size(); ++w)
    weights.data[w] = copies[{weights.data[w], weights.bytes[w]}];
  memory.push_back(std::move(buffer));
  total += bytes;
  return Status::ok();
}

} // namespace shardc::runtime
