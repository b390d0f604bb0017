#include "runtime/serve/TextInputs.h"

#include "runtime/artifact/ElementNames.h"
#include "runtime/artifact/Format.h"
#include "runtime/base/Message.h"
#include "runtime/serve/StepInputs.h"

#include <algorithm>
#include <cstring>

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

/// Its dim; nothing where there is none.
std::optional<size_t> dimOf(const TensorInfo &info, std::string_view symbol) {
  for (size_t d = 0; d < info.dims.size(); ++d)
    if (info.dims[d].find(symbol) != std::string::npos)
      return d;
  return std::nullopt;
}

/// -1 where no memory has so many.
int64_t bytesOf(const TextInput &input) {
  int64_t bytes = artifact::elementBytes(input.element);
  for (int64_t dim : input.dims)
    if (__builtin_mul_overflow(bytes, dim, &bytes))
      return -1;
  return bytes;
}

} // namespace

std::optional<TextInputs::Role> TextInputs::roleOf(const TensorInfo &info,
                                                   size_t &keys) {
  if (const auto dim = dimOf(info, StepSymbols::kEncoderKeys)) {
    keys = *dim;
    return Role::Encoder;
  }
  if (dimOf(info, StepSymbols::kEncoderPages))
    return Role::EncoderMask;
  if (info.dims.size() != 2 || !isWritten(info.element))
    return std::nullopt;
  if (info.name == "input_ids")
    return Role::Tokens;
  if (info.name == "attention_mask")
    return Role::Mask;
  if (info.name == "position_ids")
    return Role::Positions;
  return std::nullopt;
}

Status TextInputs::make(std::span<const TensorInfo> infos,
                        std::span<const size_t> caches, TextInputs &inputs) {
  inputs = {};
  bool hasTokens = false;
  for (size_t i = 0; i < infos.size(); ++i) {
    const TensorInfo &info = infos[i];
    if (std::find(caches.begin(), caches.end(), i) != caches.end() ||
        info.name.rfind("rows.", 0) == 0)
      continue;
    size_t keys = 0;
    const std::optional<Role> role = roleOf(info, keys);
    if (!role)
      return argumentError("input '", info.name, "' (", typeText(info),
                           ") is none of input_ids, attention_mask and "
                           "position_ids of [batch, n], and not of an "
                           "encoder: feed rows to a SequencePool instead");
    if (*role == Role::Tokens) {
      hasTokens = true;
      inputs.takesOne = info.dims[1] == "1";
    }
    inputs.ports.push_back(
        {info.name, info.element, *role, info.dims.size(), keys});
  }
  return hasTokens ? Status::ok()
                   : argumentError("the model has no input input_ids");
}

Status TextInputs::check(std::span<const TextInput> given,
                         int64_t &encoderKeys) const {
  encoderKeys = 0;
  for (const TextInput &input : given) {
    const auto port =
        std::find_if(ports.begin(), ports.end(), [&](const Port &one) {
          return isGiven(one.role) && one.name == input.name;
        });
    if (port == ports.end())
      return argumentError("input '", input.name,
                           "' of a text is none that "
                           "the model takes of its encoder");
    if (port->element != input.element ||
        std::any_of(input.dims.begin(), input.dims.end(),
                    [](int64_t dim) { return dim < 1; }) ||
        bytesOf(input) != std::ssize(input.data))
      return argumentError("input '", input.name,
                           "' of a text has elements of "
                           "another type, or not as many as its dims say");
  }
  for (const Port &port : ports) {
    if (!isGiven(port.role))
      continue;
    const auto isIts = [&](const TextInput &input) {
      return input.name == port.name;
    };
    const auto input = std::find_if(given.begin(), given.end(), isIts);
    if (std::count_if(given.begin(), given.end(), isIts) != 1)
      return argumentError("input '", port.name, "' of a text is ",
                           input == given.end() ? "missing" : "given twice");
    if (port.role != Role::Encoder)
      continue;
    const int64_t keys =
        input->dims.size() == port.rank ? input->dims[port.keys] : 0;
    if (keys == 0 || (encoderKeys > 0 && encoderKeys != keys))
      return argumentError("input '", port.name,
                           "' of a text has other dims "
                           "than the model takes, or other lengths than "
                           "another");
    encoderKeys = keys;
  }
  return Status::ok();
}

void TextInputs::fill(std::span<const int64_t> tokens, int64_t past,
                      std::span<const TextInput> given, bool givesEncoder,
                      Row &row) const {
  const auto count = static_cast<int64_t>(tokens.size());
  row.tokenDims = {1, count};
  row.maskDims = {1, past + count};
  row.data.resize(ports.size());
  row.tensors.clear();
  std::vector<int64_t> values;
  for (size_t p = 0; p < ports.size(); ++p) {
    const Port &port = ports[p];
    if (isGiven(port.role)) {
      if (port.role == Role::Encoder && !givesEncoder)
        continue;
      const auto input =
          std::find_if(given.begin(), given.end(), [&](const TextInput &one) {
            return one.name == port.name;
          });
      row.tensors.push_back(
          {port.name, port.element, input->dims, input->data.data()});
      continue;
    }
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
