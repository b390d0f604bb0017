//===- NetworkChannel.h - A channel between two processes -----------------===//
#ifndef SHARDC_RUNTIME_BACKEND_NET_NETWORKCHANNEL_H
#define SHARDC_RUNTIME_BACKEND_NET_NETWORKCHANNEL_H

#include "runtime/backend/Channel.h"
#include "runtime/backend/net/Transport.h"

namespace shardc::runtime {

/// One end; the stream is made one-way and belongs to it alone.
class NetworkChannel final : public Channel {
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

#endif // SHARDC_RUNTIME_BACKEND_NET_NETWORKCHANNEL_H
