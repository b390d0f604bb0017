//===- Bundle.h - An artifact's files as one input ------------------------===//
//
//   manifest.json  \0  bytes of the program (4, little-endian)  program  rest
//
// All stages have the program, all other files of the artifact the rest; each
// has the size and the hash that the manifest then says it has. Written by
// tests/fuzz/bundle.py.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_TESTS_FUZZ_RUNTIME_BUNDLE_H
#define SHARDC_TESTS_FUZZ_RUNTIME_BUNDLE_H

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

namespace shardc::fuzz {

struct Bundle {
  std::string manifest, program, rest;

  static Bundle read(const uint8_t *data, size_t size) {
    const std::string all(reinterpret_cast<const char *>(data), size);
    Bundle bundle;
    const size_t end = std::min(all.find('\0'), size);
    bundle.manifest = all.substr(0, end);
    uint32_t length = 0;
    if (size - end < 1 + sizeof length)
      return bundle;
    std::memcpy(&length, data + end + 1, sizeof length);
    const size_t begin = end + 1 + sizeof length;
    const size_t taken = std::min<size_t>(length, size - begin);
    bundle.program = all.substr(begin, taken);
    bundle.rest = all.substr(begin + taken);
    return bundle;
  }

  std::string write() const {
    const auto length = static_cast<uint32_t>(program.size());
    std::string all = manifest.substr(0, manifest.find('\0')) + '\0';
    all.append(reinterpret_cast<const char *>(&length), sizeof length);
    return all + program + rest;
  }
};

} // namespace shardc::fuzz

#endif // SHARDC_TESTS_FUZZ_RUNTIME_BUNDLE_H
