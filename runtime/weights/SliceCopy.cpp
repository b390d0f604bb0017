#include "runtime/weights/SliceCopy.h"

#include "runtime/base/MappedFile.h"
#include "runtime/base/ThreadTeam.h"
#include "runtime/tensor/ViewExtent.h"

#include <algorithm>
#include <atomic>

namespace shardc::runtime {
namespace {

/// What is worth a thread of its own: reading a file's pages costs more than
/// copying them.
constexpr int64_t kBytesPerThread = int64_t{1} << 20;
/// What is read only to be in the system's cache.
constexpr int64_t kPiece = 16 << 10;

/// Calls read(begin, end) for parts of so many bytes; false where it is for one.
template <typename Read> bool readOnThreads(int64_t bytes, Read read) {
  const int64_t parts = (bytes + kBytesPerThread - 1) / kBytesPerThread;
  std::atomic<bool> isRead = true;
  std::atomic<int64_t> next = 0;
  runOnTeam(parts, [&](int64_t) {
    for (int64_t part; (part = next.fetch_add(1)) < parts;) {
      const int64_t begin = part * kBytesPerThread;
      if (!isRead || !read(begin, std::min(begin + kBytesPerThread, bytes)))
        isRead = false;
    }
  });
  return isRead;
}

Status readPages(const std::byte *data, int64_t begin, int64_t end) {
  return readMapped(data + begin, static_cast<size_t>(end - begin));
}

/// What lies in a file, from the slice's first byte on.
std::span<const std::byte> sourceOf(const WeightSlice &slice) {
  if (slice.data)
    return {slice.data, static_cast<size_t>(slice.extent)};
  return slice.whole.data ? extentOf(slice.whole)
                          : std::span<const std::byte>();
}

} // namespace

Status copyOnThreads(const WeightSlice &slice, int64_t begin, int64_t end,
                     std::byte *to) {
  // Between the runs of others lie pages of other ranks: those are read as they
  // are copied.
  const auto isThere = [&](int64_t first, int64_t last) {
    return slice.data ? readPages(slice.data, first, last) : Status::ok();
  };
  const bool isRead =
      readOnThreads(end - begin, [&](int64_t first, int64_t last) {
        if (!isThere(begin + first, begin + last).isOk())
          return false;
        copyPacked(slice, begin + first, begin + last, to + first);
        return true;
      });
  return isRead ? Status::ok() : isThere(begin, end);
}

Status readSource(const WeightSlice &slice) {
  const bool isDense =
      slice.data && (!slice.block || artifact::isSubByte(slice.whole.element));
  const std::span<const std::byte> source = sourceOf(slice);
  const int64_t bytes =
      isDense ? static_cast<int64_t>(source.size()) : slice.bytes;
  const bool isRead = readOnThreads(bytes, [&](int64_t begin, int64_t end) {
    if (isDense) {
      const bool isThere = readPages(source.data(), begin, end).isOk();
      releaseMapped(source.data() + begin, static_cast<size_t>(end - begin));
      return isThere;
    }
    std::byte piece[kPiece];
    for (int64_t at = begin; at < end; at += kPiece)
      copyPacked(slice, at, std::min(at + kPiece, end), piece);
    releaseSource(slice);
    return true;
  });
  return isRead ? Status::ok() : readPages(source.data(), 0, bytes);
}

void releaseSource(const WeightSlice &slice) {
  for (const WeightSlice *part : slice.parts)
    releaseSource(*part);
  const std::span<const std::byte> source = sourceOf(slice);
  releaseMapped(source.data(), source.size());
}

} // namespace shardc::runtime
