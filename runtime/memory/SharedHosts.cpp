#include "runtime/memory/SharedHosts.h"

#include "runtime/base/Message.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <tuple>

namespace shardc::runtime {
namespace {

/// Of one kind, of one rank: sums of all kinds over 65,536 ranks do not overflow.
constexpr int64_t kMostAdded = int64_t{1} << 44;
constexpr size_t kMostNamed = 16;

/// A pool, and who takes of it.
struct Taken {
  MemoryPoolKind kind = MemoryPoolKind::Machine;
  int64_t free = INT64_MAX;
  NeededBytes needed = {};
  std::vector<int> ranks = {};

  int64_t left() const { return free - needed.bytes(); }
  /// Of KV caches, of which all who take of it have as many.
  int64_t positions() const {
    return needed.cachePosition > 0
               ? (left() + needed.caches) / needed.cachePosition
               : INT64_MAX;
  }
};

/// By kind and id; one that nobody else is known to share is a rank's own.
using PoolKey = std::tuple<MemoryPoolKind, uint64_t, int>;

PoolKey keyOf(const MemoryPool &pool, int rank) {
  return {pool.kind, pool.id, pool.id == 0 ? rank : -1};
}

std::span<const MemoryPool> poolsOf(const HostReport &report) {
  return std::span(report.pools).first(static_cast<size_t>(report.numPools));
}

using AllTaken = std::map<PoolKey, Taken>;

AllTaken addUp(std::span<const HostReport> reports) {
  AllTaken all;
  for (size_t rank = 0; rank < reports.size(); ++rank)
    for (const MemoryPool &pool : poolsOf(reports[rank])) {
      Taken &taken = all[keyOf(pool, static_cast<int>(rank))];
      taken.kind = pool.kind;
      taken.free = std::min(taken.free, pool.free);
      if (!taken.ranks.empty() && taken.ranks.back() == static_cast<int>(rank))
        continue; // it sees the pool at two places
      taken.needed += reports[rank].needed;
      taken.ranks.push_back(static_cast<int>(rank));
    }
  return all;
}

/// "2 ranks on node7 need 120 bytes of memory, of which SHARDC_HOST_MEMORY
/// leaves them 100: rank 0 60, rank 1 60; ..."
Status lacking(const Taken &taken, std::span<const HostReport> reports,
               const std::function<std::string(int)> &rankText) {
  std::string list;
  MemoryNeed all;
  all.isHost = true;
  all.number = 0;
  all.freeBytes = taken.free;
  int fit = 0;
  for (size_t i = 0; i < taken.ranks.size(); ++i) {
    const HostReport &report = reports[static_cast<size_t>(taken.ranks[i])];
    all.needed += report.needed;
    fit += all.needed.bytes() <= taken.free;
    if (i < kMostNamed)
      list += message(i ? ", " : "", rankText(taken.ranks[i]), ' ',
                      report.needed.bytes());
  }
  if (taken.ranks.size() > kMostNamed)
    list += ", ...";
  const auto count = static_cast<int>(taken.ranks.size());
  const HostReport &first = reports[static_cast<size_t>(taken.ranks[0])];
  std::string host(first.host, strnlen(first.host, sizeof first.host));
  std::replace_if(
      host.begin(), host.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  const char *owner =
      taken.kind == MemoryPoolKind::Machine ? "the machine"
      : taken.kind == MemoryPoolKind::Group
          ? "their control group (the limit of a container or a job)"
          : "SHARDC_HOST_MEMORY";
  return artifactError(count, count == 1 ? " rank" : " ranks", " on ",
                       host.empty() ? "one host" : host,
                       count == 1 ? " needs " : " need ", taken.needed.bytes(),
                       " bytes of memory, of which ", owner, " leaves ",
                       taken.free, " free: ", list, "; that is ", needText(all),
                       remedyFor(all, 0, fit), cacheText({&all, 1}, all));
}

bool isSound(const HostReport &report) {
  const NeededBytes &needed = report.needed;
  for (const int64_t bytes :
       {needed.weights, needed.values, needed.cachePosition, needed.caches})
    if (bytes < 0 || bytes > kMostAdded)
      return false;
  if (report.numPools < 0 || report.numPools > HostReport::kMostPools)
    return false;
  const std::span<const MemoryPool> pools = poolsOf(report);
  return std::all_of(pools.begin(), pools.end(), [](const MemoryPool &pool) {
    return pool.free >= 0 && pool.kind >= MemoryPoolKind::Machine &&
           pool.kind <= MemoryPoolKind::Setting;
  });
}

} // namespace

bool readReport(std::span<const std::byte> said, HostReport &report) {
  if (said.size() != sizeof report)
    return false;
  std::memcpy(&report, said.data(), sizeof report);
  return isSound(report);
}

HostReport reportOf(const NeededBytes &needed, const HostMemory &memory) {
  HostReport report;
  report.needed = {std::min(needed.weights, kMostAdded),
                   std::min(needed.values, kMostAdded),
                   std::min(needed.cachePosition, kMostAdded),
                   std::min(needed.caches, kMostAdded)};
  memory.name.copy(report.host, sizeof report.host - 1);
  const auto add = [&](const MemoryPool &pool) {
    if (report.numPools == HostReport::kMostPools)
      return;
    MemoryPool &said = report.pools[report.numPools++];
    said = pool;
    said.free = std::clamp<int64_t>(pool.free, 0, INT64_MAX / 2);
  };
  for (const bool isGroup : {false, true})
    for (const MemoryPool &pool : memory.pools)
      if ((pool.kind == MemoryPoolKind::Group) == isGroup)
        add(pool);
  return report;
}

Status shareHosts(std::span<const HostReport> reports,
                  const std::function<std::string(int)> &rankText,
                  std::vector<HostRoom> &rooms) {
  const AllTaken all = addUp(reports);
  const Taken *least = nullptr;
  for (const auto &[key, taken] : all)
    if (taken.needed.bytes() > 0 && (!least || taken.left() < least->left()))
      least = &taken;
  if (least && least->left() < 0)
    return lacking(*least, reports, rankText);
  // A request has as many positions on every rank.
  const Taken *shortest = nullptr;
  for (const auto &[key, taken] : all)
    if (taken.needed.cachePosition > 0 &&
        (!shortest || taken.positions() < shortest->positions()))
      shortest = &taken;
  rooms.assign(reports.size(), {});
  for (size_t rank = 0; rank < reports.size(); ++rank) {
    const Taken *least = shortest;
    for (const MemoryPool &pool : poolsOf(reports[rank])) {
      const Taken &taken = all.at(keyOf(pool, static_cast<int>(rank)));
      if (!shortest && (!least || taken.left() < least->left()))
        least = &taken;
    }
    if (!least)
      continue;
    rooms[rank] = {least->free, least->needed};
    rooms[rank].beside -= reports[rank].needed;
  }
  return Status::ok();
}

Status shareHosts(ControlExchange &control, const HostReport &mine,
                  const std::function<std::string(int)> &rankText,
                  HostRoom &room) {
  const auto bytesOf = [](const auto &said) {
    return std::as_bytes(std::span(&said, 1));
  };
  if (control.transport.rank() > 0) {
    // One that does not fit, rank 0 says so, and that is the answer.
    SHARDC_RETURN_IF_ERROR(control.ask(bytesOf(mine), sizeof room));
    const std::span<const std::byte> found = control.found();
    const bool isOne = found.size() == sizeof room;
    if (isOne)
      std::memcpy(&room, found.data(), sizeof room);
    control.release();
    return isOne ? Status::ok()
                 : artifactError("rank 0 does not say what room there is on "
                                 "this host; start the same shardrun on all "
                                 "machines");
  }
  SHARDC_RETURN_IF_ERROR(control.receiveAll());
  std::vector<HostReport> reports = {mine};
  for (Stream *other : control.others())
    if (!readReport(other->front().bytes, reports.emplace_back()))
      return artifactError(rankText(other->otherRank()),
                           " does not say what it needs of its host's memory; "
                           "start the same shardrun on all machines");
  std::vector<HostRoom> rooms;
  SHARDC_RETURN_IF_ERROR(shareHosts(reports, rankText, rooms));
  room = rooms[0];
  for (Stream *other : control.others())
    SHARDC_RETURN_IF_ERROR(control.answer(
        *other, bytesOf(rooms[static_cast<size_t>(other->otherRank())])));
  return Status::ok();
}

} // namespace shardc::runtime
