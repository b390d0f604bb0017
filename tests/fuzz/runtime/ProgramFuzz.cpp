//===- ProgramFuzz.cpp - Any manifest and program, up to what is run ------===//
//
// An artifact (Bundle.h) is opened: programs checked, weights found, plans
// bound, memory planned; and run with small inputs, by kernels that only touch
// what they get (FuzzKernels.h).
//
//===----------------------------------------------------------------------===//
#include "runtime/api/shardrt.hpp"
#include "runtime/artifact/BoundedJson.h"
#include "runtime/artifact/FormatVersion.h"
#include "runtime/base/Hash.h"
#include "tests/fuzz/runtime/Bundle.h"
#include "tests/fuzz/runtime/FuzzKernels.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

namespace shardc::fuzz {
namespace {

using namespace runtime;
using Json = nlohmann::json;

constexpr const char *kOtherFiles[] = {"constants.bin",
                                       "weights/rank-00000.safetensors",
                                       "weights/rank-00001.safetensors"};

/// In memory, and gone when the program ends well.
class Folder {
public:
  Folder() {
    char name[] = "/dev/shm/shardc-fuzz-XXXXXX";
    if (!mkdtemp(name))
      std::exit(2);
    path = name;
    std::filesystem::create_directory(path + "/weights");
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  void write(const std::string &file, const std::string &contents) const {
    std::ofstream(path + "/" + file, std::ios::binary) << contents;
  }
  std::string path;
};

void describe(Json &entry, const std::string &contents) {
  entry["bytes"] = contents.size();
  entry["hash"] = hashHex(contents.data(), contents.size());
}

/// The manifest with what lets it through to the rest; empty where it is none,
/// or for more ranks than a few threads.
std::string complete(const Bundle &bundle) {
  Json json = parseBoundedJson(bundle.manifest);
  if (!json.is_object() || !json["stages"].is_array() ||
      !json["files"].is_array() || !json["mesh"].is_array() ||
      json["stages"].size() > 4)
    return "";
  double ranks = 1;
  for (const Json &axis : json["mesh"])
    if (axis.is_object() && axis.contains("size") && axis["size"].is_number())
      ranks *= axis["size"].get<double>();
  if (ranks > 4)
    return "";
  for (Json &stage : json["stages"])
    if (stage.is_object()) {
      stage["program"] = "program";
      describe(stage, bundle.program);
    }
  for (Json &file : json["files"])
    if (file.is_object() && file.value("root", Json()) == "artifact")
      describe(file, bundle.rest);
  json["model_root"] = ".";
  json["format"] = artifact::kFormatVersion;
  json.erase("checksum");
  auto print = [&] {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  const std::string text = print();
  json["checksum"] = hashHex(text.data(), text.size());
  return print();
}

/// Inputs with that size wherever a dim is not fixed.
void runWith(Session &session, int64_t size) {
  std::vector<InputTensor> inputs;
  std::vector<std::vector<int64_t>> dims;
  static const std::vector<std::byte> zeros(1 << 16);
  for (const TensorInfo &input : session.inputs()) {
    std::vector<int64_t> &sizes = dims.emplace_back();
    double bytes = 8;
    for (const std::string &dim : input.dims) {
      char *end = nullptr;
      const long fixed = std::strtol(dim.c_str(), &end, 10);
      sizes.push_back(*end == '\0' && !dim.empty() ? fixed : size);
      bytes *= static_cast<double>(sizes.back());
    }
    if (!(bytes <= static_cast<double>(zeros.size())))
      return;
  }
  for (size_t i = 0; i < dims.size(); ++i)
    inputs.push_back({session.inputs()[i].name, session.inputs()[i].element,
                      dims[i], zeros.data()});
  std::vector<Tensor> outputs(session.outputs().size());
  (void)session.run(inputs, outputs);
  std::unique_ptr<State> state;
  if (!session.caches().empty() && session.createState(4, state).isOk())
    (void)session.run(*state, inputs, outputs);
}

void openAndRun(const std::string &path) {
  SessionOptions options;
  options.device = "host";
  options.timeout = std::chrono::milliseconds(2000);
  options.nativeCode = false;
  std::unique_ptr<Session> session;
  if (!Session::open(path, options, session).isOk())
    return;
  runWith(*session, 1);
  runWith(*session, 3);
}

/// Integers of a FlatBuffer are where they are: most changes leave them there.
void mutateProgram(std::string &program, std::minstd_rand &random) {
  if (program.size() < 8)
    return;
  const size_t words = program.size() / 4;
  for (size_t n = 1 + random() % 3; n > 0; --n) {
    uint32_t word = 0;
    char *at = program.data() + random() % words * 4;
    std::memcpy(&word, at, sizeof word);
    switch (random() % 5) {
    case 0:
      word += 1;
      break;
    case 1:
      word -= 1;
      break;
    case 2:
      word = static_cast<uint32_t>(random() % 32);
      break;
    case 3: // of another place
      std::memcpy(&word, program.data() + random() % words * 4, sizeof word);
      break;
    default:
      word ^= uint32_t{1} << random() % 32;
    }
    std::memcpy(at, &word, sizeof word);
  }
}

void mutateText(std::string &text) {
  const size_t size = text.size();
  text.resize(size + 64);
  text.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t *>(text.data()), size,
                               text.size()));
}

} // namespace
} // namespace shardc::fuzz

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t most, unsigned seed) {
  using namespace shardc::fuzz;
  std::minstd_rand random(seed);
  Bundle bundle = Bundle::read(data, size);
  switch (random() % 8) {
  case 0:
    mutateText(bundle.manifest);
    break;
  case 1:
    mutateText(bundle.rest);
    break;
  case 2:
    mutateText(bundle.program);
    break;
  default:
    mutateProgram(bundle.program, random);
  }
  const std::string all = bundle.write();
  const size_t kept = std::min(all.size(), most);
  std::memcpy(data, all.data(), kept);
  return kept;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace shardc;
  static const fuzz::Folder folder;
  const fuzz::Bundle bundle = fuzz::Bundle::read(data, size);
  const std::string manifest = fuzz::complete(bundle);
  if (manifest.empty())
    return 0;
  runtime::AlignedBuffer program;
  if (!program.allocate(static_cast<int64_t>(bundle.program.size()) + 1))
    return 0;
  std::memcpy(program.data(), bundle.program.data(), bundle.program.size());
  flatbuffers::Verifier verifier(
      reinterpret_cast<const uint8_t *>(program.data()), bundle.program.size());
  if (artifact::VerifyProgramBuffer(verifier))
    fuzz::registerKernels(*artifact::GetProgram(program.data()));
  folder.write("manifest.json", manifest);
  folder.write("program", bundle.program);
  for (const char *file : fuzz::kOtherFiles)
    folder.write(file, bundle.rest);
  fuzz::openAndRun(folder.path);
  return 0;
}
