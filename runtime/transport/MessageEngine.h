//===- MessageEngine.h - What carries messages between machines -----------===//
//
// An engine of a network, in a library of its own that is opened where it is
// asked for (UcxPlugin.cpp): messages may come in another order than they were
// sent, and go over what the network has, RDMA for instance. The connection of
// the pair stays for all else (Transport.h).
//
// An engine calls its sink from whichever thread calls it, one at a time.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_TRANSPORT_MESSAGEENGINE_H
#define SHARDC_RUNTIME_TRANSPORT_MESSAGEENGINE_H

#include "runtime/base/AlignedBuffer.h"
#include "runtime/transport/Socket.h"
#include "runtime/transport/Stream.h"

#include <atomic>
#include <memory>
#include <string>

namespace shardc::runtime {

/// What each message starts with.
struct EngineHeader {
  FrameHeader frame; ///< Data, Credit or Goodbye
  uint64_t number =
      0;              ///< of the stream's messages, from 0 on; of a Goodbye how
                      ///< many were sent before
  uint64_t epoch = 0; ///< of the stream (EngineStream.h)
  uint64_t token = 0; ///< of the sender; the engine writes it
};

/// Lives until it is sent, whoever else lets go of it.
struct EngineMessage {
  EngineHeader header;
  std::shared_ptr<AlignedBuffer> body; ///< frame.bytes of it; may be null
  std::atomic<bool> isSending = false;
  std::shared_ptr<EngineMessage> self; ///< of the engine, meanwhile
};

class MessageSink {
public:
  virtual ~MessageSink() = default;
  /// Memory for the body of a message that comes, of that many bytes or more;
  /// null: it is refused, and the sink has noted why.
  virtual std::shared_ptr<AlignedBuffer> begin(int peer,
                                               const EngineHeader &header) = 0;
  /// All of it is there.
  virtual void end(int peer, const EngineHeader &header) = 0;
  /// Nothing more comes from there, nor goes there.
  virtual void lose(int peer, const std::string &why) = 0;
};

class MessageEngine {
public:
  virtual ~MessageEngine() = default;

  /// By which others reach this process.
  virtual const std::string &address() const = 0;
  /// `theirs`: what messages to that rank have to say, and `ours` those of it:
  /// numbers that only both know.
  virtual Status connect(int peer, const std::string &address, uint64_t theirs,
                         uint64_t ours) = 0;

  // From any thread.
  virtual void send(int peer,
                    const std::shared_ptr<EngineMessage> &message) = 0;
  /// Whether anything has happened. Returns at once if another thread is at it.
  virtual bool progress() = 0;

  /// Readable once progress() has something to do, if arm() said yes.
  virtual int descriptor() const = 0;
  virtual bool arm() = 0;
  /// Delivers what was sent, and ends the connections.
  virtual void close(Deadline deadline) = 0;
};

/// What such a library exports.
using OpenMessageEngine = MessageEngine *(*)(MessageSink & sink,
                                             std::string &problem);
inline constexpr char kOpenUcx[] = "shardrt_open_ucx";

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRANSPORT_MESSAGEENGINE_H
