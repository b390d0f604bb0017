#include "tests/conformance/cuda/SimulatedMatrices.h"

#include <cstring>

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

void loadMatricesOfWarp(uint32_t (&to)[4], const void *line, bool transposes) {
  if (reinterpret_cast<uintptr_t>(line) % 16 != 0)
    refuseInKernel("a line of a matrix is not aligned to 16 bytes");
  if (!isSimulatedShared(line, 16))
    refuseInKernel("a line of a matrix is not in shared memory");
  noteAccess(line, 16, Access::Read);
  uint16_t mine[8]; // read before others have come
  std::memcpy(mine, line, sizeof(mine));
  const auto lane = static_cast<size_t>(laneOfThread());
  meetInCall(
      {transposes ? "ldmatrix.trans" : "ldmatrix"}, mine,
      [&](const WarpGifts &gifts) {
        for (size_t i = 0; i < 4; ++i) {
          const auto at = [&](size_t row, size_t column) -> uint32_t {
            return static_cast<const uint16_t *>(gifts[8 * i + row])[column];
          };
          const size_t outer = lane / 4, inner = lane % 4 * 2;
          to[i] = transposes ? at(inner, outer) | at(inner + 1, outer) << 16
                             : at(outer, inner) | at(outer, inner + 1) << 16;
        }
      });
}

void multiplyAddOfWarp(float (&sums)[4], const TwoNumbers (&rows)[4],
                       const TwoNumbers (&columns)[2]) {
  struct Factors {
    const TwoNumbers *rows, *columns;
  } mine = {rows, columns};
  const auto lane = static_cast<size_t>(laneOfThread());
  meetInCall({"mma.sync"}, &mine, [&](const WarpGifts &gifts) {
    const auto factorsOf = [&](size_t other) {
      return *static_cast<const Factors *>(gifts[other]);
    };
    for (size_t k = 0; k < 16; ++k) {
      const size_t holder = k % 8 / 2, high = k / 8;
      for (size_t i = 0; i < 4; ++i) {
        const size_t column = lane % 4 * 2 + i % 2;
        sums[i] += factorsOf(lane / 4 * 4 + holder)
                       .rows[i / 2 + 2 * high]
                       .numbers[k % 2] *
                   factorsOf(column * 4 + holder).columns[high].numbers[k % 2];
      }
    }
  });
}

} // namespace shardc::testing
