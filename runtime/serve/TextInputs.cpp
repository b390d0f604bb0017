#include "runtime/serve/TextInputs.h"

#include "runtime/artifact/ElementNames.h"
#include "runtime/base/Message.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace shardc::runtime {
namespace {

template <typename T>
void write(std::vector<std::byte> &data, std::span<const int64_t> values) {
  data.resize(values.size() * sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    const T value = static_cast<T>(values[i]);
    std::memcpy(data.data() + i * sizeof(T), &value, sizeof(T));
  }
}

void writeAs(ElementType element, std::span<const int64_t> values,
             std::vector<std::byte> &data) {
  switch (element) {
  case ElementType_Int64:
    return write<int64_t>(data, values);
  case ElementType_Int32:
    return write<int32_t>(data, values);
  case ElementType_Float32:
    return write<float>(data, values);
  default: // bool
    return write<uint8_t>(data, values);
  }
}

bool isWritten(ElementType element) {
  return element == ElementType_Int64 || element == ElementType_Int32 ||
         element == ElementType_Float32 || element == ElementType_Bool;
}

} // namespace

Status TextInputs::make(std::span<const TensorInfo> infos,
                        std::span<const size_t> caches, TextInputs &inputs) {
  inputs.ports.clear();
  bool hasTokens = false;
  for (size_t i = 0; i < infos.size(); ++i) {
    const TensorInfo &info = infos[i];
    if (std::find(caches.begin(), caches.end(), i) != caches.end() ||
        info.name.rfind("rows.", 0) == 0)
      continue;
    std::optional<Role> role;
    if (info.name == "input_ids")
      role = Role::Tokens;
    else if (info.name == "attention_mask")
      role = Role::Mask;
    else if (info.name == "position_ids")
      role = Role::Positions;
    if (!role || info.dims.size() != 2 || !isWritten(info.element))
      return argumentError("input '", info.name, "' (", typeText(info),
                           ") is none of input_ids, attention_mask and "
                           "position_ids of [batch, n]: feed rows to a "
                           "SequencePool instead");
    hasTokens |= role == Role::Tokens;
    inputs.ports.push_back({info.name, info.element, *role});
  }
  return hasTokens ? Status::ok()
                   : argumentError("the model has no input input_ids");
}

void TextInputs::fill(std::span<const int64_t> tokens, int64_t past,
                      Row &row) const {
  const auto count = static_cast<int64_t>(tokens.size());
  row.tokenDims = {1, count};
  row.maskDims = {1, past + count};
  row.data.resize(ports.size());
  row.tensors.clear();
  std::vector<int64_t> values;
  for (size_t p = 0; p < ports.size(); ++p) {
    const Port &port = ports[p];
    const bool isMask = port.role == Role::Mask;
    if (isMask)
      values.assign(static_cast<size_t>(past + count), 1);
    else
      values.assign(tokens.begin(), tokens.end());
    if (port.role == Role::Positions)
      for (int64_t i = 0; i < count; ++i)
        values[static_cast<size_t>(i)] = past + i;
    writeAs(port.element, values, row.data[p]);
    row.tensors.push_back({port.name, port.element,
                           isMask ? row.maskDims : row.tokenDims,
                           row.data[p].data()});
  }
}

} // namespace shardc::runtime
