#include "runtime/artifact/FormatVersion.h"
#include "runtime/base/Hash.h"
#include "tests/unit/runtime/ProgramBuilder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace fs = std::filesystem;

namespace shardc::test {

std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void writeFile(const std::string &path, const std::string &contents) {
  std::ofstream(path, std::ios::binary) << contents;
}

std::string temporaryPath() {
  static std::atomic<int> count = 0;
  return testing::TempDir() + "shardrt-" + std::to_string(getpid()) + "-" +
         std::to_string(count++);
}

TestArtifact::TestArtifact(const ProgramBuilder &program)
    : folder(temporaryPath()) {
  fs::create_directories(folder);
  manifest = {{"format", artifact::kFormatVersion},
              {"tool", "test"},
              {"tolerance", "f32"},
              {"model_root", "."},
              {"weights", "reference"},
              {"mesh", nlohmann::json::array()},
              {"files", nlohmann::json::array()},
              {"stages", nlohmann::json::array()}};
  for (const auto &[name, size] : program.axes)
    manifest["mesh"].push_back({{"name", name}, {"size", size}});
  addProgram(program);
  addFile("constants.bin", program.constants);
}

TestArtifact::~TestArtifact() {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

std::string TestArtifact::path(const std::string &file) const {
  return file.empty() ? folder : folder + "/" + file;
}

void TestArtifact::addProgram(const ProgramBuilder &program, int stage) {
  const std::string bytes = program.finish();
  const std::string file =
      "stage" + std::to_string(manifest["stages"].size()) + ".program";
  writeFile(path(file), bytes);
  manifest["stages"].push_back(
      {{"program", file},
       {"stage", stage},
       {"bytes", bytes.size()},
       {"hash", runtime::hashHex(bytes.data(), bytes.size())}});
  writeManifest();
}

void TestArtifact::addFile(const std::string &file,
                           const std::string &contents) {
  fs::create_directories(fs::path(path(file)).parent_path());
  writeFile(path(file), contents);
  manifest["files"].push_back(
      {{"path", file},
       {"root", "artifact"},
       {"bytes", contents.size()},
       {"hash", runtime::hashHex(contents.data(), contents.size())}});
  writeManifest();
}

void TestArtifact::writeManifest() {
  manifest.erase("checksum");
  std::string rest = manifest.dump();
  manifest["checksum"] = runtime::hashHex(rest.data(), rest.size());
  writeFile(path("manifest.json"), manifest.dump(1));
}

} // namespace shardc::test
