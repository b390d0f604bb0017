//===- ArtifactTest.cpp - A reader never trusts ---------------------------===//
#include "runtime/artifact/Artifact.h"

#include "runtime/base/Hash.h"
#include "tests/unit/runtime/SessionFixture.h"

#include <array>
#include <filesystem>

namespace shardc::runtime {
namespace {

using namespace test;

ProgramBuilder smallProgram() {
  ProgramBuilder p({{"tp", 2}});
  auto two = p.constant(2), c = p.coordinate(0);
  auto n = p.symbol("n", 0, 0);
  auto x = p.input("x", Float32, {p.whole(n)});
  auto w = p.weight("w", Float32, {2}, {p.split(two, 2, c)},
                    bytesOf(std::vector<float>{1, 2}));
  auto y = p.value(Float32, {p.constant(1)});
  p.run("TestAdd", {int32_t(w), int32_t(w)}, {int32_t(y)});
  p.output("y", y, {p.split(two, 2, c)});
  (void)x;
  return p;
}

/// Opens and runs; whatever happens, it must not crash.
Status openAndRun(const TestArtifact &artifact, std::vector<float> &result) {
  std::unique_ptr<Session> session;
  SHARDC_RETURN_IF_ERROR(Session::open(artifact.path(), {}, session));
  Floats x({5, 6}, {2});
  std::vector<Tensor> outputs(session->outputs().size());
  InputTensor input = x.as("x");
  SHARDC_RETURN_IF_ERROR(session->run({&input, 1}, outputs));
  result.assign(outputs.at(0).as<float>(),
                outputs[0].as<float>() + outputs[0].numElements());
  return Status::ok();
}

TEST(Artifact, opensAndRuns) {
  TestArtifact artifact(smallProgram());
  std::vector<float> result;
  Status status = openAndRun(artifact, result);
  ASSERT_TRUE(status.isOk()) << status.message();
  EXPECT_EQ(result, (std::vector<float>{2, 4}));
}

/// Every byte of every file changed, and every length cut short.
TEST(Artifact, anyDamageIsAnErrorOrHarmless) {
  TestArtifact artifact(smallProgram());
  for (const char *name :
       {"manifest.json", "stage0.program", "constants.bin"}) {
    const std::string whole = readFile(artifact.path(name));
    auto tryWith = [&](const std::string &contents, const std::string &what) {
      writeFile(artifact.path(name), contents);
      std::vector<float> result;
      Status status = openAndRun(artifact, result);
      if (!status.isOk()) {
        EXPECT_EQ(status.code(), StatusCode::Artifact) << name << what;
        return;
      }
      EXPECT_EQ(std::string(name), "manifest.json") << what;
      EXPECT_EQ(result, (std::vector<float>{2, 4})) << name << what;
    };
    for (size_t i = 0; i < whole.size(); ++i) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << (i % 8)));
      tryWith(damaged, " byte " + std::to_string(i));
    }
    for (size_t length = 0; length < whole.size(); length += 7)
      tryWith(whole.substr(0, length), " length " + std::to_string(length));
    tryWith(whole + "x", " longer");
    writeFile(artifact.path(name), whole);
  }
}

TEST(Artifact, aManifestNestedWithoutEndIsNoArtifact) {
  TestArtifact artifact(smallProgram());
  for (size_t depth : {40ul, 500'000ul}) {
    const std::string open(depth, '['), close(depth, ']');
    writeFile(artifact.path("manifest.json"),
              "{\"format\":8,\"checksum\":\"\",\"a\":" + open + close + "}");
    std::vector<float> result;
    Status status = openAndRun(artifact, result);
    EXPECT_EQ(status.code(), StatusCode::Artifact);
    EXPECT_NE(status.message().find("manifest.json: is not a JSON object"),
              std::string::npos)
        << status.message();
  }
}

TEST(Artifact, nativeCodeStaysOutWhereItMayNotRun) {
  TestArtifact artifact(smallProgram());
  SessionOptions options;
  options.nativeCode = false;
  std::unique_ptr<Session> session;
  EXPECT_TRUE(Session::open(artifact.path(), options, session).isOk());
  artifact.manifest["kernels"]["rows_Add_1"] = {
      {"inputs", 1},
      {"slots", 0},
      {"mixes_columns", false},
      {"operands",
       {{{"element", "Float32"}, {"per", "column"}},
        {{"element", "Float32"}, {"per", "column"}}}}};
  artifact.writeManifest();
  Status status = Session::open(artifact.path(), options, session);
  EXPECT_EQ(status.code(), StatusCode::Artifact);
  for (const char *part : {"rows_Add_1", "--kernels reference", "--no-kernels"})
    EXPECT_NE(status.message().find(part), std::string::npos)
        << status.message();
}

/// Products of 64 bits, and sums of these, that are 0 in 128.
TEST(Artifact, viewsBeyondAllNumbersAreFound) {
  auto runs = [](int64_t dim, int64_t stride, int64_t times, int64_t offset) {
    ProgramBuilder p({{"tp", 1}});
    auto n = p.symbol("n", 0, 0), one = p.constant(1);
    auto x = p.input("x", Float32, {p.whole(n)});
    std::vector<uint32_t> dims(size_t(times), p.constant(dim)),
        strides(size_t(times), p.constant(stride));
    auto far = p.view(x, dims, strides, p.constant(offset));
    auto y = p.value(Float32, {one});
    p.run("TestFail", {int32_t(far)}, {int32_t(y)});
    p.output("y", y, {p.whole(one)});
    TestArtifact artifact(p);
    std::vector<float> result;
    return openAndRun(artifact, result);
  };
  constexpr int64_t kHuge = int64_t{1} << 61;
  for (const auto &[dim, stride, times, offset] :
       std::vector<std::array<int64_t, 4>>{
           {kHuge, kHuge + 1, 1, 0},      // 2^122 elements of 64 bits
           {INT64_MAX, INT64_MAX, 8, 0},  // 2^129
           {INT64_MAX, -INT64_MAX, 8, 0}, //
           {kHuge, 0, 4, 0},              // 2^244 times the same one
           {2, kHuge, 1, INT64_MAX},      //
           {1, 1, 1, INT64_MIN}}) {
    const Status status = runs(dim, stride, times, offset);
    EXPECT_EQ(status.code(), StatusCode::Artifact)
        << dim << " " << stride << " " << times;
    EXPECT_NE(status.message().find("view "), std::string::npos)
        << status.message();
  }
}

TEST(Artifact, anotherVersionIsExplained) {
  TestArtifact artifact(smallProgram());
  artifact.manifest["format"] = 99;
  artifact.writeManifest();
  std::vector<float> result;
  Status status = openAndRun(artifact, result);
  EXPECT_EQ(status.code(), StatusCode::Artifact);
  EXPECT_NE(status.message().find("format 99"), std::string::npos);
}

TEST(Artifact, pathsStayInTheirFolder) {
  for (const char *path :
       {"../stage0.program", "/etc/passwd", "a/../../b", ""}) {
    TestArtifact artifact(smallProgram());
    artifact.manifest["stages"][0]["program"] = path;
    artifact.writeManifest();
    std::vector<float> result;
    EXPECT_EQ(openAndRun(artifact, result).code(), StatusCode::Artifact);
  }
}

TEST(Artifact, isNoArtifact) {
  std::unique_ptr<Session> session;
  EXPECT_EQ(Session::open("/nowhere", {}, session).code(),
            StatusCode::Artifact);
  EXPECT_EQ(Session::open(testing::TempDir(), {}, session).code(),
            StatusCode::Artifact);
}

/// The weight lies in a "model file" beside the artifact.
struct ModelFile {
  TestArtifact artifact{smallProgram()};
  std::string root = artifact.path("model");
  std::string file = root + "/model.onnx";

  ModelFile() {
    std::filesystem::create_directories(root);
    std::string contents = readFile(artifact.path("constants.bin"));
    writeFile(file, contents);
    std::string fingerprint;
    EXPECT_TRUE(fingerprintFile(file, fingerprint).isOk());
    artifact.manifest["model_root"] = "model";
    artifact.manifest["files"][0] = {{"path", "model.onnx"},
                                     {"root", "model"},
                                     {"bytes", contents.size()},
                                     {"fingerprint", fingerprint}};
    artifact.writeManifest();
  }
};

TEST(Artifact, weightsByReference) {
  ModelFile model;
  std::vector<float> result;
  Status status = openAndRun(model.artifact, result);
  ASSERT_TRUE(status.isOk()) << status.message();
  EXPECT_EQ(result, (std::vector<float>{2, 4}));

  // Moved: --weights-root finds them again.
  std::string elsewhere = model.artifact.path("elsewhere");
  std::filesystem::rename(model.root, elsewhere);
  status = openAndRun(model.artifact, result);
  EXPECT_EQ(status.code(), StatusCode::Artifact);
  EXPECT_NE(status.message().find("--weights-root"), std::string::npos);
  std::unique_ptr<Session> session;
  SessionOptions options;
  options.weightsRoot = elsewhere;
  EXPECT_TRUE(Session::open(model.artifact.path(), options, session).isOk());
}

TEST(Artifact, changedWeightsAreFound) {
  for (const std::string &contents :
       {bytesOf(std::vector<float>{1, 3}), bytesOf(std::vector<float>{1, 2, 3}),
        std::string()}) {
    ModelFile model;
    writeFile(model.file, contents);
    std::vector<float> result;
    Status status = openAndRun(model.artifact, result);
    EXPECT_EQ(status.code(), StatusCode::Artifact);
    EXPECT_NE(status.message().find("weights changed since compile"),
              std::string::npos);
    EXPECT_NE(status.message().find("model.onnx"), std::string::npos);
  }
}

TEST(Artifact, fingerprintSeesBothEnds) {
  std::string path = temporaryPath();
  std::string contents(3 * 64 * 4096, 'a'), before, after;
  writeFile(path, contents);
  ASSERT_TRUE(fingerprintFile(path, before).isOk());
  EXPECT_EQ(before.size(), 32u);
  for (size_t at : {size_t{0}, contents.size() - 1}) {
    std::string changed = contents;
    changed[at] = 'b';
    writeFile(path, changed);
    ASSERT_TRUE(fingerprintFile(path, after).isOk());
    EXPECT_NE(before, after);
  }
  std::remove(path.c_str());
}

} // namespace
} // namespace shardc::runtime
