#include "runtime/device/ViewRows.h"

#include "runtime/base/Message.h"

#include <algorithm>

namespace shardc::runtime {
namespace {

/// More launches than anybody waits for.
constexpr int64_t kMostCopies = 16 * 1024;
/// What a device takes for the bytes from row to row.
constexpr int64_t kMostPitch = INT32_MAX;

/// A loop of a copy, with its steps in bytes.
struct Loop {
  int64_t size, to, from;
};

class RowCopy {
public:
  RowCopy(const TensorView &to, const TensorView &from);

  int64_t numCopies() const {
    int64_t n = 1;
    for (const Loop &loop : span())
      n *= loop.size;
    return n;
  }
  Status enqueue(DeviceStream &stream, std::byte *to,
                 const std::byte *from) const {
    return enqueue(stream, to, from, 0);
  }

private:
  std::span<const Loop> span() const {
    return {loops, static_cast<size_t>(depth)};
  }
  Loop take(int index) {
    const Loop taken = loops[index];
    std::copy(loops + index + 1, loops + depth, loops + index);
    --depth;
    return taken;
  }
  void takeRow(int64_t bytes);
  void takeRows();
  Status enqueue(DeviceStream &stream, std::byte *to, const std::byte *from,
                 int d) const;

  Loop loops[kMaxRank];
  int depth = 0;
  CopyShape shape;
};

RowCopy::RowCopy(const TensorView &to, const TensorView &from) {
  const int64_t bytes = artifact::elementBytes(to.element);
  for (int d = 0; d < to.rank; ++d) {
    const Loop loop{to.dims[d], to.strides[d] * bytes, from.strides[d] * bytes};
    Loop *last = depth > 0 ? &loops[depth - 1] : nullptr;
    if (loop.size == 1)
      continue;
    if (last && last->to == loop.to * loop.size &&
        last->from == loop.from * loop.size)
      *last = {last->size * loop.size, loop.to, loop.from};
    else
      loops[depth++] = loop;
  }
  takeRow(bytes);
  takeRows();
}

/// What lies side by side on both sides; else rows are single elements.
void RowCopy::takeRow(int64_t bytes) {
  shape.rowBytes = bytes;
  for (int i = 0; i < depth; ++i)
    if (loops[i].to == bytes && loops[i].from == bytes) {
      shape.rowBytes = take(i).size * bytes;
      return;
    }
}

/// The most rows that are no nearer to each other than they are long.
void RowCopy::takeRows() {
  int most = -1;
  for (int i = 0; i < depth; ++i) {
    const auto [size, to, from] = loops[i];
    if (std::min(to, from) >= shape.rowBytes &&
        std::max(to, from) <= kMostPitch &&
        (most < 0 || size > loops[most].size))
      most = i;
  }
  if (most < 0)
    return;
  const Loop rows = take(most);
  shape.rows = rows.size;
  shape.toPitch = rows.to;
  shape.fromPitch = rows.from;
}

Status RowCopy::enqueue(DeviceStream &stream, std::byte *to,
                        const std::byte *from, int d) const {
  if (d == depth)
    return stream.copy(to, from, shape, CopyDirection::DeviceToDevice);
  for (int64_t i = 0; i < loops[d].size; ++i)
    SHARDC_RETURN_IF_ERROR(
        enqueue(stream, to + i * loops[d].to, from + i * loops[d].from, d + 1));
  return Status::ok();
}

} // namespace

Status copyRows(DeviceStream &stream, const TensorView &to,
                const TensorView &from) {
  if (to.numElements() == 0)
    return Status::ok();
  const RowCopy copy(to, from);
  if (copy.numCopies() > kMostCopies)
    return argumentError("it would take ", copy.numCopies(),
                         " copies from device to device, expected at most ",
                         kMostCopies,
                         "; bind memory that is dense and row-major");
  return copy.enqueue(stream, to.data, from.data);
}

} // namespace shardc::runtime
