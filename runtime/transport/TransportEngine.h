//===- TransportEngine.h - What a message engine tells a transport --------===//
#ifndef SHARDC_RUNTIME_TRANSPORT_TRANSPORTENGINE_H
#define SHARDC_RUNTIME_TRANSPORT_TRANSPORTENGINE_H

#include "runtime/transport/MessageEngine.h"
#include "runtime/transport/Transport.h"

#include <vector>

namespace shardc::runtime {

class Transport::EngineSink final : public MessageSink {
public:
  explicit EngineSink(Transport &transport) : transport(transport) {}

  std::shared_ptr<AlignedBuffer> begin(int peer,
                                       const EngineHeader &header) override;
  void end(int peer, const EngineHeader &header) override;
  void lose(int peer, const std::string &why) override;

private:
  friend class Transport;
  /// A message that is none, or, with `why`, a peer that is lost.
  struct Problem {
    int rank;
    FrameHeader header;
    std::string why;
    Deadline due; ///< the connection may say more before
  };
  void note(Problem problem);

  Transport &transport;
  std::mutex mutex;
  std::vector<Problem> problems;
  std::atomic<bool> hasProblems = false;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRANSPORT_TRANSPORTENGINE_H
