//===- CommandStream.h - From rank 0 to all other processes ---------------===//
//
// Along a tree, so that nobody tells more than two others, however many there
// are. Large inputs come in pieces, each of which goes on at once:
//
//   0 -> 1, 2      1 -> 3, 4      2 -> 5, 6
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_SESSION_COMMANDSTREAM_H
#define SHARDC_RUNTIME_SESSION_COMMANDSTREAM_H

#include "runtime/base/AlignedBuffer.h"
#include "runtime/session/Command.h"
#include "runtime/transport/Transport.h"

#include <span>
#include <vector>

namespace shardc::runtime {

class CommandStream {
public:
  /// `session`: its number among those of the processes. What others before it
  /// have left unheard is nothing to this one. `timeout`: how long others may
  /// not listen although nobody gets on.
  CommandStream(Transport &transport, uint32_t session,
                std::chrono::milliseconds timeout);

  /// Of rank 0; `data` of all inputs, in their order.
  Status send(const Command &command, std::span<const void *const> data);
  /// Of rank 0: the last one. Where nobody listens, nobody is told.
  void sendEnd();
  /// Of all others: waits for the next one, however long that takes. `data`, of
  /// all inputs, is valid until the next call.
  Status receive(Command &command, std::vector<const void *> &data);

private:
  std::span<const std::byte> messageOf(const Command &command);
  Status sendPiece(std::span<const std::byte> piece);
  Status receivePiece(std::span<const std::byte> &piece);
  Status receiveAny(Command &command, std::vector<const void *> &data,
                    int64_t &ofSession);

  Transport &transport;
  const int64_t session;
  const std::chrono::milliseconds timeout;
  Stream *parent = nullptr; ///< of rank 0: none
  std::vector<Stream *> children;
  std::vector<int64_t> words;
  AlignedBuffer memory; ///< of the data that came
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_SESSION_COMMANDSTREAM_H
