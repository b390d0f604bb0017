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

/// It may still be at the run before this one.
Status CommandStream::prepare(Stream &child, int64_t bytes,
                              std::byte *&memory) {
  const Status status =
      transport.waitPatiently(timeout, [&](Deadline deadline) {
        return child.prepare(bytes, memory, deadline);
      });
  if (!Transport::isTimeout(status))
    return status;
  return transport.abort(artifactError(
      transport.rankText(transport.rank()), " ",
      waitText(timeout,
               message(" for ", transport.rankTextWithPlace(child.otherRank()),
                       " to take a command; all processes but rank 0 "
                       "have to follow() it"))));
}

Status CommandStream::sendPiece(std::span<const std::byte> piece) {
  const auto bytes = static_cast<int64_t>(piece.size());
  for (Stream *child : children) {
    std::byte *to = nullptr;
    SHARDC_RETURN_IF_ERROR(prepare(*child, bytes, to));
    if (bytes > 0)
      std::memcpy(to, piece.data(), piece.size());
    child->commit(bytes, 0);
  }
  return Status::ok();
}

/// What came has gone on already. Until release().
Status CommandStream::receivePiece(std::span<const std::byte> &piece) {
  SHARDC_RETURN_IF_ERROR(
      transport.waitForMessages(std::array{parent}, std::nullopt));
  piece = parent->front().bytes;
  return sendPiece(piece);
}

void CommandStream::release() { parent->release(); }

Status CommandStream::send(const Command &command,
                           std::span<const void *const> data) {
  encode(command, words);
  words.insert(words.begin(), session);
  SHARDC_RETURN_IF_ERROR(sendPiece(std::as_bytes(std::span(words))));
  auto next = data.begin();
  for (const CommandRequest &request : command.requests)
    for (const CommandInput &input : request.inputs) {
      const auto *from = static_cast<const std::byte *>(*next++);
      SHARDC_RETURN_IF_ERROR(
          forEachPiece(input.bytes(), [&](int64_t at, int64_t bytes) {
            return sendPiece({from + at, static_cast<size_t>(bytes)});
          }));
    }
  return Status::ok();
}

void CommandStream::sendEnd() {
  encode({.kind = Command::Kind::End}, words);
  words.insert(words.begin(), session);
  const auto said = std::as_bytes(std::span(words));
  const auto bytes = static_cast<int64_t>(said.size());
  const Deadline soon =
      std::chrono::steady_clock::now() + std::chrono::seconds(1);
  for (Stream *child : children) {
    std::byte *to = nullptr;
    if (!child->prepare(bytes, to, soon).isOk())
      continue;
    std::memcpy(to, said.data(), said.size());
    child->commit(bytes, 0);
  }
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
  release();
  const std::span<const int64_t> said(words);
  SHARDC_RETURN_IF_ERROR(
      decode(said.subspan(std::min<size_t>(1, said.size())), command));
  ofSession = said[0];
  int64_t total = 0;
  for (const CommandRequest &request : command.requests)
    for (const CommandInput &input : request.inputs)
      total += aligned(input.bytes());
  if (memory.size() < total && !memory.allocate(total))
    return artifactError("out of memory for ", total,
                         " bytes of inputs from rank 0; use smaller inputs");
  data.clear();
  std::byte *to = memory.data();
  for (const CommandRequest &request : command.requests)
    for (const CommandInput &input : request.inputs) {
      data.push_back(to);
      SHARDC_RETURN_IF_ERROR(
          forEachPiece(input.bytes(), [&](int64_t at, int64_t bytes) {
            SHARDC_RETURN_IF_ERROR(receivePiece(piece));
            if (static_cast<int64_t>(piece.size()) != bytes)
              return artifactError("rank 0 sent ", piece.size(),
                                   " bytes of an input, expected ", bytes);
            std::memcpy(to + at, piece.data(), piece.size());
            release();
            return Status::ok();
          }));
      to += aligned(input.bytes());
    }
  return Status::ok();
}

} // namespace shardc::runtime
