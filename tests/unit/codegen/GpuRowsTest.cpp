//===- GpuRowsTest.cpp - The GPU form of kernels, simulated ---------------===//
//
// Against plain loops in double precision.
//
//===----------------------------------------------------------------------===//

#include "compiler/codegen/cuda/CudaKernels.h"
#include "compiler/codegen/cuda/DeviceFunctions.h"
#include "compiler/codegen/rows/RowEmitter.h"
#include "tests/unit/codegen/GpuSimulator.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

using namespace shardc;
using shardc::testing::GpuSimulator;
using shardc::testing::Launch;

namespace {

const char kKernels[] = R"mlir(
rt.kernel @silu_mul ["column", "column"] -> ["column"] {
^bb0(%x: f32, %up: f32):
  %one = arith.constant 1.0 : f32
  %n = arith.negf %x : f32
  %e = math.exp %n : f32
  %d = arith.addf %one, %e : f32
  %s = arith.divf %x, %d : f32
  %y = arith.mulf %s, %up : f32
  rt.yield %y : f32
}
rt.kernel @softmax ["column"] -> ["column"] {
^bb0(%x: f32):
  %max = rt.reduce "max" %x : f32
  %0 = arith.subf %x, %max : f32
  %e = math.exp %0 : f32
  %sum = rt.reduce "sum" %e : f32
  %y = arith.divf %e, %sum : f32
  rt.yield %y : f32
}
rt.kernel @silu_minus_sum ["column"] -> ["column"] {
^bb0(%x: f32):
  %one = arith.constant 1.0 : f32
  %n = arith.negf %x : f32
  %e = math.exp %n : f32
  %d = arith.addf %one, %e : f32
  %s = arith.divf %x, %d : f32
  %sum = rt.reduce "sum" %s : f32
  %y = arith.subf %s, %sum : f32
  rt.yield %y : f32
}
rt.kernel @residual_mean ["column", "column", "row"] -> ["column", "row"] {
^bb0(%x: f32, %r: f32, %s: f32):
  %sum = arith.addf %x, %r : f32
  %all = rt.reduce "sum" %sum : f32
  %n = rt.columns : f32
  %mean = arith.divf %all, %n : f32
  %scaled = arith.mulf %mean, %s : f32
  %y = arith.subf %sum, %mean : f32
  rt.yield %y, %scaled : f32, f32
}
rt.kernel @widen ["column"] -> ["column"] {
^bb0(%x: bf16):
  %w = arith.extf %x : bf16 to f32
  %y = arith.addf %w, %w : f32
  rt.yield %y : f32
}
)mlir";

/// Rows of operands, with gaps between them.
struct Matrix {
  int64_t rows, columns, stride;
  std::vector<float> data;
  int64_t behind = 0; ///< elements that the first one is behind 16 bytes
  Matrix(int64_t rows, int64_t columns, int64_t gap, int64_t behind = 0)
      : rows(rows), columns(columns), stride(columns + gap),
        data(size_t(rows * stride + 64)), behind(behind) {}
  float *base() {
    auto address = reinterpret_cast<uintptr_t>(data.data());
    return data.data() + (16 - address % 16) % 16 / sizeof(float) + behind;
  }
  float &at(int64_t r, int64_t c) { return base()[r * stride + c]; }
  void fill(unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (float &value : data)
      value = normal(random);
  }
};

class GpuRows : public ::testing::Test {
protected:
  GpuRows() {
    mlir::DialectRegistry registry;
    codegen::registerRowDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    auto module = mlir::parseSourceString<mlir::ModuleOp>(
        kKernels, mlir::ParserConfig(&context));
    auto lowered = codegen::lowerGpuKernels(*module);
    EXPECT_TRUE(mlir::succeeded(lowered));
    simulator = std::make_unique<GpuSimulator>(**lowered);
  }

  /// Rows in `inner` and `outer` halves where they divide, to have two dims.
  std::vector<uint64_t> arguments(std::vector<Matrix *> operands,
                                  int64_t columns, int64_t rows, int64_t inner,
                                  void *scratch) {
    std::vector<uint64_t> words;
    for (Matrix *operand : operands)
      words.push_back(reinterpret_cast<uint64_t>(operand->base()));
    words.push_back(uint64_t(columns));
    words.insert(words.end(), {uint64_t(inner), uint64_t(rows / inner), 1});
    for (Matrix *operand : operands)
      words.insert(words.end(), {uint64_t(operand->stride),
                                 uint64_t(operand->stride * inner), 0});
    words.push_back(reinterpret_cast<uint64_t>(scratch));
    words.push_back(uint64_t(slotFloats(columns)));
    return words;
  }
  static int64_t slotFloats(int64_t columns) {
    return (columns + 7) / 8 * 8 + 8;
  }
  static size_t sharedBytes(int64_t columns, int slots) {
    return (codegen::device::kMaxWarps +
            size_t(slotFloats(columns)) * size_t(slots)) *
           sizeof(float);
  }
  static Launch launch(int x, int y, int threads, int64_t columns, int slots) {
    Launch made;
    made.blocks[0] = x;
    made.blocks[1] = y;
    made.threads = threads;
    made.sharedBytes = sharedBytes(columns, slots);
    return made;
  }

  mlir::MLIRContext context;
  std::unique_ptr<GpuSimulator> simulator;
};

/// Columns that are whole vectors, ragged, one, none; gaps that keep rows
/// aligned, and one that does not.
const int64_t kColumns[] = {64, 100, 3, 0, 257};
const int64_t kGaps[] = {4, 1};

TEST_F(GpuRows, ElementsAreSharedOutOverTheGrid) {
  for (int64_t columns : kColumns)
    for (int64_t gap : kGaps)
      for (int blocks : {1, 3}) {
        Matrix x(6, columns, gap), up(6, columns, gap), y(6, columns, gap);
        x.fill(1);
        up.fill(2);
        y.fill(3);
        const Matrix before = y;
        ASSERT_EQ(
            simulator->run("silu_mul", launch(blocks, 2, 32, 0, 0),
                           arguments({&x, &up, &y}, columns, 6, 3, nullptr)),
            "");
        for (int64_t r = 0; r < 6; ++r)
          for (int64_t c = 0; c < columns; ++c)
            EXPECT_NEAR(y.at(r, c),
                        x.at(r, c) / (1 + std::exp(-double(x.at(r, c)))) *
                            up.at(r, c),
                        1e-6)
                << columns << " columns, gap " << gap;
        if (gap > 0 && columns > 0) {
          EXPECT_EQ(y.at(0, columns), Matrix(before).at(0, columns))
              << "written beyond";
        }
      }
}

TEST_F(GpuRows, BlocksReduceRowsTogether) {
  for (int64_t columns : kColumns)
    for (int64_t gap : kGaps)
      for (int threads : {32, 96})
        for (bool isShared : {true, false}) {
          Matrix x(4, columns, gap), y(4, columns, gap);
          x.fill(5);
          std::vector<float> scratch(size_t(slotFloats(columns)) * 6 + 8);
          ASSERT_EQ(
              simulator->run("softmax", launch(2, 3, threads, columns, 1),
                             arguments({&x, &y}, columns, 4, 2,
                                       isShared ? nullptr : scratch.data())),
              "");
          for (int64_t r = 0; r < 4; ++r) {
            double largest = -INFINITY, sum = 0;
            for (int64_t c = 0; c < columns; ++c)
              largest = std::max(largest, double(x.at(r, c)));
            for (int64_t c = 0; c < columns; ++c)
              sum += std::exp(x.at(r, c) - largest);
            for (int64_t c = 0; c < columns; ++c)
              EXPECT_NEAR(y.at(r, c), std::exp(x.at(r, c) - largest) / sum,
                          1e-6)
                  << columns << " columns, gap " << gap;
          }
        }
}

/// What a thread keeps of a row another one keeps of the next, where that is
/// aligned otherwise.
TEST_F(GpuRows, ARowKeepsItsSlotsToItsEnd) {
  for (int64_t columns : {101, 257})
    for (int threads : {64, 96}) {
      Matrix x(6, columns, 0), y(6, columns, 0);
      x.fill(1);
      ASSERT_EQ(simulator->run("silu_minus_sum",
                               launch(1, 1, threads, columns, 1),
                               arguments({&x, &y}, columns, 6, 6, nullptr)),
                "");
      auto silu = [&](int64_t r, int64_t c) {
        return x.at(r, c) / (1 + std::exp(-double(x.at(r, c))));
      };
      for (int64_t r = 0; r < 6; ++r) {
        double sum = 0;
        for (int64_t c = 0; c < columns; ++c)
          sum += silu(r, c);
        for (int64_t c = 0; c < columns; ++c)
          EXPECT_NEAR(y.at(r, c), silu(r, c) - sum, 1e-4)
              << columns << " columns, row " << r << ", column " << c;
      }
    }
}

/// Rows that begin anywhere, those of operands alike or not: what is between
/// them stays.
TEST_F(GpuRows, VectorsBeginInARow) {
  for (int64_t columns : {1, 6, 20, 101})
    for (int64_t behind : {0, 1, 3})
      for (int64_t other : {0, 2})
        for (int64_t gap : {0, 3, 8}) {
          Matrix x(5, columns, gap, behind), y(5, columns, gap, behind + other);
          x.fill(1);
          y.fill(2);
          const Matrix before = y;
          ASSERT_EQ(simulator->run("softmax", launch(2, 1, 32, columns, 1),
                                   arguments({&x, &y}, columns, 5, 5, nullptr)),
                    "");
          Matrix expected = before;
          for (int64_t r = 0; r < 5; ++r) {
            double largest = -INFINITY, sum = 0;
            for (int64_t c = 0; c < columns; ++c)
              largest = std::max(largest, double(x.at(r, c)));
            for (int64_t c = 0; c < columns; ++c)
              sum += std::exp(x.at(r, c) - largest);
            for (int64_t c = 0; c < columns; ++c)
              expected.at(r, c) = float(std::exp(x.at(r, c) - largest) / sum);
          }
          for (int64_t i = 0; i < 5 * (columns + gap); ++i)
            EXPECT_NEAR(y.base()[i], expected.base()[i], 1e-6)
                << columns << " columns, gap " << gap << ", " << behind;
        }
}

/// A block of many threads takes several rows at once, more than there are, and
/// vectors of 8 halves and of 4 floats lie side by side.
TEST_F(GpuRows, ShortRowsShareABlock) {
  for (int64_t columns : {1, 8, 40, 64, 77})
    for (int64_t rows : {1, 5, 12})
      for (int threads : {32, 96, 256})
        for (int64_t behind : {0, 2}) {
          const int64_t stride = columns + 3;
          std::vector<uint16_t> x(size_t(rows * stride + 16));
          for (size_t i = 0; i < x.size(); ++i)
            x[i] = uint16_t(0x3f80 + i % 64);
          Matrix y(rows, columns, 3, behind);
          y.fill(2);
          Matrix expected = y;
          auto words = arguments({&y, &y}, columns, rows, rows, nullptr);
          words[0] = reinterpret_cast<uint64_t>(x.data() + behind);
          ASSERT_EQ(simulator->run("widen", launch(1, 2, threads, 0, 0), words),
                    "");
          for (int64_t r = 0; r < rows; ++r)
            for (int64_t c = 0; c < columns; ++c) {
              const uint32_t bits = uint32_t(x[size_t(behind + r * stride + c)])
                                    << 16;
              float value;
              std::memcpy(&value, &bits, sizeof(value));
              expected.at(r, c) = 2 * value;
            }
          for (int64_t i = 0; i < rows * stride; ++i)
            EXPECT_EQ(y.base()[i], expected.base()[i])
                << columns << " columns of " << rows << ", " << threads;
        }
}

TEST_F(GpuRows, RowsHaveValuesOfTheirOwn) {
  Matrix x(4, 100, 4), r(4, 100, 0), s(4, 1, 0), y(4, 100, 0), mean(4, 1, 2);
  x.fill(7);
  r.fill(8);
  s.fill(9);
  ASSERT_EQ(
      simulator->run("residual_mean", launch(4, 1, 64, 100, 0),
                     arguments({&x, &r, &s, &y, &mean}, 100, 4, 4, nullptr)),
      "");
  for (int64_t i = 0; i < 4; ++i) {
    double sum = 0;
    for (int64_t c = 0; c < 100; ++c)
      sum += double(x.at(i, c)) + r.at(i, c);
    EXPECT_NEAR(mean.at(i, 0), sum / 100 * s.at(i, 0), 1e-6);
    for (int64_t c = 0; c < 100; ++c)
      EXPECT_NEAR(y.at(i, c), x.at(i, c) + r.at(i, c) - sum / 100, 1e-6);
  }
}

TEST_F(GpuRows, PtxAssemblesWithoutSpills) {
  if (codegen::findPtxas().empty())
    GTEST_SKIP() << "ptxas is not there";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      kKernels, mlir::ParserConfig(&context));
  auto lowered = codegen::lowerGpuKernels(*module);
  ASSERT_TRUE(mlir::succeeded(lowered));
  for (const char *architecture : {"sm_80", "sm_90", "sm_100"}) {
    std::string why, ptx = codegen::compilePtx(**lowered, architecture, why);
    ASSERT_NE(ptx, "") << why;
    EXPECT_NE(ptx.find("ld.global.v4"), std::string::npos) << ptx;
    EXPECT_NE(ptx.find("shfl.sync.bfly"), std::string::npos);
    std::string log;
    ASSERT_NE(codegen::assemblePtx(ptx, architecture, log, why), "") << why;
    auto resources = codegen::parseResources(log);
    ASSERT_EQ(resources.size(), 5u);
    for (const codegen::KernelResources &kernel : resources) {
      EXPECT_EQ(kernel.spilledBytes, 0) << kernel.name;
      EXPECT_GT(kernel.registers, 0) << kernel.name;
      EXPECT_LE(kernel.registers, 64) << kernel.name;
    }
  }
}

TEST(Ptxas, ResourcesAreReadFromItsLog) {
  auto kernels = codegen::parseResources(
      "ptxas info    : Compiling entry function 'a' for 'sm_90'\n"
      "ptxas info    : Function properties for a\n"
      "    8 bytes stack frame, 12 bytes spill stores, 4 bytes spill loads\n"
      "ptxas info    : Used 24 registers, used 1 barriers, 128 bytes smem\n"
      "ptxas info    : Compiling entry function 'b' for 'sm_90'\n"
      "ptxas info    : Used 7 registers\n");
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].name, "a");
  EXPECT_EQ(kernels[0].spilledBytes, 16);
  EXPECT_EQ(kernels[0].registers, 24);
  EXPECT_EQ(kernels[0].sharedBytes, 128);
  EXPECT_EQ(kernels[1].registers, 7);
}

} // namespace
