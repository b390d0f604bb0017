//===- HandmadeKernels.cpp - What a compiler would generate ---------------===//
#include <cstdint>

/// out[row, column] = x[row, column] * factor[row], by way of the slot.
extern "C" void rows_scale(void *const *operands, const int64_t *sizes,
                           int64_t firstRow, int64_t endRow, float *scratch) {
  const int64_t columns = sizes[0];
  for (int64_t row = firstRow; row < endRow; ++row) {
    const auto *x = static_cast<const float *>(operands[0]) + row * sizes[1];
    const auto *factor =
        static_cast<const float *>(operands[1]) + row * sizes[2];
    auto *out = static_cast<float *>(operands[2]) + row * sizes[3];
    for (int64_t column = 0; column < columns; ++column)
      scratch[column] = x[column] * *factor;
    for (int64_t column = 0; column < columns; ++column)
      out[column] = scratch[column];
  }
}
