//===- QuantizeTest.cpp - Weights in fewer bits ---------------------------===//

#include "compiler/quantize/MatrixQuantizer.h"
#include "compiler/quantize/Numbers.h"
#include "compiler/quantize/QuantizedFile.h"
#include "runtime/base/Float8.h"

#include "mlir/IR/Builders.h"
#include "llvm/Support/FileSystem.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <random>

using namespace shardc;
using namespace shardc::quantize;

namespace {

TEST(Numbers, RoundToEvenIsTheLibrarys) {
  for (float x = -300; x <= 300; x += 0.125f)
    EXPECT_EQ(roundToEven(x), std::nearbyint(x)) << x;
}

/// Against the runtime's, which computes in doubles.
TEST(Numbers, Float8IsNearest) {
  std::mt19937 random(1);
  std::uniform_int_distribution<uint32_t> bits(0, 0xffffffffu);
  for (int i = 0; i < 1000000; ++i) {
    const float x = std::bit_cast<float>(bits(random));
    if (!std::isfinite(x))
      continue;
    EXPECT_EQ(encodeFloat8(x, 1),
              runtime::encodeFloat8(runtime::kFloat8E4M3FN, x, true))
        << x;
  }
  for (int byte = 0; byte < 256; ++byte)
    for (float off : {-0.5f, -0.49f, 0.0f, 0.49f, 0.5f}) {
      const double x =
          runtime::decodeFloat8(runtime::kFloat8E4M3FN, uint8_t(byte));
      if (!std::isfinite(x))
        continue;
      const auto between = float(x + off * std::ldexp(1.0, std::ilogb(x) - 3));
      if (x != 0) {
        EXPECT_EQ(encodeFloat8(between, 1),
                  runtime::encodeFloat8(runtime::kFloat8E4M3FN, between, true))
            << between;
      }
    }
}

/// A matrix [k, n], or [n, k], quantised, and read back by the definition.
class Quantized {
public:
  Quantized(int64_t n, int64_t k, int bits, int64_t group, bool isTransposed,
            int64_t batch = 1)
      : numbers(batch * n * k) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    for (float &number : numbers)
      number = normal(random);
    mlir::Builder b(&context);
    matrix.name = matrix.file = b.getStringAttr("w");
    matrix.length = numbers.size() * sizeof(float);
    matrix.element = b.getF32Type();
    matrix.stored = b.getIntegerType(bits);
    matrix.batch = batch, matrix.rows = n, matrix.columns = k;
    matrix.isTransposed = isTransposed;
    matrix.group = group;
    MatrixQuantizer quantizer(
        matrix, [&](uint64_t offset, llvm::MutableArrayRef<char> to) {
          std::memcpy(to.data(),
                      reinterpret_cast<const char *>(numbers.data()) + offset,
                      to.size());
          return std::string();
        });
    llvm::raw_string_ostream data(codes), scales(scaleBytes);
    problem = quantizer.writeData(data);
    quantizer.writeScales(scales);
  }

  float numberOf(int64_t batch, int64_t row, int64_t column) const {
    const int64_t at = matrix.isTransposed ? row * matrix.columns + column
                                           : column * matrix.rows + row;
    return numbers[batch * matrix.rows * matrix.columns + at];
  }
  float scaleOf(int64_t batch, int64_t row, int64_t column) const {
    float scale;
    const int64_t at =
        (batch * matrix.rows + row) * matrix.groups() + column / matrix.group;
    std::memcpy(&scale, scaleBytes.data() + at * 4, 4);
    return scale;
  }
  int codeOf(int64_t batch, int64_t row, int64_t column) const {
    const int64_t at = (batch * matrix.rows + row) * matrix.columns + column;
    if (matrix.stored.isInteger(8))
      return int8_t(codes[at]);
    const int half = (uint8_t(codes[at / 2]) >> (at % 2 * 4)) & 15;
    return half >= 8 ? half - 16 : half;
  }

  mlir::MLIRContext context;
  onnx::QuantizedMatrix matrix;
  std::vector<float> numbers;
  std::string codes, scaleBytes, problem;
};

/// Each number is within half a scale, but for those that the other end of the
/// range has no code for; the furthest of a group is exact.
void expectNear(const Quantized &q) {
  ASSERT_EQ(q.problem, "");
  ASSERT_EQ(q.codes.size(), q.matrix.dataBytes());
  ASSERT_EQ(q.scaleBytes.size(), q.matrix.scaleBytes());
  const int bits = int(q.matrix.stored.getIntOrFloatBitWidth());
  for (int64_t b = 0; b < q.matrix.batch; ++b)
    for (int64_t row = 0; row < q.matrix.rows; ++row) {
      float furthest = 0;
      for (int64_t column = 0; column < q.matrix.columns; ++column) {
        const int64_t begin = column / q.matrix.group * q.matrix.group;
        if (column == begin) {
          furthest = 0;
          for (int64_t i = begin;
               i < std::min(begin + q.matrix.group, q.matrix.columns); ++i)
            if (std::fabs(q.numberOf(b, row, i)) > std::fabs(furthest))
              furthest = q.numberOf(b, row, i);
        }
        const float scale = q.scaleOf(b, row, column);
        const int code = q.codeOf(b, row, column);
        ASSERT_EQ(scale, furthest / float(-(1 << (bits - 1))));
        const float x = q.numberOf(b, row, column);
        const float ideal =
            std::min(std::nearbyint(x / scale), float((1 << (bits - 1)) - 1));
        ASSERT_EQ(code, int(ideal)) << row << " " << column;
      }
    }
}

TEST(MatrixQuantizer, TurnsWhatIsByFeatures) {
  expectNear(Quantized(200, 160, 4, 32, false));
  expectNear(Quantized(200, 160, 8, 64, false));
}
TEST(MatrixQuantizer, KeepsWhatIsByResults) {
  expectNear(Quantized(37, 160, 4, 32, true));
  expectNear(Quantized(37, 160, 8, 16, true));
}
TEST(MatrixQuantizer, HasShorterLastGroups) {
  expectNear(Quantized(65, 75, 8, 32, false));
  expectNear(Quantized(65, 74, 4, 32, true));
}
/// Rows begin within bytes, and so may matrices of several.
TEST(MatrixQuantizer, SharesBytes) {
  expectNear(Quantized(65, 75, 4, 32, false));
  expectNear(Quantized(65, 75, 4, 32, true));
  expectNear(Quantized(5, 75, 4, 32, false, 3));
  expectNear(Quantized(5, 75, 4, 32, true, 3));
}
TEST(MatrixQuantizer, TakesExpertsOneByOne) {
  expectNear(Quantized(64, 96, 4, 32, false, 4));
  expectNear(Quantized(64, 96, 8, 32, true, 4));
}
/// More than is read at a time.
TEST(MatrixQuantizer, ReadsInPieces) {
  expectNear(Quantized(3000, 1100, 8, 256, false));
  expectNear(Quantized(3000, 1100, 4, 128, true));
}

/// Two experts, of which the second has no matrix: data of both, then scales.
TEST(QuantizedFile, HasZerosForExpertsWithoutMatrices) {
  llvm::SmallString<64> folder;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("quantized", folder));
  const std::vector<float> source = {-128, 64, 127, 0};
  {
    std::ofstream file(std::string(folder) + "/m.data", std::ios::binary);
    file.write(reinterpret_cast<const char *>(source.data()), 16);
  }
  mlir::MLIRContext context;
  mlir::Builder b(&context);
  onnx::QuantizedMatrix matrix;
  matrix.name = b.getStringAttr("w");
  matrix.file = b.getStringAttr("m.data");
  matrix.length = 16;
  matrix.element = b.getF32Type();
  matrix.stored = b.getIntegerType(8);
  matrix.rows = matrix.columns = matrix.group = 2;
  matrix.isTransposed = true;
  matrix.scaleOffset = 8;
  onnx::QuantizedMatrix zeros = matrix;
  zeros.name = zeros.file = b.getStringAttr("");
  zeros.length = 0;
  zeros.dataOffset = 4;
  zeros.scaleOffset = 16;
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::ModuleOp::create(b.getUnknownLoc());
  onnx::setQuantizedMatrices(*module, {matrix, zeros});
  const std::string path = std::string(folder) + "/quantized.bin";
  EXPECT_EQ(writeQuantizedFile(*module, std::string(folder), path), "");
  std::ifstream written(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(written)), {});
  ASSERT_EQ(bytes.size(), 24u);
  EXPECT_EQ(bytes.substr(0, 8), (std::string{-128, 64, -128, 0, 0, 0, 0, 0}));
  float scales[4];
  std::memcpy(scales, bytes.data() + 8, sizeof(scales));
  EXPECT_EQ(scales[0], 1);
  EXPECT_EQ(scales[1], 127 / -128.0f);
  EXPECT_EQ(scales[2], 0);
  EXPECT_EQ(scales[3], 0);
  llvm::sys::fs::remove_directories(folder);
}

} // namespace
