//===- shardrt_statistics.hpp - What there is, and what runs took ---------===//
//
// A part of shardrt.hpp, which includes it: include that.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDRT_STATISTICS_HPP
#define SHARDRT_STATISTICS_HPP

#include "shardrt.hpp"

namespace shardrt {

namespace detail {
/// All that `get` has for indices below `count`.
template <typename Info, typename Of, typename Get>
std::vector<Info> listed(const Of *of, std::size_t count, Get get) {
  std::vector<Info> all;
  for (std::size_t i = 0; i < count; ++i) {
    Info info = {};
    info.size = sizeof info;
    if (get(of, i, &info) == SHARDRT_OK)
      all.push_back(info);
  }
  return all;
}
} // namespace detail

/// Devices of this machine, as they were.
class Devices {
public:
  static Status create(Devices &devices) {
    shardrt_devices *made = nullptr;
    Status status = shardrt_devices_create(&made);
    devices.it.reset(made);
    return status;
  }
  /// Texts are this list's.
  std::vector<shardrt_device_info> all() const {
    return detail::listed<shardrt_device_info>(
        it.get(), shardrt_num_devices(it.get()), shardrt_device_at);
  }

private:
  detail::Owned<shardrt_devices, shardrt_devices_destroy> it;
};

/// What ranks of this process have and did, as it was then; texts of what it
/// gives are its own.
class Statistics {
public:
  static Status create(const Session &session, Statistics &statistics) {
    shardrt_statistics *made = nullptr;
    Status status = shardrt_statistics_create(session.it.get(), &made);
    statistics.it.reset(made);
    return status;
  }
  shardrt_launches launches() const {
    shardrt_launches all = {};
    all.size = sizeof all;
    if (shardrt_statistics_launches(it.get(), &all) != SHARDRT_OK)
      return {};
    return all;
  }
  std::vector<shardrt_rank_memory> ranks() const {
    return detail::listed<shardrt_rank_memory>(
        it.get(), shardrt_statistics_num_ranks(it.get()),
        shardrt_statistics_rank);
  }
  std::vector<shardrt_collective> collectives() const {
    return detail::listed<shardrt_collective>(
        it.get(), shardrt_statistics_num_collectives(it.get()),
        shardrt_statistics_collective);
  }
  std::vector<shardrt_instruction> instructions() const {
    return detail::listed<shardrt_instruction>(
        it.get(), shardrt_statistics_num_instructions(it.get()),
        shardrt_statistics_instruction);
  }
  std::vector<shardrt_rank_needs> needs() const {
    return detail::listed<shardrt_rank_needs>(
        it.get(), shardrt_statistics_num_needs(it.get()),
        shardrt_statistics_needs);
  }
  std::vector<shardrt_cache_memory> caches() const {
    return detail::listed<shardrt_cache_memory>(
        it.get(), shardrt_statistics_num_caches(it.get()),
        shardrt_statistics_cache);
  }
  std::vector<std::string> notes(shardrt_notes kind) const {
    std::vector<std::string> all(shardrt_statistics_num_notes(it.get(), kind));
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = shardrt_statistics_note(it.get(), kind, i);
    return all;
  }

private:
  detail::Owned<shardrt_statistics, shardrt_statistics_destroy> it;
};

} // namespace shardrt

#endif // SHARDRT_STATISTICS_HPP
