//===- JobSecret.h - Proving to be of the same job ------------------------===//
//
// Whoever reaches the port of a rank could say that it is another rank, and get
// activations and addresses. Where the job has a secret (SHARDC_JOB_SECRET, the
// same text on all processes), both ends of each connection prove that they
// know it, before anything they say is believed:
//
//   caller -> listener   32 random bytes c
//   listener -> caller   32 random bytes l
//   caller -> listener   HMAC(secret, "caller", c, l, who it is), who it is
//   listener -> caller   HMAC(secret, "listener", c, l)
//   rank 0 -> caller     where all are, HMAC(secret, "welcome", c, l, where)
//
// HMAC is SHA-256's (RFC 2104), of OpenSSL's libcrypto. So nobody without the
// secret can send a rank to another host, not even who passes on all messages.
// What follows is neither encrypted nor signed: it is a proof of who has
// called, for networks on which nobody else can take part in a connection.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_TRANSPORT_JOBSECRET_H
#define SHARDC_RUNTIME_TRANSPORT_JOBSECRET_H

#include "runtime/base/Status.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace shardc::runtime {

/// Random bytes that are used once; and what proves that a secret is known.
using Nonce = std::array<uint8_t, 32>;
using Proof = std::array<uint8_t, 32>;

class JobSecret {
public:
  JobSecret() = default; ///< none: everything is proved by zeros
  explicit JobSecret(std::string text) : text(std::move(text)) {}

  bool isSet() const { return !text.empty(); }
  /// An error where it is set, and this program was built without libcrypto.
  Status check() const;

  /// Of one end (`role`) of a connection with these nonces, for `said`.
  Proof prove(std::string_view role, const Nonce &callers,
              const Nonce &listeners, std::span<const std::byte> said) const;

private:
  std::string text;
};

/// Takes the same time whatever differs.
bool isSame(const Proof &a, const Proof &b);
/// Of the system's randomness; false where it has none.
[[nodiscard]] bool drawNonce(Nonce &nonce);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRANSPORT_JOBSECRET_H
