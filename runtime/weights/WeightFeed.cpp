#include "runtime/weights/WeightFeed.h"

#include "runtime/base/Message.h"
#include "runtime/base/QuietThread.h"
#include "runtime/launch/HostThreads.h"
#include "runtime/launch/LoadProgress.h"

#include <chrono>
#include <exception>
#include <system_error>

namespace shardc::runtime {
namespace {

int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

} // namespace

WeightFeed::~WeightFeed() {
  closing = true;
  if (thread.joinable())
    thread.join();
}

Status WeightFeed::start() {
  SHARDC_RETURN_IF_ERROR(device.createStream(stream));
  stream->owner = place.text + ": ";
  // std::thread reports a failure by an exception only; it ends here.
  try {
    thread = quietThread([this] { run(); });
  } catch (const std::system_error &error) {
    return artifactError("cannot start the thread that loads the weights of ",
                         place.text, ": ", error.what());
  }
  return Status::ok();
}

/// Nothing throws by design; running out of memory may.
void WeightFeed::run() {
  Status status;
  try {
    setHostThreads(place.hostThreads);
    status = bring();
  } catch (const std::exception &error) {
    status = artifactError(error.what());
  } catch (...) { // onWeight is its caller's
    status = artifactError("onWeight threw");
  }
  if (status.isOk())
    arrivals.reach(place.stage, place.rank, WeightArrivals::kAll);
  else
    arrivals.fail(artifactError(place.text, ": ", status.message())
                      .at({.rank = place.worldRank}));
}

Status WeightFeed::bring() {
  if (Status status = weights.bring(device, *stream, place.readsFiles, *this);
      !status.isOk())
    return at.empty() ? status : artifactError(at, ": ", status.message());
  return place.check();
}

Status WeightFeed::begins(const ComingSlice &slice, uint64_t end) {
  if (closing)
    return artifactError("the session was closed");
  at = place.describe(slice, end);
  const std::string name = place.name(slice, end);
  if (place.onWeight)
    place.onWeight(name);
  endTiming();
  if (place.measures)
    times.push_back({name, now(), 0});
  return Status::ok();
}

void WeightFeed::read(int64_t bytes) {
  if (place.progress)
    place.progress->add(bytes);
}

/// What is read next begins where the one before it ends.
void WeightFeed::endTiming() {
  if (!times.empty() && times.back().end == 0)
    times.back().end = now();
}

Status WeightFeed::sent(uint64_t step, DeviceStream &on, DeviceEvent &event) {
  {
    std::lock_guard lock(mutex);
    SHARDC_RETURN_IF_ERROR(on.record(event));
    latest = &event;
  }
  endTiming();
  arrivals.reach(place.stage, place.rank, step);
  return Status::ok();
}

void WeightFeed::arrived(uint64_t step) {
  {
    std::lock_guard lock(mutex);
    latest = nullptr;
  }
  endTiming();
  arrivals.reach(place.stage, place.rank, step);
}

Status WeightFeed::order(DeviceStream &behind) {
  std::lock_guard lock(mutex);
  return latest ? behind.wait(*latest) : Status::ok();
}

Status WeightGate::passUntil(uint64_t step, DeviceStream &stream,
                             const RunFailure &failure) {
  if (passed >= step)
    return Status::ok();
  SHARDC_RETURN_IF_ERROR(arrivals->await(stage, step, &failure));
  passed = step;
  return feed->order(stream);
}

Status WeightGate::pass(uint32_t index, int other, DeviceStream &stream,
                        const RunFailure &failure) {
  SHARDC_RETURN_IF_ERROR(passUntil(firstStep + index + 1, stream, failure));
  // What comes from a stage goes through all before it, too.
  for (int from = other < stage ? 0 : other; from <= other; ++from)
    SHARDC_RETURN_IF_ERROR(arrivals->await(
        from, programEnds[static_cast<size_t>(from)], &failure));
  return Status::ok();
}

} // namespace shardc::runtime
