#include "runtime/tensor/Tensor.h"

#include "runtime/artifact/ElementNames.h"
#include "runtime/base/Message.h"

#include <algorithm>
#include <utility>

namespace shardc::runtime {

Tensor Tensor::borrow(void *data, int64_t capacity) {
  Tensor tensor;
  tensor.memory = static_cast<std::byte *>(data);
  tensor.capacity = capacity;
  tensor.borrowed = true;
  return tensor;
}

Tensor Tensor::onDevice(const DeviceView &memory) {
  const TensorView &view = memory.view;
  Tensor tensor = borrow(
      view.data, artifact::storageBytes(view.element, view.numElements()));
  tensor.device = &memory;
  return tensor;
}

void Tensor::swap(Tensor &other) noexcept {
  std::swap(type, other.type);
  std::swap(rank, other.rank);
  std::swap(sizes, other.sizes);
  std::swap(memory, other.memory);
  std::swap(capacity, other.capacity);
  std::swap(borrowed, other.borrowed);
  std::swap(isFixed, other.isFixed);
  std::swap(device, other.device);
  std::swap(owned, other.owned);
}

int64_t Tensor::numElements() const {
  int64_t n = 1;
  for (int64_t dim : dims())
    n *= dim;
  return n;
}

int64_t Tensor::bytes() const {
  return numElements() * artifact::elementBytes(type);
}

Status Tensor::reshape(ElementType element, std::span<const int64_t> dims) {
  if (dims.size() > kMaxRank)
    return argumentError("a tensor of ", dims.size(),
                         " dims, expected at most ", kMaxRank);
  if (artifact::isSubByte(element))
    return argumentError("tensors of ", artifact::elementName(element),
                         " are inside of programs only");
  if (isFixed && (element != type || !std::ranges::equal(dims, this->dims())))
    return argumentError("it is ", artifact::elementName(element), " ",
                         shapeText(dims), ", but bound to memory for ",
                         artifact::elementName(type), " ",
                         shapeText(this->dims()));
  int64_t needed = artifact::elementBytes(element);
  for (int64_t dim : dims)
    if (dim < 0 || __builtin_mul_overflow(needed, dim, &needed))
      return argumentError("impossible shape ", shapeText(dims));
  if (needed > capacity || !memory) {
    if (borrowed && needed > 0)
      return argumentError("the given memory of ", capacity,
                           " bytes is too small, expected ", needed);
    if (!borrowed && !owned.allocate(needed))
      return artifactError("out of memory for a tensor of ", needed, " bytes");
    if (!borrowed) {
      memory = owned.data();
      capacity = needed;
    }
  }
  type = element;
  rank = static_cast<int>(dims.size());
  std::copy(dims.begin(), dims.end(), sizes);
  return Status::ok();
}

} // namespace shardc::runtime
