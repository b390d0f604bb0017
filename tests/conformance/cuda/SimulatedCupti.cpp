//===- SimulatedCupti.cpp - The calls of CUPTI ----------------------------===//
//
// A library beside the simulated CUDA, which tells it of its work when it is
// there. As with CUPTI, records come in buffers of the one who asked, ids of
// instructions are on a stack of each thread and told of calls that are noted
// only, and the clock is another one.
//
//===----------------------------------------------------------------------===//
#include "tests/conformance/cuda/SimulatedCupti.h"

#include <atomic>
#include <chrono>
#include <cupti.h>
#include <mutex>
#include <set>
#include <variant>
#include <vector>

namespace {

using Record =
    std::variant<CUpti_ActivityKernel10, CUpti_ActivityMemcpy6,
                 CUpti_ActivityAPI, CUpti_ActivityExternalCorrelation>;

std::mutex mutex;
std::vector<Record *> finished; // never freed: who reads them keeps names
std::set<CUpti_ActivityKind> enabled;
CUpti_BuffersCallbackRequestFunc provideBuffer;
CUpti_BuffersCallbackCompleteFunc readBuffer;
std::atomic<uint32_t> lastCorrelation{0};
thread_local std::vector<uint64_t> ids;

template <typename Activity> Activity &add(CUpti_ActivityKind kind) {
  auto *record = new Record(Activity{});
  auto &activity = std::get<Activity>(*record);
  activity.kind = kind;
  std::lock_guard lock(mutex);
  if (enabled.count(kind))
    finished.push_back(record);
  return activity;
}

bool isEnabled(CUpti_ActivityKind kind) {
  std::lock_guard lock(mutex);
  return enabled.count(kind) > 0;
}

} // namespace

extern "C" {

uint64_t simulatedCuptiTime() {
  constexpr std::chrono::hours kApart{1000};
  return static_cast<uint64_t>(
      (std::chrono::steady_clock::now().time_since_epoch() + kApart) /
      std::chrono::nanoseconds(1));
}

uint32_t simulatedCuptiEnqueue() {
  const uint32_t correlation = ++lastCorrelation;
  if (!isEnabled(CUPTI_ACTIVITY_KIND_RUNTIME))
    return correlation;
  add<CUpti_ActivityAPI>(CUPTI_ACTIVITY_KIND_RUNTIME).correlationId =
      correlation;
  if (!ids.empty()) {
    auto &record = add<CUpti_ActivityExternalCorrelation>(
        CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
    record.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
    record.externalId = ids.back();
    record.correlationId = correlation;
  }
  return correlation;
}

void simulatedCuptiDone(uint32_t correlation, const char *kernel,
                        uint64_t begin, uint64_t end) {
  if (!kernel) {
    auto &copy = add<CUpti_ActivityMemcpy6>(CUPTI_ACTIVITY_KIND_MEMCPY);
    copy.correlationId = correlation;
    copy.start = begin;
    copy.end = end;
    return;
  }
  auto &record =
      add<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  record.correlationId = correlation;
  record.name = kernel;
  record.start = begin;
  record.end = end;
}

CUptiResult cuptiGetVersion(uint32_t *version) {
  *version = CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t *timestamp) {
  *timestamp = simulatedCuptiTime();
  return CUPTI_SUCCESS;
}

CUptiResult
cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc provide,
                               CUpti_BuffersCallbackCompleteFunc read) {
  provideBuffer = provide;
  readBuffer = read;
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  std::lock_guard lock(mutex);
  enabled.insert(kind);
  return CUPTI_SUCCESS;
}

/// A buffer has the addresses of its records.
CUptiResult cuptiActivityFlushAll(uint32_t) {
  std::vector<Record *> all;
  {
    std::lock_guard lock(mutex);
    all.swap(finished);
  }
  for (size_t at = 0; at < all.size();) {
    uint8_t *buffer = nullptr;
    size_t size = 0, most = 0, count = 0;
    provideBuffer(&buffer, &size, &most);
    auto *places = reinterpret_cast<Record **>(buffer);
    for (; at < all.size() && (count + 1) * sizeof(Record *) <= size; ++count)
      places[count] = all[at++];
    readBuffer(nullptr, 0, buffer, size, count * sizeof(Record *));
  }
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t bytes,
                                       CUpti_Activity **record) {
  auto **places = reinterpret_cast<Record **>(buffer);
  const size_t count = bytes / sizeof(Record *);
  auto addressOf = [](Record *place) {
    return std::visit(
        [](auto &it) { return reinterpret_cast<CUpti_Activity *>(&it); },
        *place);
  };
  size_t next = 0;
  while (*record && addressOf(places[next++]) != *record)
    ;
  if (next == count)
    return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = addressOf(places[next]);
  return CUPTI_SUCCESS;
}

CUptiResult
cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind,
                                       uint64_t id) {
  ids.push_back(id);
  return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind,
                                                  uint64_t *last) {
  if (ids.empty())
    return CUPTI_ERROR_QUEUE_EMPTY;
  *last = ids.back();
  ids.pop_back();
  return CUPTI_SUCCESS;
}

} // extern "C"
