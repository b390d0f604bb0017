//===- CStatistics.cpp - What ranks have and did, from C ------------------===//

#include "runtime/api/CSession.h"
#include "runtime/memory/MemoryNeeds.h"

using namespace shardc::runtime;

struct shardrt_statistics {
  LaunchStats launches;
  std::vector<RankMemory> ranks;
  std::vector<CollectiveStats> collectives;
  std::vector<InstructionProfile> instructions;
  std::vector<MemoryNeed> needs;
  std::vector<StateMemory> caches;
  std::vector<std::string> notes[SHARDRT_HOST_INSTRUCTIONS + 1];
};

namespace {

Status createStatistics(const shardrt_session *session,
                        shardrt_statistics **into) {
  if (!session || !into)
    return argumentError(
        "shardrt_statistics_create: arguments must not be NULL");
  const Session &of = *session->session;
  SHARDC_RETURN_IF_ERROR(of.checkProcess());
  auto made = std::make_unique<shardrt_statistics>();
  made->launches = of.launchStats();
  made->ranks = of.rankMemory();
  made->collectives = of.collectiveStats();
  made->instructions = of.profile();
  made->needs = of.needs();
  made->caches = of.followedMemory();
  made->notes[SHARDRT_PLACEMENT] = of.placement();
  made->notes[SHARDRT_HOST_KERNELS] = of.hostKernels();
  made->notes[SHARDRT_HOST_INSTRUCTIONS] = of.hostInstructions();
  *into = made.release();
  return Status::ok();
}

/// The entry of `list` with that index as C has it: fill(from, to).
template <typename List, typename Info, typename Fill>
shardrt_status giveAt(const char *function, const char *type,
                      const shardrt_statistics *statistics,
                      const List shardrt_statistics::*list, size_t index,
                      Info *info, Fill fill) {
  return guarded([&] {
    if (!statistics || !info)
      return argumentError(function, ": arguments must not be NULL");
    const List &all = statistics->*list;
    if (index >= all.size())
      return argumentError(function, ": no index ", index, " of ", all.size());
    Info made = {};
    fill(all[index], made);
    return give(function, type, made, *info);
  });
}

template <typename List>
size_t countOf(const shardrt_statistics *statistics,
               const List shardrt_statistics::*list) {
  return statistics ? (statistics->*list).size() : 0;
}

/// Null where there are none of that kind.
const std::vector<std::string> *notesOf(const shardrt_statistics *statistics,
                                        shardrt_notes notes) {
  const auto kind = static_cast<size_t>(notes);
  return statistics && kind < std::size(statistics->notes)
             ? &statistics->notes[kind]
             : nullptr;
}

Status giveLaunches(const shardrt_statistics *statistics,
                    shardrt_launches *launches) {
  constexpr const char *kFunction = "shardrt_statistics_launches";
  if (!statistics || !launches)
    return argumentError(kFunction, ": arguments must not be NULL");
  const LaunchStats &of = statistics->launches;
  const shardrt_launches from = {0, of.launched, of.captured, of.updated,
                                 of.replayed};
  return give(kFunction, "shardrt_launches", from, *launches);
}

Status measureLimits(shardrt_session *session, shardrt_device_limits *limits) {
  constexpr const char *kFunction = "shardrt_measure_limits";
  if (!session || !limits)
    return argumentError(kFunction, ": arguments must not be NULL");
  DeviceLimits measured;
  SHARDC_RETURN_IF_ERROR(session->session->measureLimits(measured));
  const shardrt_device_limits from = {0, measured.bytesPerSecond,
                                      measured.multiplyAddsPerSecond};
  return give(kFunction, "shardrt_device_limits", from, *limits);
}

} // namespace

shardrt_status shardrt_statistics_create(const shardrt_session *session,
                                         shardrt_statistics **statistics) {
  return guarded([&] { return createStatistics(session, statistics); });
}

void shardrt_statistics_destroy(shardrt_statistics *statistics) {
  delete statistics;
}

shardrt_status shardrt_statistics_launches(const shardrt_statistics *statistics,
                                           shardrt_launches *launches) {
  return guarded([&] { return giveLaunches(statistics, launches); });
}

size_t shardrt_statistics_num_ranks(const shardrt_statistics *statistics) {
  return countOf(statistics, &shardrt_statistics::ranks);
}

shardrt_status shardrt_statistics_rank(const shardrt_statistics *statistics,
                                       size_t index,
                                       shardrt_rank_memory *memory) {
  return giveAt("shardrt_statistics_rank", "shardrt_rank_memory", statistics,
                &shardrt_statistics::ranks, index, memory,
                [](const RankMemory &from, shardrt_rank_memory &to) {
                  to.rank = from.rank;
                  to.weight_bytes = from.weightBytes;
                  to.packed_bytes = from.packedBytes;
                  to.loaded_bytes = from.loadedBytes;
                  to.arena_bytes = from.arenaBytes;
                  to.value_bytes = from.valueBytes;
                  to.arranged_bytes = from.arrangedBytes;
                });
}

size_t
shardrt_statistics_num_collectives(const shardrt_statistics *statistics) {
  return countOf(statistics, &shardrt_statistics::collectives);
}

shardrt_status
shardrt_statistics_collective(const shardrt_statistics *statistics,
                              size_t index, shardrt_collective *collective) {
  return giveAt("shardrt_statistics_collective", "shardrt_collective",
                statistics, &shardrt_statistics::collectives, index, collective,
                [](const CollectiveStats &from, shardrt_collective &to) {
                  to.kind = from.kind.c_str();
                  to.node = from.node.c_str();
                  to.group_size = from.groupSize;
                  to.bytes = from.bytes;
                  to.wire_bytes = from.wireBytes;
                });
}

size_t
shardrt_statistics_num_instructions(const shardrt_statistics *statistics) {
  return countOf(statistics, &shardrt_statistics::instructions);
}

shardrt_status
shardrt_statistics_instruction(const shardrt_statistics *statistics,
                               size_t index, shardrt_instruction *instruction) {
  return giveAt("shardrt_statistics_instruction", "shardrt_instruction",
                statistics, &shardrt_statistics::instructions, index,
                instruction,
                [](const InstructionProfile &from, shardrt_instruction &to) {
                  to.kernel = from.kernel.c_str();
                  to.node = from.node.c_str();
                  to.is_collective = from.isCollective;
                  to.runs = from.runs;
                  to.has_first = from.hasFirst;
                  to.milliseconds = from.milliseconds;
                  to.bytes = from.bytes;
                  to.multiply_adds = from.multiplyAdds;
                });
}

size_t shardrt_statistics_num_needs(const shardrt_statistics *statistics) {
  return countOf(statistics, &shardrt_statistics::needs);
}

shardrt_status shardrt_statistics_needs(const shardrt_statistics *statistics,
                                        size_t index,
                                        shardrt_rank_needs *needs) {
  return giveAt("shardrt_statistics_needs", "shardrt_rank_needs", statistics,
                &shardrt_statistics::needs, index, needs,
                [](const MemoryNeed &from, shardrt_rank_needs &to) {
                  to.rank = from.rank.c_str();
                  to.device = from.described.c_str();
                  to.weight_bytes = from.needed.weights;
                  to.value_bytes = from.needed.values;
                  to.cache_bytes = from.needed.caches;
                  to.cache_position_bytes = from.needed.cachePosition;
                  to.free_bytes = from.freeBytes;
                  to.is_host = from.isHost;
                });
}

size_t shardrt_statistics_num_caches(const shardrt_statistics *statistics) {
  return countOf(statistics, &shardrt_statistics::caches);
}

shardrt_status shardrt_statistics_cache(const shardrt_statistics *statistics,
                                        size_t index,
                                        shardrt_cache_memory *memory) {
  return giveAt("shardrt_statistics_cache", "shardrt_cache_memory", statistics,
                &shardrt_statistics::caches, index, memory,
                [](const StateMemory &from, shardrt_cache_memory &to) {
                  to.rank = from.rank;
                  to.committed_bytes = from.committedBytes;
                  to.reserved_bytes = from.reservedBytes;
                });
}

size_t shardrt_statistics_num_notes(const shardrt_statistics *statistics,
                                    shardrt_notes notes) {
  const auto *all = notesOf(statistics, notes);
  return all ? all->size() : 0;
}

const char *shardrt_statistics_note(const shardrt_statistics *statistics,
                                    shardrt_notes notes, size_t index) {
  const auto *all = notesOf(statistics, notes);
  return all && index < all->size() ? (*all)[index].c_str() : nullptr;
}

shardrt_status shardrt_measure_limits(shardrt_session *session,
                                      shardrt_device_limits *limits) {
  return guarded([&] { return measureLimits(session, limits); });
}

shardrt_status shardrt_write_trace(const shardrt_session *session,
                                   const char *path) {
  return guarded([&] {
    return session && path
               ? session->session->writeTrace(path)
               : argumentError(
                     "shardrt_write_trace: arguments must not be NULL");
  });
}
