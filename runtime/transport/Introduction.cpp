#include "runtime/transport/Introduction.h"

#include "runtime/base/Message.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>

namespace shardc::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// How long a caller may take to say who it is.
constexpr std::chrono::seconds kIntroduction{5};
/// More callers than that do not wait at the same time: the first one goes.
constexpr size_t kMostCallers = 512;

constexpr char kRemedy[] = "; set SHARDC_JOB_SECRET to the same text for all "
                           "processes";

/// The first message of both ends.
struct Opening {
  uint64_t magic = kMeetingMagic;
  uint8_t proves = 0; ///< knows a secret, and expects the other end to
  uint8_t unused[7] = {};
  Nonce nonce = {};
};

/// The caller's second one.
struct Introduction {
  Hello hello;
  Proof proof = {};
};

std::span<const std::byte> bytesOf(const Hello &hello) {
  return std::as_bytes(std::span(&hello, 1));
}

Proof callersProof(const JobSecret &secret, const Nonces &nonces,
                   const Hello &hello) {
  return secret.prove("caller", nonces.callers, nonces.listeners,
                      bytesOf(hello));
}

Proof listenersProof(const JobSecret &secret, const Nonces &nonces) {
  return secret.prove("listener", nonces.callers, nonces.listeners, {});
}

} // namespace

struct Reception::Caller {
  Socket socket;
  Deadline until;
  Nonces nonces = {};
  bool hasOpened = false;
  size_t got = 0; ///< of the message at hand
  std::array<std::byte, std::max(sizeof(Opening), sizeof(Introduction))> bytes;

  size_t expected() const {
    return hasOpened ? sizeof(Introduction) : sizeof(Opening);
  }
};

Reception::Reception(const Socket &listener, const JobSecret &secret,
                     Deadline deadline)
    : listener(listener), secret(secret), deadline(deadline) {}

Reception::~Reception() = default;

void Reception::acceptAll() {
  while (true) {
    Socket caller = acceptOne(listener, Clock::now());
    if (!caller.isOpen())
      return;
    if (callers.size() == kMostCallers)
      callers.erase(callers.begin());
    callers.push_back({.socket = std::move(caller),
                       .until = Clock::now() + kIntroduction,
                       .bytes = {}});
  }
}

void Reception::dropLate(Deadline now) {
  std::erase_if(callers,
                [&](const Caller &caller) { return caller.until <= now; });
}

Socket Reception::next(Hello &hello, Nonces &nonces) {
  for (Deadline now = Clock::now(); now < deadline; now = Clock::now()) {
    dropLate(now);
    Deadline until = deadline;
    std::vector<pollfd> polled = {{listener.descriptor(), POLLIN, 0}};
    for (const Caller &caller : callers) {
      polled.push_back({caller.socket.descriptor(), POLLIN, 0});
      until = std::min(until, caller.until);
    }
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - now);
    poll(polled.data(), polled.size(),
         static_cast<int>(std::clamp<int64_t>(left.count() + 1, 0, 1 << 30)));
    for (size_t i = callers.size(); i-- > 0;) {
      if (!polled[i + 1].revents) // parallel: only later ones went
        continue;
      const Progress progress = read(callers[i]);
      if (progress == Progress::Waits)
        continue;
      Caller caller = std::move(callers[i]);
      callers.erase(callers.begin() + static_cast<ptrdiff_t>(i));
      if (progress == Progress::IsGone)
        continue;
      std::memcpy(&hello, caller.bytes.data(), sizeof hello);
      nonces = caller.nonces;
      return std::move(caller.socket);
    }
    if (polled[0].revents)
      acceptAll();
  }
  return Socket();
}

Reception::Progress Reception::read(Caller &caller) {
  while (true) {
    const ssize_t got =
        recv(caller.socket.descriptor(), caller.bytes.data() + caller.got,
             caller.expected() - caller.got, 0);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0 && errno == EAGAIN)
      return Progress::Waits;
    if (got <= 0)
      return Progress::IsGone;
    caller.got += static_cast<size_t>(got);
    if (caller.got < caller.expected())
      continue;
    const Progress progress =
        caller.hasOpened ? takeIntroduction(caller) : takeOpening(caller);
    if (progress != Progress::Waits)
      return progress;
  }
}

Reception::Progress Reception::takeOpening(Caller &caller) {
  Opening theirs, mine;
  std::memcpy(&theirs, caller.bytes.data(), sizeof theirs);
  mine.proves = secret.isSet();
  if (theirs.magic != kMeetingMagic || !drawNonce(mine.nonce))
    return Progress::IsGone;
  caller.nonces = {theirs.nonce, mine.nonce};
  caller.hasOpened = true;
  caller.got = 0;
  // So little is always sent at once.
  if (!caller.socket.sendAll(&mine, sizeof mine, Clock::now()))
    return Progress::IsGone;
  if (theirs.proves == mine.proves)
    return Progress::Waits;
  ++strangers; // which finds that itself
  return Progress::IsGone;
}

Reception::Progress Reception::takeIntroduction(Caller &caller) {
  Introduction said;
  std::memcpy(&said, caller.bytes.data(), sizeof said);
  if (said.hello.magic != kMeetingMagic)
    return Progress::IsGone;
  if (isSame(said.proof, callersProof(secret, caller.nonces, said.hello)))
    return Progress::IsDone;
  ++strangers;
  refuse(caller.socket, message("it has another secret of the job", kRemedy));
  return Progress::IsGone;
}

void sendAnswer(const Socket &caller, const JobSecret &secret,
                const Nonces &nonces, Deadline deadline) {
  Answer yes;
  yes.isWelcome = 1;
  yes.proof = listenersProof(secret, nonces);
  caller.sendAll(&yes, sizeof yes, deadline); // who is gone is found later
}

void refuse(const Socket &caller, const std::string &why) {
  Answer no;
  why.copy(no.why, sizeof no.why - 1);
  caller.sendAll(&no, sizeof no, Clock::now() + std::chrono::seconds(1));
}

static Status hungUp() {
  return artifactError("it hung up, or is no rank of this run; if another "
                       "program has the port, set SHARDC_RENDEZVOUS");
}

Status introduce(const Socket &listener, const JobSecret &secret,
                 const Hello &mine, Deadline deadline, Nonces &nonces) {
  Opening opening, theirs;
  opening.proves = secret.isSet();
  if (!drawNonce(opening.nonce))
    return artifactError("the system has no random bytes");
  if (!listener.sendAll(&opening, sizeof opening, deadline) ||
      !listener.receiveAll(&theirs, sizeof theirs, deadline) ||
      theirs.magic != kMeetingMagic)
    return hungUp();
  if (theirs.proves != opening.proves)
    return artifactError(theirs.proves
                             ? "it asks for the secret of the job, which this "
                               "process does not have"
                             : "it knows no secret of the job, this process "
                               "does",
                         kRemedy);
  nonces = {opening.nonce, theirs.nonce};
  const Introduction said{mine, callersProof(secret, nonces, mine)};
  return listener.sendAll(&said, sizeof said, deadline) ? Status::ok()
                                                        : hungUp();
}

Status receiveAnswer(const Socket &listener, const JobSecret &secret,
                     const Nonces &nonces, Deadline deadline) {
  Answer answer;
  if (!listener.receiveAll(&answer, sizeof answer, deadline) ||
      answer.magic != kMeetingMagic)
    return hungUp();
  if (!answer.isWelcome) {
    std::string why(answer.why, strnlen(answer.why, sizeof answer.why));
    // Nobody has proved that it is one of ours who says so.
    std::replace_if(
        why.begin(), why.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    return artifactError("it turns this process away: ", why);
  }
  return isSame(answer.proof, listenersProof(secret, nonces))
             ? Status::ok()
             : artifactError("it has another secret of the job", kRemedy);
}

} // namespace shardc::runtime
