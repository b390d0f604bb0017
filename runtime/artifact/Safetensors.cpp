#include "runtime/artifact/Safetensors.h"

#include "runtime/artifact/BoundedJson.h"
#include "runtime/base/Message.h"

#include <cstring>

namespace shardc::runtime {
namespace {

using Json = nlohmann::json;

bool isCount(const Json &value) {
  return value.is_number_integer() &&
         (value.is_number_unsigned() ? value.get<uint64_t>() <= INT64_MAX
                                     : value.get<int64_t>() >= 0);
}

bool isListOfCounts(const Json &value) {
  if (!value.is_array())
    return false;
  for (const Json &element : value)
    if (!isCount(element))
      return false;
  return true;
}

/// False if the entry is malformed or points out of `data`.
bool readEntry(const Json &json, std::span<const std::byte> data,
               SafetensorsEntry &entry) {
  if (!json.is_object() || !json.contains("dtype") ||
      !json["dtype"].is_string() || !json.contains("shape") ||
      !isListOfCounts(json["shape"]) || !json.contains("data_offsets") ||
      !isListOfCounts(json["data_offsets"]) || json["data_offsets"].size() != 2)
    return false;
  entry.dtype = json["dtype"].get<std::string>();
  entry.dims = json["shape"].get<std::vector<int64_t>>();
  uint64_t begin = json["data_offsets"][0].get<uint64_t>();
  uint64_t end = json["data_offsets"][1].get<uint64_t>();
  if (begin > end || end > data.size())
    return false;
  entry.bytes = data.subspan(begin, end - begin);
  return true;
}

} // namespace

Status parseSafetensors(std::string_view name, std::span<const std::byte> file,
                        std::map<std::string, SafetensorsEntry> &entries) {
  uint64_t headerBytes = 0;
  if (file.size() >= sizeof headerBytes)
    std::memcpy(&headerBytes, file.data(), sizeof headerBytes);
  if (file.size() < sizeof headerBytes ||
      headerBytes > file.size() - sizeof headerBytes)
    return artifactError(name, ": not a safetensors file");
  const char *text = reinterpret_cast<const char *>(file.data()) + 8;
  Json header = parseBoundedJson({text, headerBytes});
  if (!header.is_object())
    return artifactError(name, ": its safetensors header is no JSON object");
  auto data = file.subspan(8 + headerBytes);
  for (const auto &[key, value] : header.items()) {
    if (key == "__metadata__")
      continue;
    SafetensorsEntry entry;
    if (!readEntry(value, data, entry))
      return artifactError(name, ": the entry of tensor ", key,
                           " is malformed");
    entries.emplace(key, std::move(entry));
  }
  return Status::ok();
}

} // namespace shardc::runtime
