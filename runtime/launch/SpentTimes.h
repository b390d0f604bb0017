//===- SpentTimes.h - What ranks of this process have spent, and on what --===//
//
// Counters that ranks add to while they run and anybody may read, of a session
// as long as it lives, whichever ranks it had:
//
//   collective  "tp", "ep,tp"   in collectives over these axes of the mesh, with
//                               the waits for others in them
//   busy        "0"             of stage 0, in steps, but for the next entry
//   receive     "1"             of stage 1, waiting for values of other stages
//   active      ""              of a server's replicas: some step was under way
//
// Times of ranks are added up; those of the host, so that ranks on other devices,
// which only launch there, have none.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_LAUNCH_SPENTTIMES_H
#define SHARDC_RUNTIME_LAUNCH_SPENTTIMES_H

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace shardc::runtime {

class SpentTimes {
public:
  struct Entry {
    std::string kind, name;
    std::atomic<int64_t> nanoseconds = 0;
    std::atomic<int64_t> count = 0;
    std::atomic<int32_t> adders = 0; ///< now

    void add(int64_t spent) {
      nanoseconds.fetch_add(spent, std::memory_order_relaxed);
      count.fetch_add(1, std::memory_order_relaxed);
    }
  };

  /// The right to add to an entry.
  class Share {
  public:
    Share() = default;
    Share(std::shared_ptr<SpentTimes> times, Entry &entry)
        : times(std::move(times)), entry(&entry) {
      ++entry.adders;
    }
    ~Share() { reset(); }
    Share(Share &&other) noexcept
        : times(std::move(other.times)),
          entry(std::exchange(other.entry, nullptr)) {}
    Share &operator=(Share &&other) noexcept {
      reset();
      times = std::move(other.times);
      entry = std::exchange(other.entry, nullptr);
      return *this;
    }

    Entry *get() const { return entry; } ///< null: nobody counts
    void add(int64_t spent) const {
      if (entry)
        entry->add(spent);
    }

  private:
    void reset() {
      if (entry)
        --entry->adders;
      entry = nullptr;
    }
    std::shared_ptr<SpentTimes> times;
    Entry *entry = nullptr;
  };

  /// `times` may be null: a share that adds nowhere.
  static Share join(const std::shared_ptr<SpentTimes> &times,
                    const std::string &kind, const std::string &name) {
    return times ? Share(times, times->find(kind, name)) : Share();
  }

  size_t size() const {
    std::lock_guard lock(mutex);
    return entries.size();
  }
  /// Stays where it is. Precondition: there is one.
  const Entry &at(size_t index) const {
    std::lock_guard lock(mutex);
    return entries[index];
  }

  /// Nanoseconds of the steady clock.
  static int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

private:
  Entry &find(const std::string &kind, const std::string &name) {
    std::lock_guard lock(mutex);
    for (Entry &entry : entries)
      if (entry.kind == kind && entry.name == name)
        return entry;
    Entry &entry = entries.emplace_back();
    entry.kind = kind;
    entry.name = name;
    return entry;
  }

  mutable std::mutex mutex; ///< of the list, not of what is in it
  std::deque<Entry> entries;
};

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_LAUNCH_SPENTTIMES_H
