#include "passes/import/weights/QuantizedPlaces.h"

#include <utility>

using namespace mlir;

namespace shardc::import {

using onnx::QuantizedMatrix;

QuantizedPlaces::Key QuantizedPlaces::keyOf(const WeightSource &source,
                                            Type stored) {
  return {source.weight.getFile().str(), source.weight.getOffset(),
          source.isTransposed, source.type().getAsOpaquePointer(),
          stored.getAsOpaquePointer()};
}

uint64_t QuantizedPlaces::place(uint64_t bytes) {
  const uint64_t at = llvm::alignTo(size, 64);
  size = at + bytes;
  return at;
}

QuantizedMatrix QuantizedPlaces::describe(const WeightSource &source,
                                          Type stored) const {
  QuantizedMatrix made;
  made.name = source.weight.getNameAttr();
  made.file = source.weight.getFileAttr();
  made.offset = source.weight.getOffset();
  made.length = source.weight.getLength();
  made.element = source.type().getElementType();
  made.stored = stored;
  ArrayRef<int64_t> dims = source.type().getShape();
  made.batch = dims.size() == 3 ? dims[0] : 1;
  made.rows = source.rows();
  made.columns = source.columns();
  made.isTransposed = source.isTransposed;
  made.group = isa<IntegerType>(stored) ? group : 0;
  return made;
}

QuantizedPlace QuantizedPlaces::of(const WeightSource &source, Type stored) {
  auto [found, isNew] =
      known.try_emplace(std::vector<Key>{keyOf(source, stored)});
  QuantizedPlace &made = found->second;
  if (!isNew)
    return made;
  QuantizedMatrix matrix = describe(source, stored);
  made = {stored,         matrix.element,  matrix.rows,
          matrix.columns, matrix.groups(), matrix.group};
  made.dataBytes = matrix.dataBytes();
  made.scaleBytes = matrix.scaleBytes();
  made.dataOffset = matrix.dataOffset = place(made.dataBytes);
  made.scaleOffset = matrix.scaleOffset = place(made.scaleBytes);
  list.push_back(matrix);
  return made;
}

/// Whether all experts have matrices of n rows, in whole bytes of elements.
static bool areAlike(const ExpertStack &stack, Type stored, int64_t n) {
  const WeightSource &first = stack.first();
  const unsigned bits = stored.getIntOrFloatBitWidth();
  return llvm::all_of(stack.experts, [&](const ExpertStack::Parts &parts) {
    int64_t rows = 0;
    for (const WeightSource &part : parts) {
      rows += part.rows();
      if (part.columns() != first.columns() ||
          part.type().getElementType() != first.type().getElementType() ||
          uint64_t(part.rows()) * part.columns() * bits % 8 != 0)
        return false;
    }
    return parts.empty() ? uint64_t(n) * first.columns() * bits % 8 == 0
                         : rows == n;
  });
}

static QuantizedMatrix zerosLike(const QuantizedMatrix &stack) {
  QuantizedMatrix zeros = stack;
  zeros.name = zeros.file = StringAttr::get(stack.name.getContext());
  zeros.offset = zeros.length = 0;
  zeros.batch = 1;
  zeros.isTransposed = false;
  return zeros;
}

std::optional<QuantizedPlace> QuantizedPlaces::of(const ExpertStack &stack,
                                                  Type stored) {
  const WeightSource &first = stack.first();
  std::vector<Key> key;
  int64_t n = 0;
  for (const ExpertStack::Parts &parts : stack.experts) {
    if (n == 0)
      for (const WeightSource &part : parts)
        n += part.rows();
    for (const WeightSource &part : parts)
      key.push_back(keyOf(part, stored));
    key.emplace_back(); // the next expert
  }
  if (!areAlike(stack, stored, n))
    return std::nullopt;
  auto [found, isNew] = known.try_emplace(std::move(key));
  QuantizedPlace &made = found->second;
  if (!isNew)
    return made;
  QuantizedMatrix all = describe(first, stored);
  all.batch = int64_t(stack.experts.size());
  all.rows = n;
  made = {stored, all.element, n, all.columns, all.groups(), all.group};
  made.dataBytes = all.dataBytes();
  made.scaleBytes = all.scaleBytes();
  made.dataOffset = place(made.dataBytes);
  made.scaleOffset = place(made.scaleBytes);
  uint64_t data = made.dataOffset, scales = made.scaleOffset;
  const auto add = [&](QuantizedMatrix matrix) {
    matrix.dataOffset = std::exchange(data, data + matrix.dataBytes());
    matrix.scaleOffset = std::exchange(scales, scales + matrix.scaleBytes());
    list.push_back(matrix);
  };
  for (const ExpertStack::Parts &parts : stack.experts) {
    if (parts.empty())
      add(zerosLike(all));
    for (const WeightSource &part : parts)
      add(describe(part, stored));
  }
  return made;
}

} // namespace shardc::import
