//===- CInfo.cpp - What an artifact is, from C ----------------------------===//

#include "runtime/api/CSession.h"

#include "runtime/launch/SpentTimes.h"

using namespace shardc::runtime;

#define SHARDRT_TEXT_OF(number) #number
#define SHARDRT_TEXT(number) SHARDRT_TEXT_OF(number)

namespace {

Status giveValue(const char *function, const std::vector<TensorInfo> &infos,
                 const std::vector<std::vector<const char *>> &dims,
                 const std::vector<char> &isCache, size_t index,
                 shardrt_value_info &info) {
  if (index >= infos.size())
    return argumentError(function, ": no index ", index, " of ", infos.size());
  shardrt_value_info from = {};
  from.name = infos[index].name.c_str();
  from.type = infos[index].element;
  from.rank = static_cast<int32_t>(dims[index].size());
  from.dims = dims[index].data();
  from.is_cache = isCache[index];
  from.num_rows = infos[index].numRows;
  return give(function, "shardrt_value_info", from, info);
}

Status inputInfo(const shardrt_session *session, size_t index,
                 shardrt_value_info *info) {
  constexpr const char *kFunction = "shardrt_input_info";
  if (!session || !info)
    return argumentError(kFunction, ": arguments must not be NULL");
  const std::vector<TensorInfo> &inputs = session->session->inputs();
  std::vector<char> isCache(inputs.size(), 0);
  for (const CacheInfo &cache : session->session->caches())
    isCache[cache.input] = 1;
  return giveValue(kFunction, inputs, session->inputDims, isCache, index,
                   *info);
}

Status outputInfo(const shardrt_session *session, size_t index,
                  shardrt_value_info *info) {
  constexpr const char *kFunction = "shardrt_output_info";
  if (!session || !info)
    return argumentError(kFunction, ": arguments must not be NULL");
  return giveValue(kFunction, session->session->outputs(), session->outputDims,
                   keptOutputs(*session->session, /*keepsCaches=*/true), index,
                   *info);
}

Status sessionInfo(const shardrt_session *session, shardrt_session_info *info) {
  if (!session || !info)
    return argumentError("shardrt_info: arguments must not be NULL");
  const Session &of = *session->session;
  shardrt_session_info from = {};
  from.world_size = of.worldSize();
  from.num_stages = of.numStages();
  from.num_replicas = of.numReplicas();
  from.is_causal = of.isCausal();
  from.page = of.page();
  from.tolerance = of.tolerance().c_str();
  from.has_independent_rows = of.hasIndependentRows();
  return give("shardrt_info", "shardrt_session_info", from, *info);
}

Status spentAt(const shardrt_session *session, size_t index,
               shardrt_spent *spent) {
  constexpr const char *kFunction = "shardrt_spent_at";
  if (!session || !spent)
    return argumentError(kFunction, ": arguments must not be NULL");
  const SpentTimes &times = *session->session->spentTimes();
  if (index >= times.size())
    return argumentError(kFunction, ": no index ", index, " of ", times.size());
  const SpentTimes::Entry &entry = times.at(index);
  shardrt_spent from = {};
  from.kind = entry.kind.c_str();
  from.name = entry.name.c_str();
  from.seconds = static_cast<double>(entry.nanoseconds.load()) * 1e-9;
  from.count = entry.count.load();
  from.adders = entry.adders.load();
  return give(kFunction, "shardrt_spent", from, *spent);
}

} // namespace

const char *shardrt_version(void) {
  return SHARDRT_TEXT(SHARDRT_VERSION_MAJOR) "." SHARDRT_TEXT(
      SHARDRT_VERSION_MINOR) "." SHARDRT_TEXT(SHARDRT_VERSION_PATCH);
}

shardrt_status shardrt_input_info(const shardrt_session *session, size_t index,
                                  shardrt_value_info *info) {
  return guarded([&] { return inputInfo(session, index, info); });
}

shardrt_status shardrt_output_info(const shardrt_session *session, size_t index,
                                   shardrt_value_info *info) {
  return guarded([&] { return outputInfo(session, index, info); });
}

shardrt_status shardrt_info(const shardrt_session *session,
                            shardrt_session_info *info) {
  return guarded([&] { return sessionInfo(session, info); });
}

size_t shardrt_num_spent(const shardrt_session *session) {
  return session ? session->session->spentTimes()->size() : 0;
}

shardrt_status shardrt_spent_at(const shardrt_session *session, size_t index,
                                shardrt_spent *spent) {
  return guarded([&] { return spentAt(session, index, spent); });
}
