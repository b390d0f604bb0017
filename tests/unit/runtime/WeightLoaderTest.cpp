//===- WeightLoaderTest.cpp - Slices of weights, by reference and copied --===//
#include "runtime/weights/WeightLoader.h"

#include "runtime/artifact/ElementNames.h"
#include "runtime/program/Mesh.h"
#include "runtime/program/ScalarEvaluator.h"
#include "runtime/tensor/CopyView.h"
#include "runtime/tensor/SubByte.h"
#include "tests/unit/runtime/SessionFixture.h"

#include <cstring>
#include <numeric>

namespace shardc::runtime {
namespace {

using namespace test;

struct LoadedRank {
  std::vector<int64_t> scalars;
  WeightSlices slices;
  RankWeights weights;
  std::map<const WeightSlice *, std::vector<std::byte>> packed;
};

/// What is not one piece of its file.
void pack(LoadedRank &loaded) {
  for (size_t w = 0; w < loaded.weights.slices.size(); ++w) {
    const WeightSlice *slice = loaded.weights.slices[w];
    if (!slice || slice->data)
      continue;
    std::vector<std::byte> &memory = loaded.packed[slice];
    memory.resize(static_cast<size_t>(slice->bytes) + 1); // it has an address
    copyPacked(*slice, 0, slice->bytes, memory.data());
    loaded.weights.data[w] = memory.data();
  }
}

Status loadRank(const Artifact &artifact, int rank, LoadedRank &loaded,
                bool isHost = false) {
  const artifact::Program &program = artifact.program(0);
  const std::vector<uint8_t> dependence = scalarDependences(program);
  SHARDC_RETURN_IF_ERROR(evaluateLoadScalars(
      program, dependence, coordinatesOf(program, rank), loaded.scalars));
  const ConstantReads ofHost(program, dependence, loaded.scalars);
  const ConstantReads *reads = isHost ? &ofHost : nullptr;
  SHARDC_RETURN_IF_ERROR(loadWeights(artifact, 0, rank, loaded.scalars, reads,
                                     loaded.slices, loaded.weights));
  if (!loaded.slices.copied.empty())
    SHARDC_RETURN_IF_ERROR(
        artifact.checkCopiedWeights(rank, loaded.slices.copiedFile));
  pack(loaded);
  return Status::ok();
}

std::vector<float> range(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

/// What the rank owns of the weight, element by element.
std::vector<float> expectedSlice(const Artifact &artifact,
                                 const LoadedRank &loaded, uint32_t index) {
  const auto *weight = artifact.program(0).weights()->Get(index);
  std::vector<OwnedRuns> dims(weight->dims()->size());
  for (uint32_t d = 0; d < dims.size(); ++d)
    EXPECT_TRUE(
        resolveLayout(*weight->layout()->Get(d), loaded.scalars, dims[d])
            .isOk());
  std::vector<float> slice;
  int64_t columns = weight->dims()->Get(1);
  for (const OwnedRun &rows : dims[0].runs)
    for (int64_t r = 0; r < rows.length; ++r)
      for (const OwnedRun &run : dims[1].runs)
        for (int64_t c = 0; c < run.length; ++c)
          slice.push_back(
              static_cast<float>((rows.start + r) * columns + run.start + c));
  return slice;
}

std::vector<float> loadedSlice(const LoadedRank &loaded, size_t index) {
  std::vector<float> slice(static_cast<size_t>(loaded.weights.bytes[index]) /
                           4);
  if (!slice.empty())
    std::memcpy(slice.data(), loaded.weights.data[index], slice.size() * 4);
  return slice;
}

/// Rows, columns, heads and packed q|k|v of a 12 x 18 weight.
ProgramBuilder weightsProgram(int64_t ways) {
  ProgramBuilder p({{"tp", ways}});
  auto c = p.coordinate(0), rows = p.constant(12), columns = p.constant(18);
  auto three = p.constant(3), two = p.constant(2);
  std::string bytes = bytesOf(range(12 * 18));
  Segment heads = {{three, ways, c}, {two, 1, 0}};
  Layout packed = {heads, heads, heads};
  Layout interleaved = {{{p.constant(9), 1, 0}, {two, ways, c}}};
  p.weight("rows", Float32, {12, 18},
           {p.split(rows, ways, c), p.whole(columns)}, bytes);
  p.weight("columns", Float32, {12, 18},
           {p.whole(rows), p.split(columns, ways, c)}, bytes);
  p.weight("packed", Float32, {12, 18}, {p.whole(rows), packed}, bytes);
  p.weight("both", Float32, {12, 18}, {p.split(rows, ways, c), packed}, bytes);
  p.weight("interleaved", Float32, {12, 18}, {p.whole(rows), interleaved},
           bytes);
  return p;
}

TEST(WeightLoader, loadsEverySlice) {
  for (int64_t ways : {1, 2, 3, 8, 16}) {
    TestArtifact folder(weightsProgram(ways));
    Artifact artifact;
    ASSERT_TRUE(Artifact::open(folder.path(), {}, artifact).isOk());
    for (int rank = 0; rank < ways; ++rank) {
      LoadedRank loaded;
      Status status = loadRank(artifact, rank, loaded);
      ASSERT_TRUE(status.isOk()) << status.message();
      for (uint32_t w = 0; w < 5; ++w)
        EXPECT_EQ(loadedSlice(loaded, w), expectedSlice(artifact, loaded, w))
            << ways << " ways, rank " << rank << ", weight " << w;
    }
  }
}

TEST(WeightLoader, contiguousSlicesAreNotCopied) {
  TestArtifact folder(weightsProgram(2));
  Artifact artifact;
  ASSERT_TRUE(Artifact::open(folder.path(), {}, artifact).isOk());
  LoadedRank loaded;
  ASSERT_TRUE(loadRank(artifact, 1, loaded).isOk());
  auto file = artifact.weightBytes(*artifact.program(0).weights()->Get(0));
  EXPECT_EQ(loaded.weights.data[0], file.data() + 6 * 18 * 4);
  EXPECT_EQ(loaded.slices.mappedBytes, 6 * 18 * 4);
}

/// Half of the columns of w [12, 18] on each of two ranks, which two products read,
/// one of them transposed, and what `more` adds.
template <typename More> ProgramBuilder productsProgram(More more) {
  ProgramBuilder p({{"tp", 2}});
  auto c = p.coordinate(0), n = p.symbol("n", 0, 0), rows = p.constant(12),
       columns = p.constant(18), half = p.localSize(columns, 2, c);
  auto x = p.input("x", Float32, {p.whole(n), p.whole(rows)});
  auto w =
      p.weight("w", Float32, {12, 18}, {p.whole(rows), p.split(columns, 2, c)},
               bytesOf(range(12 * 18)));
  auto y = p.value(Float32, {n, half}), z = p.value(Float32, {n, rows});
  auto turned = p.view(w, {half, rows}, {p.constant(1), half}, p.constant(0));
  p.run("MatMul", {int32_t(x), int32_t(w)}, {int32_t(y)});
  p.run("MatMul", {int32_t(y), int32_t(turned)}, {int32_t(z)});
  more(p, w, half);
  return p;
}

/// check(artifact, what rank 1 has of it on a host).
template <typename Check>
bool onHost(const ProgramBuilder &program, Check check) {
  TestArtifact folder(program);
  Artifact artifact;
  EXPECT_TRUE(Artifact::open(folder.path(), {}, artifact).isOk());
  LoadedRank loaded;
  const Status status = loadRank(artifact, 1, loaded, /*isHost=*/true);
  EXPECT_TRUE(status.isOk()) << status.message();
  return check(artifact, loaded);
}

/// Whether the slice was left where its rows lie.
bool isReadInRows(const ProgramBuilder &program) {
  return onHost(program, [](const Artifact &artifact,
                            const LoadedRank &loaded) {
    auto file = artifact.weightBytes(*artifact.program(0).weights()->Get(0));
    const bool isInFile = loaded.weights.data[0] == file.data() + 9 * 4;
    EXPECT_EQ(loaded.weights.blocks[0] != nullptr, isInFile);
    EXPECT_EQ(loaded.weights.bytes[0], 12 * 9 * 4);
    if (isInFile)
      EXPECT_EQ(loaded.weights.slices[0]->extent, (11 * 18 + 9) * 4);
    else
      EXPECT_EQ(loadedSlice(loaded, 0), expectedSlice(artifact, loaded, 0));
    return isInFile;
  });
}

TEST(WeightLoader, productsReadRowsWhereTheyLie) {
  using Program = ProgramBuilder &;
  EXPECT_TRUE(
      isReadInRows(productsProgram([](Program, uint32_t, uint32_t) {})));
  // A table's rows, too.
  EXPECT_TRUE(
      isReadInRows(productsProgram([](Program p, uint32_t w, uint32_t half) {
        auto ids = p.input("ids", artifact::ElementType_Int64,
                           {p.whole(p.constant(5))});
        auto found = p.value(Float32, {p.constant(5), half});
        p.run("Gather", {int32_t(w), int32_t(ids)}, {int32_t(found)});
      })));
  // But not what others may take for dense.
  EXPECT_FALSE(
      isReadInRows(productsProgram([](Program p, uint32_t w, uint32_t half) {
        auto copy = p.value(Float32, {p.constant(12), half});
        p.run("Neg", {int32_t(w)}, {int32_t(copy)});
      })));
  // Nor what goes on from row to row,
  EXPECT_FALSE(
      isReadInRows(productsProgram([](Program p, uint32_t w, uint32_t) {
        auto flat = p.view(w, {p.constant(6), p.constant(18)},
                           {p.constant(18), p.constant(1)}, p.constant(0));
        auto x = p.input("u", Float32,
                         {p.whole(p.constant(2)), p.whole(p.constant(6))});
        auto y = p.value(Float32, {p.constant(2), p.constant(18)});
        p.run("MatMul", {int32_t(x), int32_t(flat)}, {int32_t(y)});
      })));
  // or may do so for some sizes.
  EXPECT_FALSE(
      isReadInRows(productsProgram([](Program p, uint32_t w, uint32_t) {
        auto n = p.constant(2), m = p.symbol("m", 1, 0);
        auto u = p.input("u", Float32, {p.whole(m), p.whole(n)});
        auto some =
            p.view(w, {n, m}, {p.constant(9), p.constant(1)}, p.constant(0));
        auto y = p.value(Float32, {m, m});
        p.run("MatMul", {int32_t(u), int32_t(some)}, {int32_t(y)});
      })));
}

/// Packed q|k|v of each rank, which are no block, and who reads them.
template <typename More> ProgramBuilder packedProgram(More more) {
  ProgramBuilder p({{"tp", 2}});
  auto c = p.coordinate(0), n = p.symbol("n", 0, 0), rows = p.constant(12),
       two = p.constant(2), half = p.constant(6);
  const Segment heads = {{p.constant(2), 2, c}, {p.constant(2), 1, 0}};
  auto x = p.input("x", Float32, {p.whole(n), p.whole(rows)});
  auto w = p.weight("w", Float32, {12, 12},
                    {p.whole(rows), Layout{heads, heads, heads}},
                    bytesOf(range(12 * 12)));
  auto y = p.value(Float32, {n, half});
  p.run("MatMul", {int32_t(x), int32_t(w)}, {int32_t(y)});
  more(p, w, half, two);
  return p;
}

bool isTransient(const ProgramBuilder &program) {
  return onHost(
      program, [](const Artifact &artifact, const LoadedRank &loaded) {
        EXPECT_EQ(loaded.weights.blocks[0], nullptr);
        EXPECT_EQ(loadedSlice(loaded, 0), expectedSlice(artifact, loaded, 0));
        const bool isTransient = loaded.weights.slices[0]->isTransient;
        EXPECT_EQ(loaded.slices.packedBytes, isTransient ? 0 : 12 * 6 * 4);
        return isTransient;
      });
}

TEST(WeightLoader, productsKeepNoCopiesOfWhatTheyPack) {
  using Program = ProgramBuilder &;
  EXPECT_TRUE(
      isTransient(packedProgram([](Program, uint32_t, uint32_t, uint32_t) {})));
  // A table is not packed,
  EXPECT_FALSE(isTransient(
      packedProgram([](Program p, uint32_t w, uint32_t half, uint32_t two) {
        auto ids = p.input("ids", artifact::ElementType_Int64, {p.whole(two)});
        auto found = p.value(Float32, {two, half});
        p.run("Gather", {int32_t(w), int32_t(ids)}, {int32_t(found)});
      })));
  // nor is what multiplies from the left, or is another matrix in each run.
  EXPECT_FALSE(isTransient(
      packedProgram([](Program p, uint32_t w, uint32_t half, uint32_t two) {
        auto u = p.input("u", Float32, {p.whole(half), p.whole(two)});
        auto y = p.value(Float32, {p.constant(12), two});
        p.run("MatMul", {int32_t(w), int32_t(u)}, {int32_t(y)});
      })));
  EXPECT_FALSE(isTransient(
      packedProgram([](Program p, uint32_t w, uint32_t half, uint32_t two) {
        auto m = p.symbol("m", 1, 1);
        auto u = p.input("u", Float32, {p.whole(two), p.whole(m)});
        auto some = p.view(w, {m, half}, {half, p.constant(1)}, p.constant(0));
        auto y = p.value(Float32, {two, half});
        p.run("MatMul", {int32_t(u), int32_t(some)}, {int32_t(y)});
      })));
}

/// Packed q|k|v of 4 bits: x [n, 12] times (q - zero) * s [12, 6] on each of two
/// ranks, in blocks of `blockRows` rows.
ProgramBuilder fieldsProgram(int64_t blockRows) {
  ProgramBuilder p({{"tp", 2}});
  auto c = p.coordinate(0), n = p.symbol("n", 0, 0), rows = p.constant(16),
       blocks = p.constant(16 / blockRows), half = p.constant(6);
  const Segment heads = {{p.constant(2), 2, c}, {p.constant(2), 1, 0}};
  const Layout columns = {heads, heads, heads};
  std::string bytes;
  for (int i = 0; i < 16 * 6; ++i)
    bytes.push_back(static_cast<char>(i));
  auto x = p.input("x", Float32, {p.whole(n), p.whole(rows)});
  auto q = p.weight("q", artifact::ElementType_UInt4, {16, 12},
                    {p.whole(rows), columns}, bytes);
  auto s =
      p.weight("s", Float32, {16 / blockRows, 12}, {p.whole(blocks), columns},
               bytesOf(range(16 / blockRows * 12)));
  auto y = p.value(Float32, {n, half});
  p.run("MatMulDequantized", {int32_t(x), int32_t(q), int32_t(s)}, {int32_t(y)},
        {p.ints("axis", {0}), p.ints("block_size", {blockRows})});
  return p;
}

TEST(WeightLoader, productsKeepNoCopiesOfFields) {
  // Blocks of fewer rows than a word has are made numbers of in each call.
  for (const int64_t blockRows : {8, 2})
    onHost(fieldsProgram(blockRows),
           [&](const Artifact &, const LoadedRank &loaded) {
             const WeightSlice &slice = *loaded.weights.slices[0];
             EXPECT_EQ(slice.isTransient, blockRows == 8);
             EXPECT_EQ(slice.bytes, 16 * 3);
             const auto *bytes =
                 reinterpret_cast<const char *>(loaded.weights.data[0]);
             for (int i = 0; i < 16 * 3; ++i)
               EXPECT_EQ(bytes[i], i / 3 * 6 + i % 3 * 2 + 1) << i;
             return true;
           });
}

TEST(WeightLoader, programsShareSlicesThatAreAlike) {
  TestArtifact folder(weightsProgram(2));
  folder.addProgram(weightsProgram(2));
  Artifact artifact;
  ASSERT_TRUE(Artifact::open(folder.path(), {}, artifact).isOk());
  LoadedRank loaded;
  ASSERT_TRUE(loadRank(artifact, 1, loaded).isOk());
  const int64_t packed = loaded.slices.packedBytes;
  RankWeights second;
  ASSERT_TRUE(loadWeights(artifact, 1, 1, loaded.scalars, /*reads=*/nullptr,
                          loaded.slices, second)
                  .isOk());
  EXPECT_EQ(second.bytes, loaded.weights.bytes);
  EXPECT_EQ(second.slices, loaded.weights.slices);
  EXPECT_GT(packed, 0);
  EXPECT_EQ(loaded.slices.packedBytes, packed);
}

/// Columns of two weights on each of 3 ranks, uneven, and rows of them.
ProgramBuilder joinedProgram() {
  ProgramBuilder p({{"tp", 3}});
  auto c = p.coordinate(0), two = p.constant(2), four = p.constant(4),
       seven = p.constant(7);
  p.weight("a", Float32, {2, 4}, {p.whole(two), p.split(four, 3, c)},
           bytesOf(range(8)));
  p.weight("b", Float32, {2, 7}, {p.whole(two), p.split(seven, 3, c)},
           bytesOf(range(14)));
  p.join(Float32, {0, 1}, 1,
         {two, p.binary(artifact::ScalarOp_Add, p.localSize(four, 3, c),
                        p.localSize(seven, 3, c))});
  return p;
}

TEST(WeightLoader, joinedSlicesLieSideBySide) {
  TestArtifact folder(joinedProgram());
  Artifact artifact;
  ASSERT_TRUE(Artifact::open(folder.path(), {}, artifact).isOk());
  const std::vector<float> expected[] = {{0, 0, 1, 4, 7, 8},
                                         {1, 2, 3, 5, 9, 10},
                                         {2, 3, 4, 5, 6, 6, 7, 11, 12, 13}};
  for (int rank = 0; rank < 3; ++rank) {
    LoadedRank loaded;
    Status status = loadRank(artifact, rank, loaded);
    ASSERT_TRUE(status.isOk()) << status.message();
    EXPECT_EQ(loadedSlice(loaded, 2), expected[rank]) << rank;
    const WeightSlice &joined = *loaded.weights.slices[2];
    EXPECT_EQ(joined.data, nullptr);
    std::vector<float> packed(expected[rank].size());
    auto *to = reinterpret_cast<std::byte *>(packed.data());
    for (int64_t at = 0; at < joined.bytes; at += 3)
      copyPacked(joined, at, std::min(at + 3, joined.bytes), to + at);
    EXPECT_EQ(packed, expected[rank]) << rank;
  }
}

/// Rows of two and four halves of bytes, or, where they have one more, rows
/// that end within a byte.
TEST(WeightLoader, halvesOfBytesAreJoinedByWholeOnes) {
  for (const int64_t more : {0, 1}) {
    ProgramBuilder p({{"tp", 1}});
    auto two = p.constant(2), wide = p.constant(4 + more),
         all = p.constant(6 + more);
    p.weight("a", artifact::ElementType_UInt4, {2, 2},
             {p.whole(two), p.whole(two)}, "\x21\x43");
    p.weight("b", artifact::ElementType_UInt4, {2, 4 + more},
             {p.whole(two), p.whole(wide)}, more ? "56789" : "5678");
    p.join(artifact::ElementType_UInt4, {0, 1}, 1, {two, all});
    TestArtifact folder(p);
    Artifact artifact;
    ASSERT_TRUE(Artifact::open(folder.path(), {}, artifact).isOk());
    LoadedRank loaded;
    const Status status = loadRank(artifact, 0, loaded);
    EXPECT_EQ(status.isOk(), more == 0) << status.message();
    if (more > 0) {
      EXPECT_NE(status.message().find("end within a byte"), std::string::npos)
          << status.message();
      continue;
    }
    EXPECT_EQ(
        std::string(reinterpret_cast<const char *>(loaded.weights.data[2]),
                    static_cast<size_t>(loaded.weights.bytes[2])),
        "\x21"
        "56\x43"
        "78");
  }
}

/// [2, 6] elements of two bits over two ranks: each has three of a row, and so
/// bytes of its own.
TEST(WeightLoader, quartersOfBytesAreSplitWithinThem) {
  ProgramBuilder p({{"tp", 2}});
  auto two = p.constant(2), six = p.constant(6), tp = p.coordinate(0);
  p.weight("a", artifact::ElementType_UInt2, {2, 6},
           {p.whole(two), p.split(six, 2, tp)}, "\xe4\x1b\x39");
  TestArtifact folder(p);
  Artifact artifact;
  ASSERT_TRUE(Artifact::open(folder.path(), {}, artifact).isOk());
  // Rows 0 1 2 3 3 2 and 1 0 1 2 3 0.
  for (int rank = 0; rank < 2; ++rank) {
    LoadedRank loaded;
    ASSERT_TRUE(loadRank(artifact, rank, loaded).isOk());
    const unsigned rows[2][6] = {{0, 1, 2, 1, 0, 1}, {3, 3, 2, 2, 3, 0}};
    EXPECT_EQ(loaded.weights.bytes[0], 2);
    for (int64_t i = 0; i < 6; ++i)
      EXPECT_EQ(readField(loaded.weights.data[0], i, 2), rows[rank][i]);
  }
}

TEST(WeightLoader, joinsThatDoNotFitAreRefused) {
  for (auto &[numbers, dim] : {std::pair(std::vector<uint32_t>{0, 1}, 0u),
                               {{0, 2}, 1u},
                               {{0, 3}, 1u},
                               {{0}, 1u},
                               {{0, 1}, 2u}}) {
    ProgramBuilder p({{"tp", 1}});
    auto two = p.constant(2), four = p.constant(4), six = p.constant(6);
    p.weight("a", Float32, {2, 4}, {p.whole(two), p.whole(four)},
             bytesOf(range(8)));
    p.weight("b", Float32, {2, 6}, {p.whole(two), p.whole(six)},
             bytesOf(range(12)));
    p.weight("c", artifact::ElementType_Int32, {2, 4},
             {p.whole(two), p.whole(four)}, bytesOf(range(8)));
    p.join(Float32, numbers, dim, {two, four});
    TestArtifact folder(p);
    Artifact artifact;
    const Status status = Artifact::open(folder.path(), {}, artifact);
    EXPECT_NE(status.message().find("join 0"), std::string::npos)
        << status.message();
  }
}

TEST(WeightLoader, misalignedAndAbsentWeights) {
  ProgramBuilder p({{"tp", 2}});
  auto c = p.coordinate(0), two = p.constant(2), three = p.constant(3);
  p.weight("odd", artifact::ElementType_UInt8, {3}, {p.whole(three)}, "abc");
  p.weight("w", Float32, {2, 3}, {p.whole(two), p.whole(three)},
           bytesOf(range(6)), static_cast<int32_t>(c));
  TestArtifact folder(p);
  Artifact artifact;
  ASSERT_TRUE(Artifact::open(folder.path(), {}, artifact).isOk());
  LoadedRank absent, present;
  ASSERT_TRUE(loadRank(artifact, 0, absent).isOk());
  ASSERT_TRUE(loadRank(artifact, 1, present).isOk());
  EXPECT_EQ(loadedSlice(absent, 1), std::vector<float>(6));
  EXPECT_EQ(loadedSlice(present, 1), range(6));
  EXPECT_EQ(present.slices.packedBytes, 24);
}

std::string safetensors(const nlohmann::json &header, const std::string &data) {
  std::string text = header.dump();
  uint64_t length = text.size();
  return std::string(reinterpret_cast<const char *>(&length), 8) + text + data;
}

ProgramBuilder splitRows() {
  ProgramBuilder p({{"tp", 2}});
  auto c = p.coordinate(0), two = p.constant(2), four = p.constant(4);
  p.weight("w", Float32, {4, 2}, {p.split(four, 2, c), p.whole(two)},
           bytesOf(range(8)));
  return p;
}

TEST(WeightLoader, readsCopiedWeights) {
  TestArtifact folder(splitRows());
  folder.manifest["weights"] = "copy";
  for (int rank = 0; rank < 2; ++rank)
    folder.addFile(
        "weights/rank-0000" + std::to_string(rank) + ".safetensors",
        safetensors({{"w",
                      {{"dtype", "F32"},
                       {"shape", {2, 2}},
                       {"data_offsets", {0, 16}}}}},
                    bytesOf(std::vector<float>{7, 8, 9, float(rank)})));
  Artifact artifact;
  Status status = Artifact::open(folder.path(), {}, artifact);
  ASSERT_TRUE(status.isOk()) << status.message();
  LoadedRank loaded;
  status = loadRank(artifact, 1, loaded);
  ASSERT_TRUE(status.isOk()) << status.message();
  EXPECT_EQ(loadedSlice(loaded, 0), (std::vector<float>{7, 8, 9, 1}));

  std::string name = folder.path("weights/rank-00000.safetensors");
  std::string whole = readFile(name);
  for (size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    writeFile(name, damaged);
    LoadedRank rank0;
    EXPECT_EQ(loadRank(artifact, 0, rank0).code(), StatusCode::Artifact);
  }
}

TEST(WeightLoader, copiedWeightsOfAnotherShape) {
  TestArtifact folder(splitRows());
  folder.manifest["weights"] = "copy";
  for (const char *header :
       {R"({"w":{"dtype":"F32","shape":[4,1],"data_offsets":[0,16]}})",
        R"({"w":{"dtype":"I32","shape":[2,2],"data_offsets":[0,16]}})",
        R"({"w":{"dtype":"F32","shape":[2,2],"data_offsets":[0,12]}})",
        R"({"w":{"dtype":"F32","shape":[2,2],"data_offsets":[8,24]}})",
        R"({"w":{"dtype":"F32","shape":[2,-2],"data_offsets":[0,16]}})",
        R"({"w":[]})", R"([])", R"({"w":)"}) {
    std::string name = "weights/rank-00000.safetensors";
    folder.manifest["files"].erase(folder.manifest["files"].begin() + 1,
                                   folder.manifest["files"].end());
    std::string text = header;
    uint64_t length = text.size();
    folder.addFile(name,
                   std::string(reinterpret_cast<const char *>(&length), 8) +
                       text + std::string(16, '\0'));
    Artifact artifact;
    ASSERT_TRUE(Artifact::open(folder.path(), {}, artifact).isOk());
    LoadedRank loaded;
    EXPECT_EQ(loadRank(artifact, 0, loaded).code(), StatusCode::Artifact)
        << header;
  }
}

} // namespace
} // namespace shardc::runtime
