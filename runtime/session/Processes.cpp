#include "runtime/session/Processes.h"

#include "runtime/base/Message.h"
#include "runtime/session/Settings.h"
#include "runtime/transport/StreamNumbers.h"
#include "runtime/transport/Transport.h"

#include <cstdlib>

namespace shardc::runtime {

Processes::Processes(std::unique_ptr<Transport> transport)
    : connected(std::move(transport)) {}

Processes::~Processes() {
  if (isInUse.load() || process.isForked())
    (void)connected.release(); // a thread that hangs still uses it, or is none
}

Status Processes::join(const ProcessOptions &options,
                       std::unique_ptr<Processes> &processes) {
  return withoutExceptions([&] {
    ProcessPlace place;
    if (options.place)
      place = *options.place;
    else
      SHARDC_RETURN_IF_ERROR(findProcessPlace(
          [](const char *name) { return std::getenv(name); }, place));
    processes.reset();
    if (place.isAlone())
      return Status::ok();
    TransportOptions settings;
    settings.timeout = options.timeout;
    SHARDC_RETURN_IF_ERROR(readTimeout(settings.timeout));
    SHARDC_RETURN_IF_ERROR(readHeartbeat(settings.silence));
    SHARDC_RETURN_IF_ERROR(readSharedMemory(settings.sharesMemory));
    SHARDC_RETURN_IF_ERROR(readNetwork(settings.network));
    if (const char *secret = std::getenv("SHARDC_JOB_SECRET"))
      settings.secret = secret;
    if (const char *interface = std::getenv("SHARDC_INTERFACE"))
      settings.interface = interface;
    std::unique_ptr<Transport> transport;
    SHARDC_RETURN_IF_ERROR(Transport::open(place, settings, transport));
    processes.reset(new Processes(std::move(transport)));
    return Status::ok();
  });
}

int Processes::rank() const { return connected->rank(); }
int Processes::size() const { return connected->size(); }

bool Processes::isSpeaker() const { return connected->isSpeaker(); }

Status Processes::conclude(const Status &status) {
  if (!status.isOk() && rank() != 0 && !connected->failed())
    return connected->abort(
        status.saying(message("rank ", rank(), ": ", status.message()))
            .at({.rank = rank()}));
  if (!status.isOk())
    return connected->abort(status);
  if (rank() == 0)
    return connected->failed() ? connected->failure() : Status::ok();
  return connected->waitForEnd(0);
}

Status Processes::enter(uint32_t &firstStream) {
  if (isInUse.exchange(true))
    return argumentError("the processes run one session at a time; close the "
                         "one that is open");
  constexpr uint32_t kStreamsOfSession = 1 << 20;
  firstStream = kTransferStreams + sessions.fetch_add(1) * kStreamsOfSession;
  return Status::ok();
}

void Processes::leave() { isInUse.store(false); }

} // namespace shardc::runtime
