//===- ScratchFolder.cpp - Folders that go with the process ---------------===//

#include "compiler/files/ScratchFolder.h"

#include "llvm/Support/Signals.h"

#include <csignal>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace shardc::files {

namespace {

/// Never destroyed: a signal may come while the process ends.
struct Registry {
  std::mutex mutex;
  std::set<std::string> folders;
};

Registry &registry() {
  static auto &made = *new Registry;
  return made;
}

/// Waits for one of the signals, which all threads block.
void waitForSignal(sigset_t signals) {
  int signal = 0;
  while (sigwait(&signals, &signal) != 0) {
  }
  // Held until the end, so that nobody makes another one.
  registry().mutex.lock();
  for (const std::string &folder : registry().folders) {
    // Other threads still write into it.
    std::error_code error;
    for (int attempt = 0; attempt < 100; ++attempt)
      if (std::filesystem::remove_all(folder, error); !error)
        break;
  }
  llvm::sys::RunInterruptHandlers(); // files that LLVM watches over
  std::signal(signal, SIG_DFL);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  kill(getpid(), signal);
}

} // namespace

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!folder.empty())
    std::filesystem::remove_all(folder, ignored);
  release();
}

std::string ScratchFolder::create(const std::string &prefix, bool isPrivate) {
  std::lock_guard<std::mutex> lock(registry().mutex);
  for (unsigned i = 0; i < 1000; ++i) {
    folder = prefix + std::to_string(getpid()) + "-" + std::to_string(i);
    if (mkdir(folder.c_str(), isPrivate ? 0700 : 0777) == 0) {
      registry().folders.insert(folder);
      return "";
    }
    if (errno != EEXIST)
      break;
  }
  folder.clear();
  return std::strerror(errno);
}

void ScratchFolder::release() {
  std::lock_guard<std::mutex> lock(registry().mutex);
  registry().folders.erase(folder);
  folder.clear();
}

void removeScratchOnSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now = {};
    sigaction(signal, nullptr, &now);
    if (now.sa_handler != SIG_IGN) // nohup
      sigaddset(&signals, signal);
  }
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread(waitForSignal, signals).detach();
}

} // namespace shardc::files
