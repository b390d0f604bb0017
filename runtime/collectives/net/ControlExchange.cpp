#include "runtime/collectives/net/ControlExchange.h"

#include "runtime/base/Message.h"
#include "runtime/collectives/WaitText.h"
#include "runtime/transport/StreamNumbers.h"

namespace shardc::runtime {

Status ControlExchange::receive() {
  // Others may still be at the end of the run before this one.
  Status status = transport.waitPatiently(timeout, [&](Deadline deadline) {
    return transport.waitForMessages(all, deadline);
  });
  if (!Transport::isTimeout(status))
    return status;
  std::string missing;
  int first = -1;
  for (Stream *stream : all)
    if (!stream->hasArrived()) {
      first = first < 0 ? stream->otherRank() : first;
      missing += (missing.empty() ? "" : "; ") +
                 transport.rankTextWithPlace(stream->otherRank());
    }
  return transport.abort(
      artifactError(transport.rankText(transport.rank()), " ",
                    waitText(timeout, " to begin a run; missing: " + missing))
          .at({.rank = first}));
}

Status ControlExchange::ask(std::span<const std::byte> said,
                            size_t recordBytes) {
  all.assign(1, &transport.stream(0, kControlStream, {}));
  SHARDC_RETURN_IF_ERROR(all[0]->send(said, std::nullopt));
  SHARDC_RETURN_IF_ERROR(receive());
  if (found().size() % recordBytes == 0)
    return Status::ok();
  return transport.abort(
      artifactError(transport.rankText(0), " answers ", found().size(),
                    " bytes, expected records of ", recordBytes,
                    "; start the same shardrun on all machines"));
}

Status ControlExchange::receiveAll() {
  all.clear();
  for (int rank = 1; rank < transport.size(); ++rank)
    all.push_back(&transport.stream(rank, kControlStream, {}));
  return receive();
}

Status ControlExchange::answer(Stream &other, std::span<const std::byte> said) {
  other.release();
  return other.send(said, std::nullopt);
}

} // namespace shardc::runtime
