#include "runtime/session/SameArtifact.h"

#include "runtime/base/Message.h"

#include <cstring>
#include <vector>

namespace shardc::runtime {
namespace {

using Ranks = std::vector<int32_t>; ///< that have another one

Status askFirst(ControlExchange &control, std::span<const std::byte> mine,
                Ranks &differ) {
  SHARDC_RETURN_IF_ERROR(control.ask(mine, sizeof(int32_t)));
  const std::span<const std::byte> found = control.found();
  differ.resize(found.size() / sizeof(int32_t));
  if (!differ.empty())
    std::memcpy(differ.data(), found.data(), found.size());
  control.release();
  return Status::ok();
}

Status judge(ControlExchange &control, std::span<const std::byte> mine,
             Ranks &differ) {
  SHARDC_RETURN_IF_ERROR(control.receiveAll());
  for (Stream *stream : control.others()) {
    const std::span<const std::byte> theirs = stream->front().bytes;
    if (theirs.size() != mine.size() ||
        std::memcmp(theirs.data(), mine.data(), mine.size()) != 0)
      differ.push_back(stream->otherRank());
  }
  for (Stream *stream : control.others())
    SHARDC_RETURN_IF_ERROR(
        control.answer(*stream, std::as_bytes(std::span(differ))));
  return Status::ok();
}

} // namespace

Status checkSameArtifact(ControlExchange &control,
                         const std::array<uint64_t, 2> &hash,
                         const std::string &folder) {
  const auto mine = std::as_bytes(std::span(hash));
  Ranks differ;
  SHARDC_RETURN_IF_ERROR(control.transport.rank() == 0
                             ? judge(control, mine, differ)
                             : askFirst(control, mine, differ));
  if (differ.empty())
    return Status::ok();
  std::string ranks;
  for (int32_t rank : differ)
    ranks += (ranks.empty() ? "" : ", ") + control.transport.rankText(rank);
  return artifactError("the artifact ", folder,
                       " differs between the processes: expected that of rank "
                       "0, found another on ",
                       ranks, "; copy it to all machines again");
}

} // namespace shardc::runtime
