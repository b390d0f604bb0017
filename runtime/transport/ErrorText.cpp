#include "runtime/transport/ErrorText.h"

#include "runtime/transport/TransportPeer.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace shardc::runtime {

/// The message, then each of these behind a 0: rank, stage, instruction,
/// kernel, node.
std::string textOf(const Status &status) {
  constexpr size_t kMostName = 512;
  const ErrorPlace &place = status.place();
  std::string text;
  // A name in a model may have any bytes.
  auto put = [&](std::string field) {
    std::replace(field.begin(), field.end(), '\0', ' ');
    text += field;
  };
  auto add = [&](const std::string &field) {
    text += '\0';
    put(field.substr(0, kMostName));
  };
  put(status.message().substr(0, kMaxText / 2));
  add(std::to_string(place.rank));
  add(std::to_string(place.stage));
  add(std::to_string(place.instruction));
  add(place.kernel);
  add(place.node);
  return text;
}

static StatusCode codeOf(uint64_t tag) {
  const auto code = static_cast<StatusCode>(tag);
  const bool isError = tag > static_cast<uint64_t>(StatusCode::Ok) &&
                       tag <= static_cast<uint64_t>(StatusCode::Deadline) &&
                       code != StatusCode::Unsupported;
  return isError ? code : StatusCode::Artifact;
}

static int numberOf(const std::string &text) {
  int number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number < 0 ? -1 : number;
}

Status errorOf(uint64_t tag, const std::string &text) {
  std::array<std::string, 6> fields;
  size_t begin = 0;
  for (std::string &field : fields) {
    if (begin > text.size())
      break;
    const size_t end = std::min(text.find('\0', begin), text.size());
    field = text.substr(begin, end - begin);
    begin = end + 1;
  }
  return Status::error(codeOf(tag), std::move(fields[0]),
                       {numberOf(fields[1]), numberOf(fields[2]),
                        numberOf(fields[3]), std::move(fields[4]),
                        std::move(fields[5])});
}

} // namespace shardc::runtime
