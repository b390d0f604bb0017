#include "runtime/session/CommandStream.h"

#include "runtime/base/Message.h"
#include "runtime/collectives/WaitText.h"
#include "runtime/transport/StreamNumbers.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace shardc::runtime {
namespace {

constexpr int64_t kPieceBytes = 1 << 20;
constexpr StreamOptions kCommands{.slots = 4, .isOneWay = true};

/// Where an input begins among those that came.
int64_t aligned(int64_t bytes) {
  constexpr int64_t kAlignment = 64;
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

template <typename Visit> Status forEachPiece(int64_t bytes, Visit visit) {
  for (int64_t at = 0; at < bytes; at += kPieceBytes)
    SHARDC_RETURN_IF_ERROR(visit(at, std::min(kPieceBytes, bytes - at)));
  return Status::ok();
}

} // namespace

CommandStream::CommandStream(Transport &transport, uint32_t session,
                             std::chrono::milliseconds timeout)
    : transport(transport), session(session), timeout(timeout) {
  const int rank = transport.rank();
  if (rank > 0)
    parent = &transport.stream((rank - 1) / 2, kCommandStream, kCommands);
  for (int child : {2 * rank + 1, 2 * rank + 2})
    if (child < transport.size())
      children.push_back(&transport.stream(child, kCommandStream, kCommands));
}

/// Valid until the next one.
std::span<const std::byte> CommandStream::messageOf(const Command &command) {
  words.assign(1, session);
  append(command, words);
  return std::as_bytes(std::span(words));
}

/// Some may still be at the run before this one.
Status CommandStream::sendPiece(std::span<const std::byte> piece) {
  for (Stream *child : children) {
    const Status status =
        transport.waitPatiently(timeout, [&](Deadline deadline) {
          return child->send(piece, deadline);
        });
    if (Transport::isTimeout(status))
      return transport.abort(
          artifactError(
              transport.rankText(transport.rank()), " ",
              waitText(timeout,
                       message(" for ",
                               transport.rankTextWithPlace(child->otherRank()),
                               " to take a command; all processes but rank 0 "
                               "have to follow() it")))
              .at({.rank = child->otherRank()}));
    SHARDC_RETURN_IF_ERROR(status);
  }
  return Status::ok();
}

/// What came has gone on already; it is there until the parent's release().
Status CommandStream::receivePiece(std::span<const std::byte> &piece) {
  SHARDC_RETURN_IF_ERROR(
      transport.waitForMessages(std::array{parent}, std::nullopt));
  piece = parent->front().bytes;
  return sendPiece(piece);
}

Status CommandStream::send(const Command &command,
                           std::span<const void *const> data) {
  SHARDC_RETURN_IF_ERROR(sendPiece(messageOf(command)));
  auto next = data.begin();
  for (const CommandRequest &request : command.requests)
    for (const CommandInput &input : request) {
      const auto *from = static_cast<const std::byte *>(*next++);
      SHARDC_RETURN_IF_ERROR(
          forEachPiece(input.bytes(), [&](int64_t at, int64_t bytes) {
            return sendPiece({from + at, static_cast<size_t>(bytes)});
          }));
    }
  return Status::ok();
}

void CommandStream::sendEnd() {
  const auto message = messageOf({.kind = Command::Kind::End});
  const Deadline soon =
      std::chrono::steady_clock::now() + std::chrono::seconds(1);
  for (Stream *child : children)
    (void)child->send(message, soon);
}

Status CommandStream::receive(Command &command,
                              std::vector<const void *> &data) {
  int64_t ofSession = -1;
  while (ofSession != session)
    SHARDC_RETURN_IF_ERROR(receiveAny(command, data, ofSession));
  return Status::ok();
}

Status CommandStream::receiveAny(Command &command,
                                 std::vector<const void *> &data,
                                 int64_t &ofSession) {
  std::span<const std::byte> piece;
  SHARDC_RETURN_IF_ERROR(receivePiece(piece));
  words.resize(piece.size() / sizeof(int64_t));
  if (!words.empty())
    std::memcpy(words.data(), piece.data(), words.size() * sizeof(int64_t));
  parent->release();
  const std::span<const int64_t> said(words);
  SHARDC_RETURN_IF_ERROR(
      decode(said.subspan(std::min<size_t>(1, said.size())), command));
  ofSession = said[0];
  int64_t total = 0;
  for (const CommandRequest &request : command.requests)
    for (const CommandInput &input : request)
      total += aligned(input.bytes());
  if (memory.size() < total && !memory.allocate(total))
    return artifactError("out of memory for ", total,
                         " bytes of inputs from rank 0; use smaller inputs");
  data.clear();
  std::byte *to = memory.data();
  for (const CommandRequest &request : command.requests)
    for (const CommandInput &input : request) {
      data.push_back(to);
      SHARDC_RETURN_IF_ERROR(
          forEachPiece(input.bytes(), [&](int64_t at, int64_t bytes) {
            SHARDC_RETURN_IF_ERROR(receivePiece(piece));
            if (static_cast<int64_t>(piece.size()) != bytes)
              return artifactError("rank 0 sent ", piece.size(),
                                   " bytes of an input, expected ", bytes);
            std::memcpy(to + at, piece.data(), piece.size());
            parent->release();
            return Status::ok();
          }));
      to += aligned(input.bytes());
    }
  return Status::ok();
}

} // namespace shardc::runtime
