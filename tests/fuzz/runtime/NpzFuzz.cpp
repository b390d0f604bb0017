//===- NpzFuzz.cpp - Any bytes as NumPy's archive -------------------------===//
#include "runtime/io/Npz.h"

#include <string>
#include <sys/mman.h>
#include <unistd.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace shardc::runtime;
  static const int file = memfd_create("npz", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (ftruncate(file, 0) != 0 ||
      pwrite(file, data, size, 0) != static_cast<ssize_t>(size))
    return 0;
  std::vector<NamedTensor> tensors;
  (void)readNpz(path, tensors);
  return 0;
}
