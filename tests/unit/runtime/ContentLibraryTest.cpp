//===- ContentLibraryTest.cpp - Shared objects known by their contents ----===//
#include "runtime/device/host/ContentLibrary.h"
#include "tests/unit/runtime/ProgramBuilder.h"

#include <dlfcn.h>
#include <filesystem>
#include <gtest/gtest.h>

namespace shardc::runtime {
namespace {

using test::readFile;

int answerOf(const std::shared_ptr<void> &library) {
  auto *answer =
      reinterpret_cast<int (*)()>(dlsym(library.get(), "shardc_test_answer"));
  return answer ? answer() : -1;
}

/// A model is compiled again while the first artifact is open.
TEST(ContentLibrary, anotherFileAtTheSamePathIsAnotherLibrary) {
  const std::string path = test::temporaryPath() + ".so";
  const std::string one = readFile(SHARDC_TEST_LIBRARIES "/libanswer1.so"),
                    two = readFile(SHARDC_TEST_LIBRARIES "/libanswer2.so");
  ASSERT_FALSE(one.empty() || two.empty() || one == two);
  std::shared_ptr<void> first, second, same;
  auto open = [&](const std::string &contents, std::shared_ptr<void> &handle) {
    test::writeFile(path, contents);
    Status status = openContentLibrary(path, contents, handle);
    ASSERT_TRUE(status.isOk()) << status.message();
  };
  open(one, first);
  open(two, second);
  EXPECT_EQ(answerOf(first), 1);
  EXPECT_EQ(answerOf(second), 2);
  open(one, same);
  EXPECT_EQ(same, first);
  first.reset();
  same.reset();
  for (int i = 0; i < 20; ++i) { // numbers of closed files come again
    open(i % 2 ? one : two, first);
    EXPECT_EQ(answerOf(first), i % 2 ? 1 : 2);
    first.reset();
  }
  // What was opened is what was looked at, whatever is at the path.
  std::shared_ptr<void> looked;
  test::writeFile(path, two);
  ASSERT_TRUE(openContentLibrary(path, one, looked).isOk());
  EXPECT_EQ(answerOf(looked), 1);
  std::filesystem::remove(path);
  EXPECT_FALSE(openContentLibrary(path, "no library", looked).isOk());
}

} // namespace
} // namespace shardc::runtime
