#include "runtime/exec/DeviceWeights.h"

#include "runtime/base/Message.h"

namespace shardc::runtime {

Status DeviceWeights::upload(Device &device, DeviceStream &stream,
                             RankWeights &weights) {
  std::map<Slice, int64_t> offsets; // of those that are new
  int64_t bytes = 0;
  for (size_t w = 0; w < weights.data.size(); ++w) {
    const Slice slice(weights.data[w], weights.bytes[w]);
    if (!copies.contains(slice) && offsets.try_emplace(slice, bytes).second)
      bytes += alignBuffer(slice.second);
  }
  DeviceBuffer buffer;
  if (!buffer.allocate(device, MemoryKind::Device, bytes))
    return artifactError("out of memory: ", device.info().name,
                         " has no room for ", bytes,
                         " bytes of weights; use more ranks");
  for (const auto &[slice, offset] : offsets) {
    std::byte *to = buffer.data() + offset;
    SHARDC_RETURN_IF_ERROR(stream.copy(to, slice.first,
                                       {.rowBytes = slice.second},
                                       CopyDirection::HostToDevice));
    copies[slice] = to;
  }
  for (size_t w = 0; w < weights.data.size(); ++w)
    weights.data[w] = copies[{weights.data[w], weights.bytes[w]}];
  memory.push_back(std::move(buffer));
  total += bytes;
  return Status::ok();
}

} // namespace shardc::runtime
