// What a process finds that runs after others.
#include "runtime/device/cuda/products/AlgorithmFile.h"
#include "runtime/device/cuda/products/GemmCache.h"
#include "tests/conformance/cuda/SimulatedProduct.h"
#include "tests/conformance/cuda/SimulationFixture.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>
#include <vector>

namespace shardc::testing {
namespace {

namespace fs = std::filesystem;
using runtime::AlgorithmFile;
using runtime::GemmCache;
using runtime::Status;

constexpr char kVersion[] = "SHARDC_SIMULATED_CUBLASLT";
constexpr char kCacheDir[] = "SHARDC_CACHE_DIR";

class AlgorithmFiles : public Simulation {
protected:
  void SetUp() override {
    Simulation::SetUp();
    folder = fs::temp_directory_path() /
             ("shardc-algorithms-" + std::to_string(getpid()));
    fs::remove_all(folder);
    setenv(kCacheDir, folder.c_str(), 1);
    setenv(kVersion, "130002", 1);
    memory = onGpu<float>(3 * 1024);
    ASSERT_DONE(cudaMemset(memory, 0, 3 * 1024 * sizeof(float)));
    ASSERT_DONE(cudaStreamSynchronize(nullptr));
  }
  void TearDown() override {
    fs::remove_all(folder);
    unsetenv(kCacheDir);
    unsetenv(kVersion);
    unsetenv("SHARDC_CUBLASLT_CACHE");
  }

  runtime::TensorView matrix(int number, int64_t rows, int64_t columns) {
    runtime::TensorView view;
    view.data = reinterpret_cast<std::byte *>(memory + 1024 * number);
    view.element = artifact::ElementType_Float32;
    view.rank = 2;
    view.dims[0] = rows;
    view.dims[1] = columns;
    view.strides[0] = columns;
    view.strides[1] = 1;
    return view;
  }

  /// A cache's life, with one product for each count of rows; how often the
  /// heuristics were asked.
  int asked(const std::vector<int64_t> &rowCounts) {
    const int before = simulatedHeuristicsAsked();
    GemmCache gemms;
    Status status = gemms.open(0);
    for (int64_t rows : rowCounts) {
      const auto a = matrix(0, rows, 16), b = matrix(1, 16, 8),
                 c = matrix(2, rows, 8);
      if (status.isOk())
        status = gemms.multiply(runtime::planProduct(a, b, c),
                                {a.element, b.element, c.element}, a.data,
                                b.data, c.data, 1, 0, {}, stream);
    }
    EXPECT_TRUE(status.isOk()) << status.message();
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    return simulatedHeuristicsAsked() - before;
  }

  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    if (fs::exists(folder))
      for (const auto &entry : fs::recursive_directory_iterator(folder))
        if (entry.is_regular_file())
          found.push_back(entry.path());
    return found;
  }

  fs::path folder;
  float *memory = nullptr;
};

TEST_F(AlgorithmFiles, areAskedBeforeTheHeuristics) {
  EXPECT_EQ(asked({2, 3, 2}), 2);
  ASSERT_EQ(files().size(), 1u);
  EXPECT_EQ(files()[0], folder / "cublaslt/simulated-GPU-sm_90-4-130002");
  EXPECT_EQ(asked({3, 2}), 0);
  EXPECT_EQ(asked({2, 4}), 1);
  EXPECT_EQ(asked({2, 3, 4}), 0);
}

TEST_F(AlgorithmFiles, ofStreamsThatLiveTogetherAreOne) {
  GemmCache gemms;
  ASSERT_TRUE(gemms.open(0).isOk());
  EXPECT_EQ(asked({2}), 1);
  EXPECT_EQ(asked({2}), 0);
  EXPECT_TRUE(files().empty()); // one still lives
  gemms.save();
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(AlgorithmFiles, areForOneVersion) {
  EXPECT_EQ(asked({2}), 1);
  setenv(kVersion, "130100", 1);
  EXPECT_EQ(asked({2}), 1);
  EXPECT_EQ(files().size(), 2u);
  EXPECT_EQ(asked({2}), 0);
}

TEST_F(AlgorithmFiles, thatAreDamagedOrForeignAreReplaced) {
  EXPECT_EQ(asked({2}), 1);
  const fs::path path = files().at(0);
  const auto size = fs::file_size(path);
  fs::resize_file(path, size - 1);
  EXPECT_EQ(asked({2}), 1);
  EXPECT_EQ(fs::file_size(path), size);
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary)
      .seekp(static_cast<std::streamoff>(size) - 100)
      .put('!');
  EXPECT_EQ(asked({2}), 1);
  EXPECT_EQ(asked({2}), 0);
  setenv(kVersion, "130100", 1);
  EXPECT_EQ(asked({2, 3}), 2);
  setenv(kVersion, "130002", 1);
  fs::copy_file(folder / "cublaslt/simulated-GPU-sm_90-4-130100", path,
                fs::copy_options::overwrite_existing);
  EXPECT_EQ(asked({2}), 1);
}

TEST_F(AlgorithmFiles, keepWhatOthersWrite) {
  const std::string path = (folder / "cublaslt/file").string();
  cublasLtMatmulAlgo_t algorithm = {};
  algorithm.data[7] = 5;
  {
    AlgorithmFile early(path, "it"), late(path, "it");
    early.add({1}, algorithm);
    late.add({2}, algorithm);
  }
  AlgorithmFile both(path, "it");
  for (int64_t key : {1, 2}) {
    ASSERT_TRUE(both.find({key}));
    EXPECT_EQ(both.find({key})->data[7], 5u);
  }
  EXPECT_FALSE(both.find({3}));
}

TEST_F(AlgorithmFiles, thatCuBlasLtRefusesAreNotUsed) {
  EXPECT_EQ(asked({2}), 1);
  // A whole file, for this purpose, whose algorithms are none.
  std::ifstream in(files().at(0), std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  AlgorithmFile::Key key;
  std::memcpy(key.data(), &text[text.size() - sizeof key - 64], sizeof key);
  AlgorithmFile(files()[0].string(), "simulated GPU sm_90 4 130002")
      .add(key, cublasLtMatmulAlgo_t{});
  EXPECT_EQ(asked({2}), 1);
  EXPECT_EQ(asked({2}), 0);
}

TEST_F(AlgorithmFiles, areLeftAloneWhereNotWanted) {
  setenv("SHARDC_CUBLASLT_CACHE", "0", 1);
  EXPECT_EQ(asked({2}), 1);
  EXPECT_EQ(asked({2}), 1);
  EXPECT_TRUE(files().empty());
}

TEST_F(AlgorithmFiles, thatCannotBeWrittenAreNoError) {
  setenv(kCacheDir, "/proc/none", 1);
  EXPECT_EQ(asked({2}), 1);
  EXPECT_EQ(asked({2}), 1);
}

} // namespace
} // namespace shardc::testing
