#include "runtime/tensor/CopyView.h"

#include "runtime/tensor/SubByte.h"

#include <algorithm>
#include <cstring>

namespace shardc::runtime {
namespace {

/// A copy's loop nest, neighbouring dims merged where both sides allow it.
struct Loops {
  int depth = 0;
  int64_t sizes[kMaxRank];
  int64_t to[kMaxRank]; ///< strides in elements
  int64_t from[kMaxRank];
};

Loops mergeDims(const TensorView &destination, const TensorView &source) {
  Loops loops;
  for (int d = 0; d < destination.rank; ++d) {
    int64_t size = destination.dims[d];
    int64_t to = destination.strides[d], from = source.strides[d];
    if (size == 1)
      continue;
    int last = loops.depth - 1;
    if (last >= 0 && loops.to[last] == to * size &&
        loops.from[last] == from * size) {
      loops.sizes[last] *= size;
      loops.to[last] = to;
      loops.from[last] = from;
      continue;
    }
    loops.sizes[loops.depth] = size;
    loops.to[loops.depth] = to;
    loops.from[loops.depth++] = from;
  }
  return loops;
}

template <typename Word>
void copyRow(std::byte *to, const std::byte *from, const Loops &loops, int d) {
  if (loops.to[d] == 1 && loops.from[d] == 1) {
    std::memcpy(to, from, static_cast<size_t>(loops.sizes[d]) * sizeof(Word));
    return;
  }
  // Tensors inside of ONNX files lie at any address: no typed access.
  constexpr int64_t bytes = sizeof(Word);
  const int64_t toStep = loops.to[d] * bytes, fromStep = loops.from[d] * bytes;
  for (int64_t i = 0; i < loops.sizes[d]; ++i)
    std::memcpy(to + i * toStep, from + i * fromStep, sizeof(Word));
}

template <typename Word>
void copyLoops(std::byte *to, const std::byte *from, const Loops &loops,
               int d) {
  if (d == loops.depth - 1)
    return copyRow<Word>(to, from, loops, d);
  constexpr int64_t bytes = sizeof(Word);
  for (int64_t i = 0; i < loops.sizes[d]; ++i)
    copyLoops<Word>(to + i * loops.to[d] * bytes,
                    from + i * loops.from[d] * bytes, loops, d + 1);
}

/// Rows of elements that share bytes; those that lie alike on both sides go by
/// bytes.
void copyFields(const TensorView &to, int64_t toFirst, const TensorView &from,
                int64_t fromFirst, const Loops &loops, int d) {
  const int64_t size = loops.sizes[d];
  if (d < loops.depth - 1) {
    for (int64_t i = 0; i < size; ++i)
      copyFields(to, toFirst + i * loops.to[d], from,
                 fromFirst + i * loops.from[d], loops, d + 1);
    return;
  }
  const auto bits = static_cast<int>(artifact::elementBits(to.element));
  const int ofByte = 8 / bits;
  int64_t i = 0;
  if (loops.to[d] == 1 && loops.from[d] == 1 && toFirst % ofByte == 0 &&
      fromFirst % ofByte == 0) {
    std::memcpy(to.data + toFirst / ofByte, from.data + fromFirst / ofByte,
                static_cast<size_t>(size / ofByte));
    i = size / ofByte * ofByte;
  }
  for (; i < size; ++i)
    writeField(to.data, toFirst + i * loops.to[d], bits,
               readField(from.data, fromFirst + i * loops.from[d], bits));
}

} // namespace

TensorView packedView(const void *data, artifact::ElementType element,
                      std::span<const int64_t> dims) {
  TensorView view;
  view.data = static_cast<std::byte *>(const_cast<void *>(data));
  view.element = element;
  view.rank = static_cast<int>(dims.size());
  int64_t stride = 1;
  for (int d = view.rank - 1; d >= 0; --d) {
    view.dims[d] = dims[static_cast<size_t>(d)];
    view.strides[d] = stride;
    stride *= view.dims[d];
  }
  return view;
}

TensorView packedLike(const void *data, const TensorView &like) {
  return packedView(data, like.element,
                    {like.dims, static_cast<size_t>(like.rank)});
}

int64_t viewBytes(const TensorView &view) {
  return artifact::storageBytes(view.element, view.numElements());
}

TensorView narrowed(const TensorView &view, int dim, int64_t start,
                    int64_t length) {
  TensorView part = view;
  part.dims[dim] = length;
  if (part.data)
    advance(part, start * view.strides[dim]);
  return part;
}

void copyView(const TensorView &destination, const TensorView &source) {
  if (destination.numElements() == 0)
    return;
  Loops loops = mergeDims(destination, source);
  if (loops.depth == 0) // one element
    loops = {1, {1}, {1}, {1}};
  if (destination.data == source.data &&
      destination.skipped == source.skipped &&
      std::equal(loops.to, loops.to + loops.depth, loops.from))
    return;
  switch (artifact::elementBytes(destination.element)) {
  case 0:
    return copyFields(destination, destination.skipped, source, source.skipped,
                      loops, 0);
  case 1:
    return copyLoops<uint8_t>(destination.data, source.data, loops, 0);
  case 2:
    return copyLoops<uint16_t>(destination.data, source.data, loops, 0);
  case 4:
    return copyLoops<uint32_t>(destination.data, source.data, loops, 0);
  default:
    return copyLoops<uint64_t>(destination.data, source.data, loops, 0);
  }
}

} // namespace shardc::runtime
