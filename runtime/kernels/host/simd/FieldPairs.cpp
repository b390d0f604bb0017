//===- FieldPairs.cpp - Weights of 2 to 8 bits as pairs of bfloat16 -------===//

#include "runtime/kernels/host/simd/FieldPairs.h"

#include "runtime/kernels/host/simd/Tiles.h"

#include <algorithm>
#include <cstring>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace shardc::runtime::host {

#ifdef __x86_64__

namespace {

constexpr int64_t kColumns = kPanelColumns;
/// 2^23: an integer below it, put into its last bits, is added to it.
constexpr uint32_t kMagic = 0x4b000000;
/// Rows of words that memory is asked for before they are decoded.
constexpr int64_t kAhead = 48;

#pragma GCC push_options
#pragma GCC target("avx512f,avx512vl,avx512bw,avx512bf16")

/// Calls body(scales, zeros, first word, end) for the blocks of a panel.
template <typename Body>
void forEachBlock(const FieldPanels &fields, int64_t panel, Body &&body) {
  const float *scales = fields.scales + panel * fields.scaleStep;
  const float *zeros = fields.zeros + panel * fields.scaleStep;
  const int64_t ofWord = fields.rowsOfWord();
  int64_t rows = fields.firstRows;
  for (int64_t begin = 0; begin < fields.depth; rows = fields.blockRows) {
    const int64_t end = std::min(begin + rows, fields.depth);
    body(scales, zeros, begin / ofWord, (end + ofWord - 1) / ofWord);
    begin = end;
    scales += kColumns;
    zeros += kColumns;
  }
}

/// Whether fields can be scaled where they lie in a word: zero points are small
/// integers, and scales lose nothing when they are divided by 2^14.
bool isPlain(const FieldPanels &fields, int64_t panel) {
  bool isPlain = true;
  forEachBlock(
      fields, panel,
      [&](const float *scales, const float *zeros, int64_t, int64_t) {
        const __m512 zero = _mm512_loadu_ps(zeros);
        const __m512 scale = _mm512_loadu_ps(scales);
        const __m512 whole = _mm512_maskz_cvtepi32_ps(
            0xffff, _mm512_maskz_cvtps_epi32(0xffff, zero));
        const __mmask16 isSmall = _mm512_cmp_ps_mask(
            _mm512_abs_ps(zero), _mm512_set1_ps(255), _CMP_LE_OQ);
        const __mmask16 isTiny =
            _mm512_cmp_ps_mask(_mm512_abs_ps(scale), _mm512_set1_ps(0x1p-100f),
                               _CMP_LT_OQ) &
            _mm512_cmp_ps_mask(scale, _mm512_setzero_ps(), _CMP_NEQ_OQ);
        isPlain &= (_mm512_cmp_ps_mask(zero, whole, _CMP_EQ_OQ) & isSmall &
                    static_cast<__mmask16>(~isTiny)) == 0xffff;
      });
  return isPlain;
}

/// Fields of a half of a word: field p is at bit p * Bits, and stands there for
/// 2^(p * Bits) of itself.
template <int Bits, bool Plain> struct Decoder {
  static constexpr int kFields = 16 / Bits;
  __m512 scale[kFields], zero[kFields];

  Decoder(const float *scales, const float *zeros) {
#pragma GCC unroll 8
    for (int p = 0; p < kFields; ++p) {
      const float size = float(1 << (p * Bits));
      scale[p] = _mm512_loadu_ps(scales);
      zero[p] = _mm512_loadu_ps(zeros);
      if (Plain) {
        scale[p] = _mm512_mul_ps(scale[p], _mm512_set1_ps(1 / size));
        zero[p] = _mm512_fmadd_ps(zero[p], _mm512_set1_ps(size),
                                  _mm512_set1_ps(0x1p23f));
      }
    }
  }

  [[gnu::always_inline]] __m512 operator()(__m512i words, int p) const {
    const __m512i mask = _mm512_set1_epi32(((1 << Bits) - 1) << (p * Bits));
    const __m512 field = _mm512_castsi512_ps(_mm512_ternarylogic_epi32(
        words, mask, _mm512_set1_epi32(kMagic), 0xea)); // (a & b) | c
    if (Plain)
      return _mm512_mul_ps(_mm512_sub_ps(field, zero[p]), scale[p]);
    const __m512 scaled = _mm512_sub_ps(field, _mm512_set1_ps(0x1p23f));
    return _mm512_mul_ps(
        _mm512_fmsub_ps(scaled, _mm512_set1_ps(1 / float(1 << (p * Bits))),
                        zero[p]),
        scale[p]);
  }
};

template <int Bits, bool Plain>
void decode(const FieldPanels &fields, int64_t panel, BFloat16 *to) {
  alignas(64) uint16_t order[32];
  for (int i = 0; i < 32; ++i)
    order[i] = static_cast<uint16_t>(i / 2 + i % 2 * 16);
  const __m512i interleaved = _mm512_load_si512(order);
  const uint32_t *words = fields.words + panel * fields.panelStep;
  forEachBlock(
      fields, panel,
      [&](const float *scales, const float *zeros, int64_t begin, int64_t end) {
        const Decoder<Bits, Plain> decoder(scales, zeros);
        BFloat16 *out = to + begin * (32 / Bits) * kColumns;
        for (int64_t w = begin; w < end; ++w) {
          // Panels that were packed follow each other.
          _mm_prefetch(words + (w + kAhead) * kColumns, _MM_HINT_T0);
          __m512i word = _mm512_loadu_si512(words + w * kColumns);
#pragma GCC unroll 2
          for (int half = 0; half < 2; ++half) {
#pragma GCC unroll 4
            for (int p = 0; p < 16 / Bits; p += 2, out += 2 * kColumns) {
              const __m512bh both =
                  _mm512_cvtne2ps_pbh(decoder(word, p + 1), decoder(word, p));
              _mm512_store_si512(out,
                                 _mm512_maskz_permutexvar_epi16(
                                     ~0u, interleaved,
                                     reinterpret_cast<const __m512i &>(both)));
            }
            word = _mm512_maskz_srli_epi32(0xffff, word, 16);
          }
        }
      });
}

#pragma GCC pop_options

} // namespace

void decodePairs(const FieldPanels &fields, int64_t panel, BFloat16 *to) {
  const bool plain = isPlain(fields, panel);
  if (fields.kind == FieldKind::Integer2)
    (plain ? decode<2, true> : decode<2, false>)(fields, panel, to);
  else if (fields.kind == FieldKind::Integer4)
    (plain ? decode<4, true> : decode<4, false>)(fields, panel, to);
  else
    (plain ? decode<8, true> : decode<8, false>)(fields, panel, to);
  // Rows that there are not.
  const int64_t depth = fields.depth;
  for (int64_t c = 0; c < kColumns && depth % 2 != 0; ++c)
    to[(depth - 1) * kColumns + 2 * c + 1] = BFloat16();
  const int64_t first = (depth + 1) / 2 * 2 * kColumns;
  std::fill(to + first, to + tiledDepth(depth) * kColumns, BFloat16());
}

#else

void decodePairs(const FieldPanels &, int64_t, BFloat16 *) {}

#endif

} // namespace shardc::runtime::host
