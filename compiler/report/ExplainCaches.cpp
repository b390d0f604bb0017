//===- ExplainCaches.cpp - What KV caches take ----------------------------===//

#include "compiler/report/Explain.h"
#include "dialects/onnx/FunctionInfo.h"

#include "dialects/rt/Rt.h"

#include <nlohmann/json.hpp>

#include <map>

using namespace mlir;
using Json = nlohmann::json;

namespace shardc::report {

/// Bytes of each cache of a rank, by its input, with room for `capacity`
/// positions and at least for those of the request. Programs share them.
static std::optional<std::map<int64_t, int64_t>>
cachesOf(ModuleOp module, SymbolValues dims, const dist::Mesh &mesh,
         int64_t rank, int64_t capacity) {
  dims[*rt::cacheCapacity().asSymbol()] = capacity;
  std::map<int64_t, int64_t> caches;
  for (rt::ProgramOp program : module.getOps<rt::ProgramOp>()) {
    if (mesh.coordinateAlong(rank, dist::kPipelineAxis) !=
        onnx::FunctionInfo(program).stage())
      continue;
    for (rt::CacheOp cache : program.getOps<rt::CacheOp>()) {
      auto alloc = cache.getBuffer().getDefiningOp<rt::AllocOp>();
      if (!alloc) // of past that comes in; another program makes it
        continue;
      const std::optional<int64_t> bytes =
          evaluate(alloc.getBytes().getValues()[0], dims, mesh, rank);
      if (!bytes)
        return std::nullopt;
      int64_t &most = caches[cache.getInput()];
      most = std::max(most, *bytes);
    }
  }
  return caches;
}

static std::optional<int64_t>
totalOf(const std::optional<std::map<int64_t, int64_t>> &caches) {
  if (!caches)
    return std::nullopt;
  int64_t total = 0;
  for (const auto &[input, bytes] : *caches)
    total += bytes;
  return total;
}

void explainCaches(ModuleOp module, const SymbolValues &dims, Json &report) {
  const dist::Mesh &mesh = *dist::getMesh(module).getMesh().getMesh();
  // More than a request has: room is then what the capacity says.
  constexpr int64_t kMany = int64_t{1} << 32;
  // Of a step of rows what there is one more of is a page.
  int64_t page = 1;
  for (rt::ProgramOp program : module.getOps<rt::ProgramOp>())
    page = std::max(page, onnx::FunctionInfo(program).page());
  for (Json &entry : report["ranks"]) {
    const int64_t rank = entry["rank"].get<int64_t>();
    auto bytesFor = [&](int64_t capacity) {
      return totalOf(cachesOf(module, dims, mesh, rank, capacity));
    };
    const std::optional<int64_t> now = bytesFor(0), many = bytesFor(kMany),
                                 more = bytesFor(kMany + 1);
    entry["kv_bytes"] = now ? Json(*now) : Json(nullptr);
    entry["kv_bytes_per_position"] =
        many && more ? Json((*more - *many) / page) : Json(nullptr);
  }
}

} // namespace shardc::report
