//===- Hash.h - Hashes of bytes, fingerprints of files --------------------===//
//
// Header-only, so that the compiler's writer and the runtime's reader use the
// very same code. Not cryptographic: they find damage, not malice.
//
//   hashHex("abc", 3)                   32 hex digits (XXH3, 128 bits)
//   fingerprintFile("model.onnx", hex)  size and 64 sampled blocks:
//   milliseconds
//                                       for a file of any size
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_BASE_HASH_H
#define SHARDC_RUNTIME_BASE_HASH_H

#include "runtime/base/Status.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace shardc::runtime {

/// A fingerprint hashes the file's size and all its bytes; of a file larger
/// than kFingerprintWholeBytes only kFingerprintBlocks blocks of
/// kFingerprintBlockBytes, spread evenly from its first to its last byte, so
/// 812 GB cost a few hundred reads.
inline constexpr uint64_t kFingerprintWholeBytes = uint64_t(64) << 20;
inline constexpr uint64_t kFingerprintBlocks = 64;
inline constexpr uint64_t kFingerprintBlockBytes = 4096;

namespace detail {

inline std::string toHex(XXH128_hash_t hash) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  static const char digits[] = "0123456789abcdef";
  std::string text;
  for (unsigned char byte : canonical.digest) {
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

/// Where sampled block `block` of a file of `size` bytes starts.
inline uint64_t sampleOffset(uint64_t size, uint64_t block) {
  __extension__ using Wide = unsigned __int128;
  Wide span = size - kFingerprintBlockBytes;
  return static_cast<uint64_t>(span * block / (kFingerprintBlocks - 1));
}

inline bool readFully(int fd, void *into, size_t bytes, uint64_t offset) {
  char *at = static_cast<char *>(into);
  while (bytes > 0) {
    ssize_t got = pread(fd, at, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    at += got;
    offset += static_cast<uint64_t>(got);
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

inline bool updateFromFile(XXH3_state_t *state, int fd, uint64_t size) {
  char block[kFingerprintBlockBytes];
  auto update = [&](uint64_t offset, uint64_t bytes) {
    return readFully(fd, block, bytes, offset) &&
           XXH3_128bits_update(state, block, bytes) == XXH_OK;
  };
  const uint64_t step = kFingerprintBlockBytes;
  if (size <= kFingerprintWholeBytes) {
    for (uint64_t at = 0; at < size; at += step)
      if (!update(at, size - at < step ? size - at : step))
        return false;
    return true;
  }
  for (uint64_t b = 0; b < kFingerprintBlocks; ++b)
    if (!update(sampleOffset(size, b), step))
      return false;
  return true;
}

} // namespace detail

/// Hash of all `bytes` bytes at `data`: 32 lower-case hex digits.
inline std::string hashHex(const void *data, size_t bytes) {
  return detail::toHex(XXH3_128bits(data, bytes));
}

/// The same hash of bytes that come in pieces.
class PieceHash {
public:
  PieceHash() { XXH3_128bits_reset(&state); }
  void add(const void *data, size_t bytes) {
    XXH3_128bits_update(&state, data, bytes);
  }
  std::string hex() const { return detail::toHex(XXH3_128bits_digest(&state)); }

private:
  XXH3_state_t state;
};

/// Fingerprint of the open file `fd` of `size` bytes (see kFingerprintBlocks).
/// False if it could not be read.
inline bool fingerprintDescriptor(int fd, uint64_t size, std::string &hex) {
  XXH3_state_t *state = XXH3_createState();
  if (!state)
    return false;
  unsigned char sizeBytes[8]; // little-endian on every machine
  for (int i = 0; i < 8; ++i)
    sizeBytes[i] = static_cast<unsigned char>(size >> (8 * i));
  XXH3_128bits_reset(state);
  XXH3_128bits_update(state, sizeBytes, sizeof sizeBytes);
  bool ok = detail::updateFromFile(state, fd, size);
  if (ok)
    hex = detail::toHex(XXH3_128bits_digest(state));
  XXH3_freeState(state);
  return ok;
}

/// Fingerprint of the file at `path`, and its size if `bytes` is given.
inline Status fingerprintFile(const std::string &path, std::string &hex,
                              uint64_t *bytes = nullptr) {
  // Without waiting for whoever would write into a pipe of that name.
  int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat info = {};
  bool ok = fd >= 0 && fstat(fd, &info) == 0;
  const bool isFile = S_ISREG(info.st_mode);
  if (ok && isFile) {
    if (bytes)
      *bytes = static_cast<uint64_t>(info.st_size);
    ok = fingerprintDescriptor(fd, static_cast<uint64_t>(info.st_size), hex);
  }
  std::string why = std::strerror(errno);
  if (fd >= 0)
    close(fd);
  if (!ok)
    return Status::error(StatusCode::Artifact,
                         "cannot read " + path + ": " + why);
  if (!isFile)
    return Status::error(StatusCode::Artifact, path + " is not a regular file");
  return Status::ok();
}

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_BASE_HASH_H
