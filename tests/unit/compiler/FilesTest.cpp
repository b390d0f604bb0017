//===- FilesTest.cpp - Files and folders that appear at once --------------===//

#include "compiler/files/OutputFile.h"
#include "compiler/files/SourceFile.h"
#include "compiler/files/StagingFolder.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <unistd.h>

using namespace shardc::files;
namespace fs = std::filesystem;

namespace {

class Files : public testing::Test {
protected:
  Files() {
    std::string name = (fs::temp_directory_path() / "files-XXXXXX").string();
    folder = mkdtemp(name.data());
  }
  ~Files() override { fs::remove_all(folder); }

  static void write(const fs::path &path, const std::string &text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  static std::string read(const fs::path &path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  size_t numEntries() const {
    return std::distance(fs::directory_iterator(folder),
                         fs::directory_iterator());
  }

  fs::path folder;
};

TEST_F(Files, aFileIsReplaced) {
  write(folder / "a", "old");
  EXPECT_FALSE(writeFileAtomically((folder / "a").string(),
                                   [](auto &os) { os << "new"; }));
  EXPECT_EQ(read(folder / "a"), "new");
  EXPECT_EQ(numEntries(), 1u);
}

TEST_F(Files, aLinkIsFollowed) {
  write(folder / "a", "old");
  fs::create_symlink(folder / "a", folder / "b");
  EXPECT_FALSE(writeFileAtomically((folder / "b").string(),
                                   [](auto &os) { os << "new"; }));
  EXPECT_TRUE(fs::is_symlink(folder / "b"));
  EXPECT_EQ(read(folder / "a"), "new");
}

TEST_F(Files, aFullDeviceIsBeyondThePath) {
  const std::error_code full =
      writeFileAtomically("/dev/full", [](auto &os) { os << "text"; });
  EXPECT_EQ(full, std::errc::no_space_on_device);
  EXPECT_TRUE(isBeyondPath(full));
  const std::error_code nowhere = writeFileAtomically(
      (folder / "no" / "file").string(), [](auto &os) { os << "text"; });
  EXPECT_EQ(nowhere, std::errc::no_such_file_or_directory);
  EXPECT_FALSE(isBeyondPath(nowhere));
  EXPECT_EQ(numEntries(), 0u);
}

TEST_F(Files, aFolderTakesItsPlace) {
  {
    StagingFolder staging(folder / "x" / "y" / "out");
    ASSERT_EQ(staging.create(), "");
    write(staging.path() / "a", "text");
    ASSERT_EQ(staging.publish(), "");
  }
  EXPECT_EQ(read(folder / "x" / "y" / "out" / "a"), "text");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "x" / "y"),
                          fs::directory_iterator()),
            1);
}

TEST_F(Files, aFolderThatIsNotPublishedGoes) {
  {
    StagingFolder staging(folder / "x" / "out");
    ASSERT_EQ(staging.create(), "");
    write(staging.path() / "a", "text");
  }
  EXPECT_EQ(numEntries(), 0u); // nor does x stay, which was made for it
}

TEST_F(Files, foldersChangePlaces) {
  for (const bool atOnce : {true, false}) {
    write(folder / "from" / "a", "new");
    write(folder / "to" / "b", "old");
    ASSERT_FALSE(exchange(folder / "from", folder / "to", atOnce));
    EXPECT_EQ(read(folder / "to" / "a"), "new");
    EXPECT_EQ(read(folder / "from" / "b"), "old");
    EXPECT_EQ(numEntries(), 2u);
    fs::remove_all(folder / "from");
    fs::remove_all(folder / "to");
  }
}

TEST_F(Files, whatAnotherOneFillsStays) {
  StagingFolder first(folder / "out"), second(folder / "out");
  ASSERT_EQ(first.create(), "");
  fs::create_directory(folder / "out.partial.999999999-0"); // of a dead one
  ASSERT_EQ(second.create(), "");
  EXPECT_NE(first.path(), second.path());
  EXPECT_TRUE(fs::exists(first.path()));
  EXPECT_EQ(numEntries(), 2u);
  write(first.path() / "a", "first");
  write(second.path() / "a", "second");
  ASSERT_EQ(first.publish(), "");
  ASSERT_EQ(second.publish(), "");
  EXPECT_EQ(read(folder / "out" / "a"), "second");
}

TEST_F(Files, partsAreReadAndNothingBehindTheEnd) {
  write(folder / "a", "0123456789");
  SourceFile source(folder / "a");
  source.readsLittle();
  std::string part(4, ' ');
  EXPECT_EQ(source.read(6, {part.data(), part.size()}), "");
  EXPECT_EQ(part, "6789");
  EXPECT_EQ(source.read(7, {part.data(), part.size()}),
            "it ends before its weights do");
}

TEST_F(Files, whatIsNotThereIsSaidEachTime) {
  SourceFile source(folder / "none");
  source.readsLittle();
  char byte = 0;
  for (int time : {1, 2})
    EXPECT_EQ(source.read(0, {&byte, 1}), "No such file or directory") << time;
}

} // namespace
