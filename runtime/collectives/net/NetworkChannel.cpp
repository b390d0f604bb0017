#include "runtime/collectives/net/NetworkChannel.h"

#include "runtime/base/Message.h"
#include "runtime/collectives/WaitText.h"
#include "runtime/collectives/threads/Rendezvous.h"
#include "runtime/tensor/CopyView.h"

#include <array>

namespace shardc::runtime {

/// A timeout says who was waited for, and ends the request.
Status NetworkChannel::explained(const Status &status,
                                 const RunFailure &failure,
                                 const CollectiveSite &site) {
  if (status.isOk() || !Transport::isTimeout(status))
    return status;
  return transport.end(
      artifactError(
          siteText(site), ": ", transport.rankText(transport.rank()), " ",
          waitText(failure.timeout,
                   " for " + transport.rankTextWithPlace(stream.otherRank())))
          .at(placeOf(site, stream.otherRank())));
}

Status NetworkChannel::send(const TensorView &from, RunFailure &failure,
                            const CollectiveSite &site) {
  const int64_t bytes = viewBytes(from);
  std::byte *memory = nullptr;
  const Status status =
      transport.waitPatiently(failure.timeout, [&](Deadline deadline) {
        return stream.prepare(bytes, memory, deadline);
      });
  SHARDC_RETURN_IF_ERROR(explained(status, failure, site));
  copyView(packedLike(memory, from), from);
  stream.commit(bytes, 0);
  return Status::ok();
}

Status NetworkChannel::receive(const TensorView &to, RunFailure &failure,
                               const CollectiveSite &site) {
  const Status status =
      transport.waitPatiently(failure.timeout, [&](Deadline deadline) {
        return transport.waitForMessages(std::array{&stream}, deadline);
      });
  SHARDC_RETURN_IF_ERROR(explained(status, failure, site));
  const Arrived message = stream.front();
  if (static_cast<int64_t>(message.bytes.size()) != viewBytes(to))
    return artifactError(site.kind, " at node '", site.node, "' expects ",
                         viewBytes(to), " bytes, ",
                         transport.rankText(stream.otherRank()), " sent ",
                         message.bytes.size())
        .at(placeOf(site, stream.otherRank()));
  copyView(to, packedLike(message.bytes.data(), to));
  stream.release();
  return Status::ok();
}

} // namespace shardc::runtime
