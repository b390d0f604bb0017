#include "runtime/api/CBinding.h"

#include "runtime/api/CSession.h"
#include "runtime/artifact/ElementNames.h"
#include "runtime/tensor/CopyView.h"

#include <algorithm>

namespace shardc::runtime {
namespace {

/// Numbers of DLDeviceType whose memory the host reads.
bool isOfHost(int32_t type) {
  constexpr int32_t kUnset = 0, kCpu = 1, kPinnedByCuda = 3;
  return type == kUnset || type == kCpu || type == kPinnedByCuda;
}

/// Those whose memory a device reads: kDLCUDA and kDLCUDAManaged.
const char *backendOf(int32_t type) {
  constexpr int32_t kCuda = 2, kManagedByCuda = 13;
  return type == kCuda || type == kManagedByCuda ? "cuda" : nullptr;
}

std::string listOf(const MemoryDevices &devices, size_t first, size_t end) {
  std::string text;
  for (size_t i = first; i < end; ++i)
    text += message(i > first ? ", " : "", devices.backend, ":",
                    devices.numbers[i]);
  return text;
}

/// Whether it is memory that the ranks use.
Status checkDevice(const shardrt_view &given, const MemoryDevices &devices) {
  const char *backend = backendOf(given.device_type);
  const std::string where =
      message("is on device (", given.device_type, ", ", given.device_id, ")");
  if (!backend)
    return argumentError(where,
                         ", of which the runtime knows nothing; expected "
                         "memory of the host (1, 3) or of CUDA (2, 13): "
                         "copy it there");
  const std::string name = message(backend, ":", given.device_id);
  if (devices.backend != backend)
    return argumentError(where,
                         ", expected memory of the host, where the ranks "
                         "are: copy it there, or open the session with "
                         "device \"",
                         name, "\"");
  const auto &numbers = devices.numbers;
  if (numbers.empty())
    return argumentError(where, ", expected memory of the host, over which "
                                "processes pass on inputs and outputs: copy it "
                                "there");
  if (std::find(numbers.begin(), numbers.end(), given.device_id) ==
      numbers.end())
    return argumentError(
        where, ", expected memory of the host or of ",
        listOf(devices, 0, devices.ofRanks), ", where the ranks are",
        devices.ofRanks < numbers.size() ? ", or which they reach: " : "",
        listOf(devices, devices.ofRanks, numbers.size()), "; copy it there");
  return Status::ok();
}

/// From the first byte of the first element to the last of the last, which may
/// be in front of it.
bool hasAddresses(const TensorView &view, int64_t elementBytes) {
  int64_t low = 0, high = 0;
  for (int d = 0; d < view.rank; ++d) {
    int64_t reach = 0;
    if (__builtin_mul_overflow(view.dims[d] - 1, view.strides[d], &reach) ||
        __builtin_add_overflow(reach < 0 ? low : high, reach,
                               reach < 0 ? &low : &high))
      return false;
  }
  int64_t bytes = 0;
  return !__builtin_sub_overflow(high, low, &bytes) &&
         !__builtin_add_overflow(bytes, 1, &bytes) &&
         !__builtin_mul_overflow(bytes, elementBytes, &bytes);
}

/// Whether each dim, by falling strides, steps over all that those behind it
/// reach. So elements have places of their own.
bool isApart(const TensorView &view) {
  std::vector<std::pair<int64_t, int64_t>> steps; // stride, reach
  for (int d = 0; d < view.rank; ++d)
    if (view.dims[d] > 1)
      steps.emplace_back(std::abs(view.strides[d]),
                         std::abs(view.strides[d]) * (view.dims[d] - 1));
  std::sort(steps.begin(), steps.end());
  int64_t reached = 0;
  for (const auto &[stride, reach] : steps) {
    if (stride <= reached)
      return false;
    reached += reach;
  }
  return true;
}

Status readDims(const shardrt_view &given, TensorView &view) {
  if (given.rank < 0 || given.rank > kMaxRank ||
      (given.rank > 0 && !given.dims))
    return argumentError("has rank ", given.rank, ", expected dims of 0 to ",
                         kMaxRank);
  view.rank = given.rank;
  int64_t dense = 1;
  for (int d = view.rank - 1; d >= 0; --d) {
    view.dims[d] = given.dims[d];
    view.strides[d] = given.strides ? given.strides[d] : dense;
    if (view.dims[d] < 0 ||
        __builtin_mul_overflow(dense, std::max<int64_t>(view.dims[d], 1),
                               &dense))
      return argumentError("has the impossible shape ",
                           shapeText({given.dims, size_t(given.rank)}));
  }
  return Status::ok();
}

Status readMemory(const shardrt_view &given, bool isWritten, TensorView &view) {
  const int64_t bytes = artifact::elementBytes(view.element);
  if (view.numElements() == 0) {
    view.data = nullptr;
    return Status::ok();
  }
  if (!given.data)
    return argumentError("has no data");
  if (!hasAddresses(view, bytes))
    return argumentError("has strides that no memory has");
  view.data = static_cast<std::byte *>(given.data) + given.byte_offset;
  if (reinterpret_cast<uintptr_t>(view.data) % static_cast<size_t>(bytes) != 0)
    return argumentError("begins at an address that is no multiple of its ",
                         bytes, " bytes an element; copy it");
  if (isWritten && !isApart(view))
    return argumentError("has strides by which elements may lie upon each "
                         "other, and is written to");
  return Status::ok();
}

Status readKnown(const shardrt_view &given, const TensorInfo &info,
                 const MemoryDevices &devices, bool isWritten,
                 Binding &binding) {
  TensorView &view = binding.view;
  if (given.type != info.element) {
    const bool isType =
        given.type >= 0 && given.type <= artifact::ElementType_MAX;
    return argumentError(
        "is ",
        isType ? artifact::elementName(static_cast<ElementType>(given.type))
               : message("of type ", given.type, ", which is no shardrt_type"),
        ", expected ", artifact::elementName(info.element));
  }
  if (!isOfHost(given.device_type))
    SHARDC_RETURN_IF_ERROR(checkDevice(given, devices));
  view.element = info.element;
  SHARDC_RETURN_IF_ERROR(readDims(given, view));
  if (static_cast<size_t>(view.rank) != info.dims.size())
    return argumentError("has ", view.rank, " dims, expected ", typeText(info));
  SHARDC_RETURN_IF_ERROR(readMemory(given, isWritten, view));
  // Where there are no elements there is no memory.
  if (!isOfHost(given.device_type) && view.data)
    binding.onDevice = {view, given.device_id};
  return Status::ok();
}

} // namespace

Status readView(const char *function, const shardrt_view *given,
                const SessionPorts &ports, bool isWritten, Binding &binding) {
  const std::vector<TensorInfo> &infos =
      isWritten ? ports.outputs : ports.inputs;
  const char *kind = isWritten ? "output" : "input";
  if (!given || !given->name)
    return argumentError(function, ": the view and its name must not be NULL");
  const auto found =
      std::find_if(infos.begin(), infos.end(), [&](const TensorInfo &info) {
        return info.name == given->name;
      });
  if (found == infos.end())
    return argumentError(function, ": there is no ", kind, " '", given->name,
                         "'");
  binding.index = static_cast<size_t>(found - infos.begin());
  const Status status =
      readKnown(*given, *found, ports.devices, isWritten, binding);
  if (!status.isOk())
    return status.saying(message(function, ": ", kind, " '", given->name, "' ",
                                 status.message()));
  binding.isDense =
      binding.view.numElements() == 0 || binding.view.isContiguous();
  return Status::ok();
}

void setBinding(std::vector<Binding> &all, Binding binding) {
  for (Binding &each : all)
    if (each.index == binding.index) {
      each = std::move(binding);
      return;
    }
  all.push_back(std::move(binding));
}

Status readBound(const SessionPorts &ports, std::vector<Binding> &bindings,
                 std::vector<InputTensor> &inputs) {
  for (Binding &bound : bindings) {
    const TensorInfo &info = ports.inputs[bound.index];
    const std::byte *data = bound.view.data;
    if (!bound.isDense && !bound.onDevice) {
      const int64_t bytes = viewBytes(bound.view);
      if (bound.gathered.size() < bytes && !bound.gathered.allocate(bytes))
        return artifactError("out of memory for ", bytes, " bytes of input '",
                             info.name, "'");
      copyView(packedLike(bound.gathered.data(), bound.view), bound.view);
      data = bound.gathered.data();
    }
    inputs.push_back({info.name, info.element, bound.dims(), data,
                      bound.onDevice ? &*bound.onDevice : nullptr});
  }
  return Status::ok();
}

} // namespace shardc::runtime
