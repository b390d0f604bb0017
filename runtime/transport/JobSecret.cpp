#include "runtime/transport/JobSecret.h"

#include "runtime/base/Message.h"

#include <algorithm>
#include <sys/random.h>

#ifdef SHARDC_HAS_CRYPTO
#include <openssl/evp.h>
#include <openssl/hmac.h>
#endif

namespace shardc::runtime {

Status JobSecret::check() const {
#ifndef SHARDC_HAS_CRYPTO
  if (isSet())
    return argumentError("SHARDC_JOB_SECRET is set, but this program was built "
                         "without libcrypto and can prove nothing; install "
                         "libssl-dev and build again");
#endif
  return Status::ok();
}

Proof JobSecret::prove([[maybe_unused]] std::string_view role,
                       [[maybe_unused]] const Nonce &callers,
                       [[maybe_unused]] const Nonce &listeners,
                       [[maybe_unused]] std::span<const std::byte> said) const {
  Proof proof = {};
#ifdef SHARDC_HAS_CRYPTO
  if (!isSet())
    return proof;
  // All parts but the last have a known length, the role after its own.
  std::string all(1, static_cast<char>(role.size()));
  all += role;
  all.append(reinterpret_cast<const char *>(callers.data()), callers.size());
  all.append(reinterpret_cast<const char *>(listeners.data()),
             listeners.size());
  all.append(reinterpret_cast<const char *>(said.data()), said.size());
  unsigned bytes = 0;
  if (!HMAC(EVP_sha256(), text.data(), static_cast<int>(text.size()),
            reinterpret_cast<const unsigned char *>(all.data()), all.size(),
            proof.data(), &bytes) ||
      bytes != proof.size())
    (void)drawNonce(proof); // proves nothing
#endif
  return proof;
}

bool isSame(const Proof &a, const Proof &b) {
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned>(a[i] ^ b[i]);
  return difference == 0;
}

bool drawNonce(Nonce &nonce) {
  return getrandom(nonce.data(), nonce.size(), 0) ==
         static_cast<ssize_t>(nonce.size());
}

} // namespace shardc::runtime
