#include "runtime/session/InputAgreement.h"

#include "runtime/base/Hash.h"
#include "runtime/base/Message.h"

#include <algorithm>
#include <cstring>

namespace shardc::runtime {
namespace {

ContentHash hashOf(const InputTensor &tensor) {
  int64_t elements = 1;
  for (int64_t dim : tensor.dims)
    elements *= dim > 0 ? dim : 0;
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  XXH3_128bits_update(&state, tensor.name.data(), tensor.name.size());
  XXH3_128bits_update(&state, &tensor.element, sizeof tensor.element);
  XXH3_128bits_update(&state, tensor.dims.data(), tensor.dims.size_bytes());
  if (tensor.data && elements > 0)
    XXH3_128bits_update(
        &state, tensor.data,
        static_cast<size_t>(artifact::storageBytes(tensor.element, elements)));
  const XXH128_hash_t digest = XXH3_128bits_digest(&state);
  return {digest.low64, digest.high64};
}

} // namespace

Status InputAgreement::check(std::span<const PipelineRequest> requests) {
  hashes.clear();
  for (const PipelineRequest &request : requests)
    for (const InputTensor &input : request.inputs)
      hashes.push_back(hashOf(input));
  auto name = [&](size_t number) {
    for (size_t r = 0; r < requests.size(); ++r) {
      if (number < requests[r].inputs.size())
        return message("input '", requests[r].inputs[number].name, "'",
                       requests.size() > 1 ? message(" of request ", r) : "");
      number -= requests[r].inputs.size();
    }
    return std::string("the number of inputs");
  };
  return check(hashes, StatusCode::InvalidArgument, name,
               "give all processes the same inputs");
}

Status InputAgreement::check(std::span<const ContentHash> mine, StatusCode code,
                             const std::function<std::string(size_t)> &what,
                             const char *remedy) {
  Transport &transport = control.transport;
  SHARDC_RETURN_IF_ERROR(transport.rank() == 0 ? judge(mine) : askFirst(mine));
  if (differences.empty())
    return Status::ok();
  // Those that differ elsewhere too are told of next time.
  const int32_t first = std::min_element(differences.begin(), differences.end(),
                                         [](const auto &a, const auto &b) {
                                           return a.first < b.first;
                                         })
                            ->first;
  std::string ranks;
  for (const Difference &difference : differences)
    if (difference.first == first)
      ranks +=
          (ranks.empty() ? "" : ", ") + transport.rankText(difference.rank);
  return Status::error(code, message(what(static_cast<size_t>(first)),
                                     " differs between the processes: "
                                     "expected that of rank 0, found another "
                                     "on ",
                                     ranks, "; ", remedy));
}

Status InputAgreement::askFirst(std::span<const ContentHash> mine) {
  SHARDC_RETURN_IF_ERROR(control.ask(std::as_bytes(mine), sizeof(Difference)));
  const std::span<const std::byte> found = control.found();
  differences.resize(found.size() / sizeof(Difference));
  if (!differences.empty())
    std::memcpy(differences.data(), found.data(), found.size());
  control.release();
  return Status::ok();
}

Status InputAgreement::judge(std::span<const ContentHash> mine) {
  SHARDC_RETURN_IF_ERROR(control.receiveAll());
  differences.clear();
  for (Stream *stream : control.others()) {
    const std::span<const std::byte> found = stream->front().bytes;
    const size_t theirs = found.size() / sizeof(ContentHash);
    size_t same = 0;
    while (same < std::min(theirs, mine.size()) &&
           std::memcmp(found.data() + same * sizeof(ContentHash), &mine[same],
                       sizeof(ContentHash)) == 0)
      ++same;
    if (same < std::max(theirs, mine.size()))
      differences.push_back({stream->otherRank(), static_cast<int32_t>(same)});
  }
  for (Stream *stream : control.others())
    SHARDC_RETURN_IF_ERROR(
        control.answer(*stream, std::as_bytes(std::span(differences))));
  return Status::ok();
}

} // namespace shardc::runtime
