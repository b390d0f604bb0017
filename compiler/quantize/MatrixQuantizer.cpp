#include "compiler/quantize/MatrixQuantizer.h"

#include "compiler/quantize/Numbers.h"
#include "runtime/base/Float16.h"

#include "llvm/Support/Parallel.h"

#include <atomic>
#include <cmath>

using namespace mlir;

namespace shardc::quantize {

/// Columns of a source that are turned at a time.
static constexpr int64_t kTile = 64;
/// Rows of a tile at most.
static constexpr int64_t kDepth = 256;
/// Elements of a source that are in memory, about.
static constexpr int64_t kChunk = int64_t(1) << 21;

MatrixQuantizer::MatrixQuantizer(const onnx::QuantizedMatrix &matrix,
                                 Reader read)
    : matrix(matrix), read(std::move(read)),
      bits(matrix.stored.getIntOrFloatBitWidth()),
      isFloat8(isa<FloatType>(matrix.stored)),
      group(matrix.group > 0 ? matrix.group : matrix.columns),
      sourceRows(matrix.isTransposed ? matrix.rows : matrix.columns),
      sourceColumns(matrix.isTransposed ? matrix.columns : matrix.rows) {}

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

/// False where one of them is no finite number.
static bool convert(const char *from, Type element, float *to, int64_t count) {
  uint32_t isOther = 0; // a sum of floats would not be one of vectors
  auto all = [&](auto toNumber) {
    for (int64_t i = 0; i < count; ++i) {
      to[i] = toNumber(i);
      isOther |= (std::bit_cast<uint32_t>(to[i]) & 0x7f800000u) == 0x7f800000u;
    }
  };
  if (element.isF32())
    all([&](int64_t i) { return reinterpret_cast<const float *>(from)[i]; });
  else if (element.isBF16())
    all([&](int64_t i) {
      return runtime::toFloat(
          reinterpret_cast<const runtime::BFloat *>(from)[i]);
    });
  else
    all([&](int64_t i) {
      return runtime::toFloat(reinterpret_cast<const runtime::Half *>(from)[i]);
    });
  return isOther == 0;
}

std::string MatrixQuantizer::readRows(int64_t batch, int64_t row,
                                      int64_t count) {
  const int64_t size = matrix.element.getIntOrFloatBitWidth() / 8;
  const int64_t elements = count * sourceColumns;
  bytes.resize(elements * size);
  numbers.resize(elements);
  const uint64_t at = (batch * sourceRows + row) * sourceColumns * size;
  if (std::string problem = read(at, bytes); !problem.empty())
    return problem;
  std::atomic<bool> isFinite = true;
  forEach(count, [&](int64_t i) {
    if (!convert(bytes.data() + i * sourceColumns * size, matrix.element,
                 numbers.data() + i * sourceColumns, sourceColumns))
      isFinite = false;
  });
  return isFinite ? ""
                  : "weight '" + matrix.name.str() +
                        "' has infinite numbers, or what is no number: leave "
                        "--weights-type out, or mend the model";
}

/// On all threads, unless what is written shares bytes.
template <typename Body>
void MatrixQuantizer::forEach(int64_t count, Body body) const {
  if (bits == 4 && matrix.columns % 2 != 0) {
    for (int64_t i = 0; i < count; ++i)
      body(i);
    return;
  }
  llvm::parallelFor(0, count, [&](size_t i) { body(int64_t(i)); });
}

//===----------------------------------------------------------------------===//
// Codes
//===----------------------------------------------------------------------===//

float MatrixQuantizer::scaleOf(float furthest) const {
  const float scale =
      isFloat8 ? float8Scale(furthest) : integerScale(furthest, bits);
  if (matrix.element.isF16())
    return runtime::toFloat(runtime::toHalf(scale));
  return matrix.element.isBF16() ? runtime::toFloat(runtime::toBFloat(scale))
                                 : scale;
}

/// Each number has the divisor that is `step` behind the last one's.
void MatrixQuantizer::encode(const float *numbers, const float *divisors,
                             int64_t step, uint8_t *codes,
                             int64_t count) const {
  const auto all = [&](auto code) {
    if (step == 0) {
      const float divisor = *divisors;
      for (int64_t i = 0; i < count; ++i)
        codes[i] = code(numbers[i], divisor);
      return;
    }
    for (int64_t i = 0; i < count; ++i)
      codes[i] = code(numbers[i], divisors[i]);
  };
  if (isFloat8)
    all([](float x, float divisor) { return encodeFloat8(x, divisor); });
  else if (bits == 4)
    all([](float x, float divisor) { return encodeInteger<4>(x, divisor); });
  else
    all([](float x, float divisor) { return encodeInteger<8>(x, divisor); });
}

void MatrixQuantizer::put(uint64_t at, const uint8_t *codes, int64_t stride,
                          int64_t count) {
  if (bits == 8) {
    for (int64_t i = 0; i < count; ++i)
      data[at + i] = codes[i * stride];
    return;
  }
  int64_t i = 0;
  if (at % 2 != 0 && count > 0)
    data[at / 2] |= codes[i++ * stride] << 4;
  for (; i + 1 < count; i += 2)
    data[(at + i) / 2] =
        static_cast<uint8_t>(codes[i * stride] | codes[(i + 1) * stride] << 4);
  if (i < count)
    data[(at + i) / 2] |= codes[i * stride];
}

/// Columns of a tile of codes, each as elements of `data` from `at` on, every
/// `step` elements.
void MatrixQuantizer::putTile(uint64_t at, int64_t step, uint8_t *codes,
                              int64_t width, int64_t depth) {
  const bool hasPairs =
      bits == 4 && at % 2 == 0 && step % 2 == 0 && depth % 2 == 0;
  if (bits == 4 && !hasPairs) {
    for (int64_t j = 0; j < width; ++j)
      put(at + j * step, codes + j, kTile, depth);
    return;
  }
  if (hasPairs) { // bytes of two rows
    for (int64_t i = 0; i < depth; i += 2)
      for (int64_t j = 0; j < kTile; ++j)
        codes[i / 2 * kTile + j] = static_cast<uint8_t>(
            codes[i * kTile + j] | codes[(i + 1) * kTile + j] << 4);
    at /= 2, step /= 2, depth /= 2;
  }
  for (int64_t j = 0; j < width; ++j)
    for (int64_t i = 0; i < depth; ++i)
      data[at + j * step + i] = codes[i * kTile + j];
}

/// Rows [row, row + count) of `numbers`, which begin a group or have scales
/// already, and some columns.
void MatrixQuantizer::quantizeTile(int64_t batch, uint64_t first, int64_t row,
                                   int64_t count, int64_t column) {
  const int64_t width = std::min(kTile, sourceColumns - column);
  const int64_t groups = matrix.groups();
  float divisors[kTile];
  uint8_t codes[kDepth * kTile] = {};
  for (int64_t at = 0; at < count;) {
    const int64_t depth = std::min({group, count - at, kDepth});
    const float *tile = numbers.data() + at * sourceColumns + column;
    float *scale = scales.data() + (batch * matrix.rows + column) * groups +
                   (row + at) / group;
    if (matrix.group > 0) {
      float least[kTile] = {}, most[kTile] = {};
      for (int64_t i = 0; i < depth; ++i)
        for (int64_t j = 0; j < width; ++j) {
          const float x = tile[i * sourceColumns + j];
          least[j] = std::min(least[j], x);
          most[j] = std::max(most[j], x);
        }
      for (int64_t j = 0; j < width; ++j)
        scale[j * groups] = scaleOf(furthestOf(least[j], most[j]));
    }
    for (int64_t j = 0; j < width; ++j)
      divisors[j] = divisorOf(scale[j * groups]);
    for (int64_t i = 0; i < depth; ++i)
      encode(tile + i * sourceColumns, divisors, 1, codes + i * kTile, width);
    putTile(first + column * matrix.columns + row + at, matrix.columns, codes,
            width, depth);
    at += depth;
  }
}

/// Rows of the source are features: k.
std::string MatrixQuantizer::quantizeByColumns(int64_t batch, uint64_t first) {
  // Whole groups.
  const int64_t depth = matrix.group > 0 ? group : std::min(group, kDepth);
  const int64_t rows =
      std::max<int64_t>(1, kChunk / (sourceColumns * depth)) * depth;
  for (int64_t row = 0; row < sourceRows; row += rows) {
    const int64_t count = std::min(rows, sourceRows - row);
    if (std::string problem = readRows(batch, row, count); !problem.empty())
      return problem;
    forEach((sourceColumns + kTile - 1) / kTile, [&](int64_t tile) {
      quantizeTile(batch, first, row, count, tile * kTile);
    });
  }
  return "";
}

/// Where all of k has one, which a pass over it finds before.
std::string MatrixQuantizer::findColumnScales(int64_t batch) {
  std::vector<float> furthest(sourceColumns);
  const int64_t rows = std::max<int64_t>(1, kChunk / sourceColumns);
  for (int64_t row = 0; row < sourceRows; row += rows) {
    const int64_t count = std::min(rows, sourceRows - row);
    if (std::string problem = readRows(batch, row, count); !problem.empty())
      return problem;
    for (int64_t i = 0; i < count; ++i)
      for (int64_t j = 0; j < sourceColumns; ++j)
        furthest[j] =
            std::max(furthest[j], std::fabs(numbers[i * sourceColumns + j]));
  }
  for (int64_t j = 0; j < sourceColumns; ++j)
    scales[batch * matrix.rows + j] = scaleOf(furthest[j]);
  return "";
}

/// The numbers of a row that are least and most, in as many sums as a vector
/// has.
static float furthestIn(const float *numbers, int64_t count) {
  constexpr int64_t kLanes = 16;
  float least[kLanes] = {}, most[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes)
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      least[lane] = std::min(least[lane], numbers[i + lane]);
      most[lane] = std::max(most[lane], numbers[i + lane]);
    }
  for (; i < count; ++i) {
    least[0] = std::min(least[0], numbers[i]);
    most[0] = std::max(most[0], numbers[i]);
  }
  return furthestOf(*std::min_element(least, least + kLanes),
                    *std::max_element(most, most + kLanes));
}

/// One result's.
void MatrixQuantizer::quantizeRow(int64_t batch, uint64_t first, int64_t row,
                                  const float *numbers) {
  const int64_t groups = matrix.groups();
  float *scale = scales.data() + (batch * matrix.rows + row) * groups;
  uint8_t codes[kDepth];
  for (int64_t g = 0; g < groups; ++g) {
    const int64_t begin = g * group,
                  end = std::min(begin + group, matrix.columns);
    scale[g] = scaleOf(furthestIn(numbers + begin, end - begin));
    const float divisor = divisorOf(scale[g]);
    for (int64_t at = begin; at < end; at += kDepth) {
      const int64_t count = std::min(kDepth, end - at);
      encode(numbers + at, &divisor, 0, codes, count);
      put(first + row * matrix.columns + at, codes, 1, count);
    }
  }
}

std::string MatrixQuantizer::quantizeByRows(int64_t batch, uint64_t first) {
  const int64_t rows = std::max<int64_t>(1, kChunk / sourceColumns);
  for (int64_t row = 0; row < sourceRows; row += rows) {
    const int64_t count = std::min(rows, sourceRows - row);
    if (std::string problem = readRows(batch, row, count); !problem.empty())
      return problem;
    forEach(count, [&](int64_t i) {
      quantizeRow(batch, first, row + i, numbers.data() + i * sourceColumns);
    });
  }
  return "";
}

std::string MatrixQuantizer::quantize(int64_t batch, uint64_t first) {
  if (matrix.isTransposed)
    return quantizeByRows(batch, first);
  if (matrix.group == 0)
    if (std::string problem = findColumnScales(batch); !problem.empty())
      return problem;
  return quantizeByColumns(batch, first);
}

//===----------------------------------------------------------------------===//
// The whole
//===----------------------------------------------------------------------===//

std::string MatrixQuantizer::roundAll(llvm::raw_ostream &out) {
  const int64_t all = matrix.batch * sourceRows;
  const int64_t rows = std::max<int64_t>(1, kChunk / sourceColumns);
  for (int64_t row = 0; row < all; row += rows) {
    const int64_t count = std::min(rows, all - row);
    if (std::string problem = readRows(0, row, count); !problem.empty())
      return problem;
    std::vector<runtime::BFloat> rounded(numbers.size());
    for (size_t i = 0; i < numbers.size(); ++i) {
      rounded[i] = runtime::toBFloat(numbers[i]);
      if (!std::isfinite(runtime::toFloat(rounded[i])))
        return "weight '" + matrix.name.str() +
               "' has numbers that are too large for bf16: leave "
               "--weights-type out, or take another one";
    }
    out.write(reinterpret_cast<const char *>(rounded.data()),
              rounded.size() * sizeof(runtime::BFloat));
  }
  return "";
}

std::string MatrixQuantizer::writeData(llvm::raw_ostream &out) {
  const uint64_t size = uint64_t(matrix.batch) * matrix.rows * matrix.columns;
  if (matrix.length != size * matrix.element.getIntOrFloatBitWidth() / 8)
    return "weight '" + matrix.name.str() + "' has " +
           std::to_string(matrix.length) + " bytes, expected another number";
  if (!matrix.isScaled())
    return roundAll(out);
  scales.resize(matrix.batch * matrix.rows * matrix.groups());
  // Each by itself, unless they share a byte.
  const uint64_t each = size / matrix.batch;
  const int64_t together = each * bits % 8 == 0 ? 1 : matrix.batch;
  for (int64_t batch = 0; batch < matrix.batch; batch += together) {
    data.assign(llvm::divideCeil(each * together * bits, 8), 0);
    for (int64_t i = 0; i < together; ++i)
      if (std::string problem = quantize(batch + i, i * each); !problem.empty())
        return problem;
    out.write(reinterpret_cast<const char *>(data.data()), data.size());
  }
  return "";
}

void MatrixQuantizer::writeScales(llvm::raw_ostream &out) const {
  for (float scale : scales) {
    if (matrix.element.isF32()) {
      out.write(reinterpret_cast<const char *>(&scale), sizeof(scale));
      continue;
    }
    const uint16_t half = matrix.element.isF16()
                              ? runtime::toHalf(scale).bits
                              : runtime::toBFloat(scale).bits;
    out.write(reinterpret_cast<const char *>(&half), sizeof(half));
  }
}

} // namespace shardc::quantize
