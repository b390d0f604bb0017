#include "runtime/device/cuda/trace/CuptiTrace.h"

#if !__has_include(<cupti.h>)

namespace shardc::runtime {
CuptiTrace *CuptiTrace::start() { return nullptr; }
} // namespace shardc::runtime

#else

#include "runtime/base/Message.h"
#include "runtime/device/cuda/trace/CuptiLibrary.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cxxabi.h>
#include <mutex>
#include <unordered_map>

namespace shardc::runtime {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;

/// "cutlass::Kernel<float>" of a kernel's symbol.
std::string readableName(const char *symbol) {
  if (!symbol)
    return "kernel";
  int status = 0;
  char *readable = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
  std::string name = status == 0 && readable ? readable : symbol;
  std::free(readable);
  // Parameters say little, and take a line each.
  return name.substr(0, name.rfind('('));
}

class Collector final : public CuptiTrace {
public:
  bool open() {
    if (!library.open())
      return false;
    collector = this; // CUPTI's callbacks get no pointer
    if (library.registerCallbacks(provideBuffer, readBuffer) != CUPTI_SUCCESS)
      return false;
    // Ids are told of calls that are noted (cupti_activity.h, at
    // cuptiActivityPushExternalCorrelationId), so calls are noted: of the
    // runtime, and of the driver, which libraries may call.
    for (CUpti_ActivityKind kind :
         {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, CUPTI_ACTIVITY_KIND_RUNTIME,
          CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
          CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET})
      if (library.enable(kind) != CUPTI_SUCCESS)
        return false;
    return true;
  }

  void push(uint64_t id) override {
    (void)library.pushId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, id);
  }
  void pop() override {
    uint64_t last = 0;
    (void)library.popId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last);
  }

  Status take(uint64_t firstId, uint64_t count,
              std::vector<DeviceActivity> &activities) override {
    if (library.flushAll(0) != CUPTI_SUCCESS)
      return artifactError("CUPTI does not say what the GPU did; run without "
                           "--trace and --profile");
    const int64_t ahead = hostIsAhead();
    std::lock_guard lock(mutex);
    const auto isTaken = [&](uint64_t id) {
      return id >= firstId && id - firstId < count;
    };
    std::erase_if(records, [&](const Record &record) {
      const auto found = ids.find(record.correlation);
      if (found == ids.end())
        return true; // nobody will ask for it
      if (!isTaken(found->second))
        return false;
      activities.push_back({readableName(record.name), found->second - firstId,
                            record.begin + ahead, record.end + ahead});
      return true;
    });
    // A call may have several records, or none.
    std::erase_if(ids, [&](const auto &id) { return isTaken(id.second); });
    return Status::ok();
  }

private:
  struct Record {
    uint32_t correlation;
    const char *name; ///< CUPTI keeps it
    int64_t begin, end;
  };

  static void CUPTIAPI provideBuffer(uint8_t **buffer, size_t *bytes,
                                     size_t *mostRecords) {
    *bytes = kBufferBytes;
    *buffer = static_cast<uint8_t *>(std::aligned_alloc(8, kBufferBytes));
    *mostRecords = 0; // as many as there is room for
  }
  /// By a thread of CUPTI's.
  static void CUPTIAPI readBuffer(CUcontext, uint32_t, uint8_t *buffer, size_t,
                                  size_t bytes) {
    CUpti_Activity *record = nullptr;
    {
      std::lock_guard lock(collector->mutex);
      while (collector->library.getNextRecord(buffer, bytes, &record) ==
             CUPTI_SUCCESS)
        collector->add(*record);
    }
    std::free(buffer);
  }

  void add(const CUpti_Activity &record) {
    auto note = [&](const auto &activity, const char *name) {
      records.push_back({activity.correlationId, name,
                         static_cast<int64_t>(activity.start),
                         static_cast<int64_t>(activity.end)});
    };
    switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
      auto &id =
          reinterpret_cast<const CUpti_ActivityExternalCorrelation &>(record);
      ids[id.correlationId] = id.externalId;
      break;
    }
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      auto &kernel = reinterpret_cast<const CUpti_ActivityKernel10 &>(record);
      note(kernel, kernel.name);
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      note(reinterpret_cast<const CUpti_ActivityMemcpy6 &>(record), "copy");
      break;
    case CUPTI_ACTIVITY_KIND_MEMSET:
      note(reinterpret_cast<const CUpti_ActivityMemset4 &>(record), "set");
      break;
    default:
      break;
    }
  }

  /// What the host's steady clock has more than CUPTI's.
  int64_t hostIsAhead() const {
    uint64_t now = 0;
    (void)library.getTimestamp(&now);
    return std::chrono::steady_clock::now().time_since_epoch() /
               std::chrono::nanoseconds(1) -
           static_cast<int64_t>(now);
  }

  static inline Collector *collector = nullptr;
  CuptiLibrary library = {};
  std::mutex mutex; ///< of what follows
  std::vector<Record> records;
  std::unordered_map<uint32_t, uint64_t> ids; ///< by correlation
};

} // namespace

CuptiTrace *CuptiTrace::start() {
  // Never destroyed: CUPTI may call until the process ends.
  static Collector *const collector = [] {
    auto *created = new Collector;
    return created->open() ? created : nullptr;
  }();
  return collector;
}

} // namespace shardc::runtime

#endif
