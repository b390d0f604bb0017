//===- PluginTest.cpp - Plugins that cannot be used, and why --------------===//
#include "tests/conformance/backend/BackendFixture.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace shardc::test {
namespace {

using namespace runtime;

std::string refused(const std::string &kind) {
  return std::string(SHARDC_REFUSED_PLUGINS) + "/libshardrt_" + kind + ".so";
}

/// The message with which that file is refused.
std::string refusalOf(const std::string &path) {
  Backend *backend = nullptr;
  Status status = openPlugin(path, backend);
  EXPECT_EQ(status.code(), StatusCode::Artifact);
  EXPECT_EQ(backend, nullptr);
  return status.message();
}

void expectContains(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(Plugin, missingFileIsNamed) {
  const std::string path = refused("nowhere");
  const std::string text = refusalOf(path);
  expectContains(text, path + ": cannot be opened: ");
  expectContains(text, "No such file or directory");
}

TEST(Plugin, fileThatIsNoLibrary) {
  const std::string path = testing::TempDir() + "libshardrt_text.so";
  std::ofstream(path) << "no library\n";
  expectContains(refusalOf(path), path + ": cannot be opened: ");
  std::filesystem::remove(path);
}

TEST(Plugin, libraryThatItNeedsIsNamed) {
  const std::string text = refusalOf(refused("orphan"));
  expectContains(text, "libshardrt_gone.so: cannot open shared object file");
  expectContains(text, "; install what is missing");
}

TEST(Plugin, libraryWithoutEntry) {
  expectContains(refusalOf(refused("no_entry")),
                 "is no plugin of this runtime: it has no shardrtPlugin");
}

TEST(Plugin, otherVersionSaysBoth) {
  expectContains(refusalOf(refused("wrong_version")),
                 "is a plugin of version " +
                     std::to_string(kPluginVersion + 1) + ", expected " +
                     std::to_string(kPluginVersion) +
                     "; build runtime and plugin together");
}

TEST(Plugin, otherHeaders) {
  expectContains(refusalOf(refused("wrong_layout")),
                 "was built with other headers than this runtime");
}

TEST(Plugin, noBackend) {
  expectContains(refusalOf(refused("no_backend")), "has no backend");
}

class PluginSearch : public testing::Test {
protected:
  void SetUp() override {
    if (const char *before = std::getenv("SHARDC_BACKENDS"))
      saved = before;
  }
  void TearDown() override { setenv("SHARDC_BACKENDS", saved.c_str(), 1); }
  std::string saved;
};

TEST_F(PluginSearch, nameThatNoFolderHas) {
  setenv("SHARDC_BACKENDS", SHARDC_REFUSED_PLUGINS, 1);
  Backend *backend = nullptr;
  Status status = findBackend("nowhere", backend);
  EXPECT_EQ(status.code(), StatusCode::Artifact);
  expectContains(status.message(),
                 "there is no backend 'nowhere': libshardrt_nowhere.so is not "
                 "in " SHARDC_REFUSED_PLUGINS);
}

TEST_F(PluginSearch, libraryOfAnotherBackend) {
  setenv("SHARDC_BACKENDS", SHARDC_REFUSED_PLUGINS, 1);
  Backend *backend = nullptr;
  Status status = findBackend("other_name", backend);
  EXPECT_FALSE(status.isOk());
  expectContains(status.message(), "is the backend 'somebody_else', expected "
                                   "'other_name'");
}

TEST_F(PluginSearch, namesThatAreNone) {
  Backend *backend = nullptr;
  for (const char *name : {"", "../cuda", "CUDA", "a b"}) {
    Status status = findBackend(name, backend);
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument) << name;
  }
}

TEST_F(PluginSearch, listsWhatLiesThere) {
  setenv("SHARDC_BACKENDS", SHARDC_REFUSED_PLUGINS, 1);
  const std::vector<std::string> names = listPlugins();
  for (const char *name : {"wrong_version", "no_entry", "orphan"})
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  EXPECT_EQ(std::find(names.begin(), names.end(), "mpi"), names.end());
}

TEST(Plugin, theHostNeedsNone) {
  Backend *backend = nullptr;
  ASSERT_OK(findBackend("host", backend));
  EXPECT_EQ(backend, &hostBackend());
}

} // namespace
} // namespace shardc::test
