//===- TransportPeer.h - What a transport knows of another process --------===//
#ifndef SHARDC_RUNTIME_TRANSPORT_TRANSPORTPEER_H
#define SHARDC_RUNTIME_TRANSPORT_TRANSPORTPEER_H

#include "runtime/transport/Transport.h"

#include <map>

namespace shardc::runtime {

/// A frame, or the rest of one, that the system has not taken yet.
struct PendingFrame {
  FrameHeader header;
  const std::byte *data = nullptr; ///< in a slot of `stream`
  std::string text;                ///< or here
  SocketStream *stream = nullptr;
  size_t written = 0; ///< bytes of header and data

  size_t bytes() const { return sizeof header + header.bytes; }
  const std::byte *body() const {
    return data ? data : reinterpret_cast<const std::byte *>(text.data());
  }
};

constexpr uint64_t kMaxText = 16 * 1024; ///< of a frame that is no message

struct Transport::Peer {
  enum class State { Alive, Left, Lost };

  Peer(int rank, Socket socket, std::unique_ptr<PeerFile> memory,
       bool hasEngine)
      : rank(rank), socket(std::move(socket)), memory(std::move(memory)),
        hasEngine(hasEngine) {}

  const int rank;
  Socket socket;
  const std::unique_ptr<PeerFile> memory; ///< null: on another machine
  const bool hasEngine;                   ///< that carries the messages
  std::atomic<State> state = State::Alive;
  std::atomic<bool> saidGoodbye = false; ///< whatever its state is since

  std::mutex outMutex; ///< of what is sent
  std::vector<PendingFrame> out;
  size_t firstOut = 0;

  std::mutex streamMutex; ///< of the next two; streams stay where they are
  uint64_t epoch = 0;     ///< requests that failed, and are over for both
  std::map<uint32_t, std::unique_ptr<Stream>> streams;

  // Of whoever reads, under readMutex.
  static constexpr size_t kStaging = 64 * 1024;
  std::vector<std::byte> staging = std::vector<std::byte>(kStaging);
  size_t stagedBegin = 0, stagedEnd = 0; ///< read, but not looked at
  bool inFrame = false;
  FrameHeader header;
  std::byte *into = nullptr; ///< of the frame's body
  uint64_t left = 0;         ///< bytes of it that are missing
  Stream *stream = nullptr;
  std::string text;
  uint32_t settlements = 0; ///< that it has sent: see Settlement.h

  /// Of streams that its messages have made.
  std::atomic<uint64_t> slotsMade = 0;
  // That the engine carries; of all that it has sent when it left.
  std::atomic<uint64_t> messagesSent = 0, messagesCame = 0;
  std::atomic<uint64_t> messagesInAll = UINT64_MAX;

  /// Staged is what is no message, and the transport's thread has to take.
  std::atomic<bool> isLeftToThread = false;

  std::atomic<Deadline> heard; ///< written by the transport's thread

  // What its signs of life say.
  mutable std::mutex signMutex;
  std::string place;
  uint64_t progress = 0;
  Deadline progressed;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRANSPORT_TRANSPORTPEER_H
