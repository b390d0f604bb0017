//===- NetworkChannel.h - A channel between two processes -----------------===//
#ifndef SHARDC_RUNTIME_COLLECTIVES_NET_NETWORKCHANNEL_H
#define SHARDC_RUNTIME_COLLECTIVES_NET_NETWORKCHANNEL_H

#include "runtime/collectives/StageChannel.h"
#include "runtime/transport/Transport.h"

namespace shardc::runtime {

/// One end; the stream is made one-way and belongs to it alone.
class NetworkChannel final : public StageChannel {
public:
  NetworkChannel(Transport &transport, Stream &stream)
      : transport(transport), stream(stream) {}

  Status send(const TensorView &from, RunFailure &failure,
              const CollectiveSite &site) override;
  Status receive(const TensorView &to, RunFailure &failure,
                 const CollectiveSite &site) override;

private:
  Status explained(const Status &status, const RunFailure &failure,
                   const CollectiveSite &site);

  Transport &transport;
  Stream &stream;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_COLLECTIVES_NET_NETWORKCHANNEL_H
