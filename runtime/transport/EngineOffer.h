//===- EngineOffer.h - Which pairs use a message engine -------------------===//
//
// Once it is known who shares memory, each other pair says over its connection
// what it reaches the network by: all are told the same (SHARDC_NETWORK), or
// they do not start.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_TRANSPORT_ENGINEOFFER_H
#define SHARDC_RUNTIME_TRANSPORT_ENGINEOFFER_H

#include "runtime/transport/MessageEngine.h"
#include "runtime/transport/SharedFile.h"

#include <vector>

namespace shardc::runtime {

enum class NetworkKind : uint32_t { Tcp, Ucx };

/// As it is sent; the address follows.
struct EngineOffer {
  NetworkKind kind = NetworkKind::Tcp;
  uint32_t addressBytes = 0;
  uint64_t token = 0; ///< that messages to the sender have to say
};

/// Opens the library of an engine and an engine; the error says what is missing.
Status openEngine(NetworkKind kind, MessageSink &sink,
                  std::unique_ptr<MessageEngine> &engine);

/// Connects the engine, null for TCP, with each rank to which there is a
/// connection and no shared memory.
Status connectEngine(NetworkKind kind, MessageEngine *engine,
                     const std::vector<Socket> &peers,
                     const std::vector<std::unique_ptr<PeerFile>> &files,
                     Deadline deadline);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRANSPORT_ENGINEOFFER_H
