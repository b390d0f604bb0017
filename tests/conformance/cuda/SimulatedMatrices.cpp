#include "tests/conformance/cuda/SimulatedMatrices.h"

namespace shardc::testing {

void checkFragment(const void *memory, unsigned stride, size_t elementBytes) {
  if (reinterpret_cast<uintptr_t>(memory) % 32 != 0)
    refuseInKernel("a fragment's memory is not aligned to 256 bits");
  if (stride * elementBytes % 16 != 0)
    refuseInKernel("lines of a fragment are no multiple of 16 bytes apart");
}

void multiplyOfWarp(const float *a, const float *b, const float *c,
                    float *sums) {
  struct Factors {
    const float *a, *b;
  } mine = {a, b};
  // A lane's row of A, and its 8 columns of B.
  const int row = firstOfLane() / 16, column = firstOfLane() % 16;
  float own[8];
  std::copy_n(c, 8, own);
  meetInCall({"mma_sync"}, &mine, [&](const WarpGifts &gifts) {
    const auto factorsOf = [&](int i) {
      return *static_cast<const Factors *>(gifts[static_cast<size_t>(i) / 8]);
    };
    for (int k = 0; k < 16; ++k) {
      const int atA = row * 16 + k, atB = k * 16 + column;
      const float factor = factorsOf(atA).a[atA % 8];
      const float *line = factorsOf(atB).b;
      for (int i = 0; i < 8; ++i)
        own[i] += factor * line[i];
    }
  });
  std::copy_n(own, 8, sums);
}

} // namespace shardc::testing
