//===- Settings.h - What the environment says -----------------------------===//
#ifndef SHARDC_RUNTIME_SESSION_SETTINGS_H
#define SHARDC_RUNTIME_SESSION_SETTINGS_H

#include "runtime/base/Message.h"
#include "runtime/transport/EngineOffer.h"

#include <chrono>
#include <exception>

namespace shardc::runtime {

/// SHARDC_TIMEOUT, or 60 s, where `timeout` is 0.
Status readTimeout(std::chrono::milliseconds &timeout);
/// SHARDC_THREADS, if it is set, where `threads` is 0.
Status readThreads(int &threads);
/// SHARDC_HEARTBEAT; without it `silence` stays.
Status readHeartbeat(std::chrono::milliseconds &silence);
/// SHARDC_SHARED_MEMORY; without it `isShared` stays.
Status readSharedMemory(bool &isShared);

/// SHARDC_NETWORK; without it `network` stays.
Status readNetwork(NetworkKind &network);

/// Runs `body`; what it throws (memory, threads) becomes a status.
template <typename Body> Status withoutExceptions(Body body) {
  try {
    return body();
  } catch (const std::exception &error) {
    return artifactError("out of memory or threads: ", error.what());
  } catch (...) { // whatever it is, it is not to end the process
    return artifactError("something was thrown that says nothing of itself");
  }
}

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_SESSION_SETTINGS_H
