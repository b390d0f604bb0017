#include "runtime/plan/InputSlices.h"

#include "runtime/base/AlignedBuffer.h"
#include "runtime/base/Message.h"
#include "runtime/kernels/CopyBlock.h"
#include "runtime/plan/ArenaPlanner.h"
#include "runtime/program/ViewResolver.h"
#include "runtime/tensor/CopyView.h"

#include <algorithm>

namespace shardc::runtime {

/// Copied, rather than read where the caller has it: some microseconds.
static constexpr int64_t kSmallBytes = 64 * 1024;

Status InputSlices::prepare(const artifact::Program &program,
                            std::span<const int64_t> scalars,
                            std::span<const char> isSkipped) {
  *this = InputSlices();
  for (uint32_t i = 0; i < program.inputs()->size(); ++i)
    if (isSkipped[i])
      slices.emplace_back().isSkipped = true;
    else
      SHARDC_RETURN_IF_ERROR(addSlice(program, i, scalars));
  for (const Slice &slice : slices)
    isWindow.push_back(slice.isWindow);
  return Status::ok();
}

/// Gives a packed view the strides of the program's, where these are its own in
/// another order; false: they are not, or not another.
static bool arrange(const artifact::Program &program, uint32_t index,
                    std::span<const int64_t> scalars, TensorView &local) {
  ResolvedView resolved;
  const TensorView &view = resolved.view;
  if (!resolveView(program, index, scalars, resolved).isOk() ||
      resolved.byteOffset != 0 || view.rank != local.rank ||
      view.numElements() == 0)
    return false;
  std::vector<int> order; // from the innermost dim out
  for (int d = local.rank; d-- > 0;) {
    if (view.dims[d] != local.dims[d])
      return false;
    if (view.dims[d] > 1)
      order.push_back(d);
  }
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return view.strides[a] < view.strides[b];
  });
  int64_t stride = 1;
  for (int d : order) {
    if (view.strides[d] != stride)
      return false;
    stride *= view.dims[d];
  }
  const bool isTurned = !std::is_sorted(order.rbegin(), order.rend());
  for (int d : order)
    local.strides[d] = view.strides[d];
  return isTurned;
}

Status InputSlices::addSlice(const artifact::Program &program, uint32_t index,
                             std::span<const int64_t> scalars) {
  const artifact::Input *input = program.inputs()->Get(index);
  Slice slice;
  std::vector<int64_t> global, local;
  for (uint32_t d = 0; d < input->dims()->size(); ++d) {
    OwnedRuns owned;
    SHARDC_RETURN_IF_ERROR(
        resolveLayout(*input->layout()->Get(d), scalars, owned));
    global.push_back(scalars[input->dims()->Get(d)]);
    local.push_back(owned.localSize);
    if (owned.globalSize != global.back())
      return artifactError("input '", input->name()->c_str(), "': dim ", d,
                           " is ", global.back(), ", its layout has ",
                           owned.globalSize);
    slice.dims.push_back(std::move(owned));
  }
  slice.global = packedView(nullptr, input->element(), global);
  const artifact::ElementType held =
      program.views()->Get(input->view())->element();
  slice.local = packedView(nullptr, held, local);
  const bool isTurned = arrange(program, input->view(), scalars, slice.local);
  const int64_t size = artifact::elementBytes(held);
  const int64_t sliceBytes = slice.local.numElements() * size;
  slice.isPiece = isContiguousBlock(slice.dims, slice.windowOffset) &&
                  held == input->element() && !isTurned;
  slice.isWindow = slice.isPiece && sliceBytes > kSmallBytes;
  slice.windowOffset *= size;
  for (uint32_t b = 0; b < program.buffers()->size(); ++b) {
    const artifact::Buffer *buffer = program.buffers()->Get(b);
    if (buffer->kind() == artifact::BufferKind_Input &&
        buffer->source() == index && scalars[buffer->bytes()] != sliceBytes)
      return artifactError("input '", input->name()->c_str(), "' has ",
                           sliceBytes, " bytes on this rank, its buffer ",
                           scalars[buffer->bytes()]);
  }
  slice.deviceOffset = allBytes;
  allBytes += alignBuffer(sliceBytes);
  slice.packedOffset = bytes;
  if (!slice.isWindow)
    bytes += alignBuffer(sliceBytes);
  slices.push_back(std::move(slice));
  return Status::ok();
}

std::byte *InputSlices::place(size_t index, const void *data,
                              std::byte *memory) {
  // Kernels want an address also where there are no bytes.
  alignas(kBufferAlignment) static std::byte nothing[kBufferAlignment];
  Slice &slice = slices[index];
  auto *at = static_cast<std::byte *>(const_cast<void *>(data));
  if (slice.isSkipped || slice.local.numElements() == 0)
    return nothing;
  if (slice.isWindow)
    return at + slice.windowOffset;
  slice.global.data = at;
  slice.local.data = memory + slice.packedOffset;
  copyBlock(slice.dims, slice.global, slice.local, BlockCopy::ToLocal);
  return slice.local.data;
}

std::byte *InputSlices::findPart(size_t index, const TensorView &whole) const {
  const Slice &slice = slices[index];
  std::byte *at = whole.data + slice.windowOffset;
  return slice.isPiece && whole.isContiguous() &&
                 reinterpret_cast<uintptr_t>(at) % kBufferAlignment == 0
             ? at
             : nullptr;
}

TensorView InputSlices::placeOf(size_t index, std::byte *memory) const {
  TensorView local = slices[index].local;
  local.data = memory + slices[index].deviceOffset;
  return local;
}

Status InputSlices::upload(size_t index, const void *data, std::byte *staging,
                           std::byte *memory, DeviceStream &stream,
                           std::byte *&at) {
  const Slice &slice = slices[index];
  at = memory; // an address also where there are no bytes
  if (isUnread(index))
    return Status::ok();
  const std::byte *packed = place(index, data, staging);
  at += slice.deviceOffset;
  return stream.copy(at, packed, {.rowBytes = viewBytes(slice.local)},
                     CopyDirection::HostToDevice);
}

} // namespace shardc::runtime
