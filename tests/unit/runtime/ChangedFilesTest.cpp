//===- ChangedFilesTest.cpp - Files that others write to meanwhile --------===//
#include "runtime/base/Hash.h"
#include "runtime/base/MappedFile.h"
#include "tests/unit/runtime/SessionFixture.h"

#include <filesystem>
#include <fstream>
#include <sys/stat.h>

namespace fs = std::filesystem;

namespace shardc::runtime {
namespace {

using namespace test;

constexpr int64_t kLong = 4096; // several pages

/// y = w + w, on one rank.
ProgramBuilder readingWeight() {
  ProgramBuilder p({{"tp", 1}});
  auto n = p.symbol("n", 0, 0), size = p.constant(kLong);
  p.input("x", Float32, {p.whole(n)});
  auto w = p.weight("w", Float32, {kLong}, {p.whole(size)},
                    bytesOf(std::vector<float>(kLong, 1)));
  auto y = p.value(Float32, {size});
  p.run("TestAdd", {int32_t(w), int32_t(w)}, {int32_t(y)});
  p.output("y", y, {p.whole(size)});
  return p;
}

bool has(const Status &status, const std::string &part) {
  return status.message().find(part) != std::string::npos;
}

TEST(ChangedFiles, endARunWithAMessage) {
  const Floats x({1}, {1});
  auto openAndChange = [&](auto change) {
    TestArtifact artifact(readingWeight());
    OpenSession s(artifact);
    EXPECT_TRUE(s.run({x.as("x")}).isOk());
    EXPECT_EQ(s.floats(0)[0], 2);
    change(artifact.path("constants.bin"));
    return s.run({x.as("x")});
  };
  // In place: the bytes are other ones now.
  Status status = openAndChange([](const std::string &path) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.put('x');
  });
  EXPECT_EQ(status.code(), StatusCode::Artifact);
  EXPECT_TRUE(has(status, "constants.bin was changed")) << status.message();
  EXPECT_TRUE(has(status, "open the artifact again")) << status.message();
  // Its pages are gone: the kernel must not meet SIGBUS.
  status = openAndChange(
      [](const std::string &path) { fs::resize_file(path, 100); });
  EXPECT_TRUE(has(status, "constants.bin was")) << status.message();
  // Another file in its place is none of the session's.
  status = openAndChange([](const std::string &path) {
    writeFile(path + ".new", "other");
    fs::rename(path + ".new", path);
  });
  EXPECT_TRUE(status.isOk()) << status.message();
}

TEST(ChangedFiles, whatIsCutShortReadsAsZerosAndIsNoted) {
  const std::string path = temporaryPath();
  writeFile(path, std::string(3 * 4096, 'a'));
  MappedFile file, other;
  ASSERT_TRUE(MappedFile::open(path, file).isOk());
  EXPECT_TRUE(file.checkUnchanged().isOk());
  fs::resize_file(path, 10);
  const auto *at = reinterpret_cast<const volatile char *>(file.data());
  EXPECT_EQ(at[2 * 4096 + 5], 0);
  EXPECT_EQ(at[4096], 0);
  EXPECT_EQ(at[0], 'a');
  EXPECT_TRUE(has(file.checkUnchanged(), "was cut short"));
  // Whoever maps something else afterwards starts afresh.
  file = MappedFile();
  writeFile(path, std::string(3 * 4096, 'b'));
  ASSERT_TRUE(MappedFile::open(path, other).isOk());
  EXPECT_TRUE(other.checkUnchanged().isOk());
  EXPECT_EQ(static_cast<char>(other.bytes()[2 * 4096]), 'b');
  fs::remove(path);
}

TEST(ChangedFilesDeathTest, otherBusErrorsAreAsBefore) {
  const std::string path = temporaryPath();
  writeFile(path, std::string(4096, 'a'));
  MappedFile watched;
  ASSERT_TRUE(MappedFile::open(path, watched).isOk());
  EXPECT_EXIT(raise(SIGBUS), testing::KilledBySignal(SIGBUS), "");
  fs::remove(path);
}

/// Nobody ever writes into the pipe.
TEST(ChangedFiles, aPipeInPlaceOfAFileIsAnError) {
  const std::string path = temporaryPath();
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  MappedFile file;
  Status status = MappedFile::open(path, file);
  EXPECT_TRUE(has(status, path + " is not a regular file"));
  std::string text;
  EXPECT_TRUE(has(readSmallFile(path, 100, text), "is not a regular file"));
  EXPECT_TRUE(has(fingerprintFile(path, text), "is not a regular file"));
  fs::remove(path);
  TestArtifact artifact(readingWeight());
  for (const char *name :
       {"manifest.json", "stage0.program", "constants.bin"}) {
    const std::string at = artifact.path(name), before = readFile(at);
    fs::remove(at);
    std::unique_ptr<Session> session;
    status = Session::open(artifact.path(), {}, session);
    EXPECT_TRUE(has(status, "; ")) << "a remedy: " << status.message();
    ASSERT_EQ(mkfifo(at.c_str(), 0600), 0);
    status = Session::open(artifact.path(), {}, session);
    EXPECT_TRUE(has(status, std::string(name) + " is not a regular file"))
        << status.message();
    fs::remove(at);
    writeFile(at, before);
  }
}

} // namespace
} // namespace shardc::runtime
