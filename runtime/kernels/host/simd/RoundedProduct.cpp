//===- RoundedProduct.cpp - Products in bfloat16 of what has more bits ----===//

#include "runtime/kernels/host/simd/RoundedProduct.h"

#include "runtime/base/AlignedBuffer.h"
#include "runtime/kernels/StorageTypes.h"
#include "runtime/kernels/host/KernelThreads.h"
#include "runtime/kernels/host/simd/Pairs.h"

#include <algorithm>
#include <bit>

namespace shardc::runtime::host {
namespace {

using artifact::ElementType;

bool isWider(ElementType element) {
  return element == artifact::ElementType_Float32 ||
         element == artifact::ElementType_Float16;
}

/// Calls round(row of A, number) for all of them.
template <typename Round>
void forEachRow(const PackedProduct &product, Round round) {
  const int64_t m = product.m, threads = threadsFor(m, m * product.k);
  shareRanges(m, threads, /*least=*/1, [&](int64_t i, int64_t end) {
    for (; i < end; ++i)
      round(product.a + i * product.rowStepA, i);
  });
}

//===----------------------------------------------------------------------===//
// In tiles, or by pairs of the same order
//===----------------------------------------------------------------------===//

int64_t tileBytes(const TensorView &matrix) {
  return isWider(matrix.element) ? tiledMatrixBytes(matrix) : 0;
}

} // namespace

void roundInTiles(const float *row, int64_t step, int64_t count, BFloat16 *to) {
  if (step == 1)
    roundToTiles(row, count, to);
  else
    for (int64_t i = 0; i < count; ++i)
      to[i] = BFloat16(row[i * step]);
  std::fill(to + count, to + tiledDepth(count), BFloat16());
}

int64_t roundedRowsBytes(int64_t m, int64_t k) {
  return alignBuffer(m * tiledDepth(k) * 2);
}

void roundRows(const PackedProduct &product, BFloat16 *rows) {
  const int64_t depth = tiledDepth(product.k);
  forEachRow(product, [&](const float *row, int64_t i) {
    roundInTiles(row, product.depthStepA, product.k, rows + i * depth);
  });
}

namespace {

template <void (*Multiply)(const TileProduct &)>
void multiplyInTiles(const PackedProduct &product, const std::byte *b,
                     std::byte *scratch) {
  auto *rows = reinterpret_cast<BFloat16 *>(scratch);
  roundRows(product, rows);
  TileProduct tiled;
  tiled.m = product.m;
  tiled.n = product.n;
  tiled.k = product.k;
  tiled.a = rows;
  tiled.rowStepA = tiledDepth(product.k);
  tiled.b = b;
  tiled.sums = product.c;
  tiled.leadingC = product.leadingC;
  tiled.alpha = product.alpha;
  tiled.beta = product.beta;
  Multiply(tiled);
}

//===----------------------------------------------------------------------===//
// In panels
//===----------------------------------------------------------------------===//

int64_t panelBytes(const TensorView &matrix) {
  TensorView rounded = matrix;
  rounded.element = artifact::ElementType_BFloat16;
  return isWider(matrix.element) ? packedMatrixBytes(rounded) : 0;
}

int64_t panelRowsBytes(int64_t m, int64_t k) { return alignBuffer(m * k * 4); }

/// To what bfloat16 has, as float.
void roundAsFloat(const float *row, int64_t step, int64_t count, float *to) {
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t bits = std::bit_cast<uint32_t>(row[i * step]);
    const uint32_t rounded = bits + 0x7fffu + (bits >> 16 & 1);
    const bool isNaN = (bits & 0x7fffffffu) > 0x7f800000u;
    to[i] =
        std::bit_cast<float>(isNaN ? bits | 0x400000u : rounded & 0xffff0000u);
  }
}

void multiplyInPanels(const PackedProduct &product, const std::byte *b,
                      std::byte *scratch) {
  float *rows = reinterpret_cast<float *>(scratch);
  forEachRow(product, [&](const float *row, int64_t i) {
    roundAsFloat(row, product.depthStepA, product.k, rows + i * product.k);
  });
  PackedProduct rounded = product;
  rounded.a = rows;
  rounded.rowStepA = product.k;
  rounded.depthStepA = 1;
  rounded.setPacked(b, artifact::ElementType_BFloat16);
  multiplyPacked(rounded);
}

constexpr RoundedLoops kTiles = {tileBytes, packTiles, roundedRowsBytes,
                                 multiplyInTiles<multiplyTiles>};
constexpr RoundedLoops kPairs = {tileBytes, packTiles, roundedRowsBytes,
                                 multiplyInTiles<multiplyPairs>};
constexpr RoundedLoops kPanels = {panelBytes, packMatrixRounded, panelRowsBytes,
                                  multiplyInPanels};

} // namespace

std::span<const RoundedLoops *const> supportedRoundedLoops() {
  static constexpr const RoundedLoops *all[] = {&kTiles, &kPairs, &kPanels,
                                                &kPairs};
  if (hasTiles()) // and so pairs
    return std::span(all).first(3);
  return std::span(all).subspan(arePairsFast() ? 1 : 2, hasPairs() ? 2 : 1);
}

const RoundedLoops &roundedLoops() { return *supportedRoundedLoops().front(); }

} // namespace shardc::runtime::host
