//===- Introduction.h - Callers say who they are --------------------------===//
//
// The first messages of each connection, before anything is believed (see
// JobSecret.h). All of them have a fixed size, and callers are listened to at
// the same time: one that says nothing keeps nobody waiting.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_TRANSPORT_INTRODUCTION_H
#define SHARDC_RUNTIME_TRANSPORT_INTRODUCTION_H

#include "runtime/transport/JobSecret.h"
#include "runtime/transport/Socket.h"

#include <vector>

namespace shardc::runtime {

/// A number that machines of another byte order, and other programs, do not
/// send; the last digits change with the messages.
inline constexpr uint64_t kMeetingMagic = 0x7368617264720006;

/// Who calls.
struct Hello {
  uint64_t magic = kMeetingMagic;
  uint64_t job = 0;
  uint64_t cores = 0; ///< which ones of which machine
  int32_t rank = 0, size = 0, numCores = 0;
  uint16_t port = 0;
  uint16_t unused = 0;
};

/// What a connection's ends have drawn.
struct Nonces {
  Nonce callers = {}, listeners = {};
};

/// The listener's answer.
struct Answer {
  uint64_t magic = kMeetingMagic;
  int32_t isWelcome = 0;
  char why[252] = {}; ///< if not
  Proof proof = {};
};

/// Whoever calls a listener.
class Reception {
public:
  /// Both live longer.
  Reception(const Socket &listener, const JobSecret &secret, Deadline deadline);
  ~Reception();

  /// The next one that has said who it is, and knows the secret; it waits for
  /// an answer. Not open at the deadline.
  Socket next(Hello &hello, Nonces &nonces);
  /// Callers so far that did not know the secret.
  int numStrangers() const { return strangers; }

private:
  struct Caller;
  void acceptAll();
  enum class Progress { Waits, IsDone, IsGone };
  Progress read(Caller &caller);
  Progress takeOpening(Caller &caller);
  Progress takeIntroduction(Caller &caller);
  void dropLate(Deadline now);

  const Socket &listener;
  const JobSecret &secret;
  const Deadline deadline;
  std::vector<Caller> callers;
  int strangers = 0;
};

/// One end's: an answer with the listener's proof.
void sendAnswer(const Socket &caller, const JobSecret &secret,
                const Nonces &nonces, Deadline deadline);
/// ... and one that sends the caller away.
void refuse(const Socket &caller, const std::string &why);

/// The caller's part but for the answer. The error says what to do.
Status introduce(const Socket &listener, const JobSecret &secret,
                 const Hello &mine, Deadline deadline, Nonces &nonces);
/// Waits for the answer.
Status receiveAnswer(const Socket &listener, const JobSecret &secret,
                     const Nonces &nonces, Deadline deadline);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRANSPORT_INTRODUCTION_H
