//===- ImportFuzz.cpp - Any bytes as an ONNX model, up to `partitioned` ---===//
//
// The version of the model says for how many ranks: it means nothing else.
//
//===----------------------------------------------------------------------===//
#include "compiler/import/Import.h"
#include "tests/fuzz/whole/Phases.h"

#include "onnx/onnx_pb.h"

#include <cstdlib>

namespace shardc::fuzz {
namespace {

void choosePlan(int64_t number, Compiler &compiler) {
  const auto use = [&](std::initializer_list<dist::Axis> axes) {
    compiler.mesh.axes.assign(axes);
  };
  switch (number % 8) {
  case 1:
    return use({{"pp", 2}, {"tp", 2}});
  case 2:
    compiler.sequenceParallel = true;
    return use({{"tp", 2}});
  case 3:
    return use({{"cp", 2}});
  case 4:
    compiler.contextMode = "ulysses";
    return use({{"cp", 2}, {"tp", 2}});
  case 5:
    return use({{"ep", 2}});
  case 6:
    return use({{"dp", 2}, {"tp", 3}});
  case 7:
    return use({{"tp", 4}});
  default:
    return use({{"tp", 2}});
  }
}

/// What was imported is split, or replicated with a warning, or refused where
/// it is cut into stages: what fails behind that is a bug.
void compileAll(const Folder &folder, int64_t plan) {
  Compiler compiler;
  choosePlan(plan, compiler);
  auto module =
      importer::importOnnx(compiler.context, folder.path + "/model.onnx");
  if (!module)
    return compiler.expectError();
  if (compiler.run(*module, "imported", "imported"))
    (void)compiler.run(*module, "sharded", "partitioned");
}

} // namespace
} // namespace shardc::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace shardc::fuzz;
  static const Folder folder;
  folder.write("model.onnx", {reinterpret_cast<const char *>(data), size});
  onnx::ModelProto model;
  const bool isModel = model.ParseFromArray(data, static_cast<int>(size));
  compileAll(folder, isModel ? model.model_version() & 7 : 0);
  return 0;
}
