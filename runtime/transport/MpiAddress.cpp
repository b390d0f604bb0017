#include "runtime/transport/MpiAddress.h"

#include "runtime/base/Hash.h"
#include "runtime/base/Message.h"
#include "runtime/transport/Interfaces.h"
#include "runtime/transport/PluginFile.h"
#include "runtime/transport/Socket.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

namespace shardc::runtime {
namespace {

/// All addresses at which other machines may reach this one, or that one.
std::string ownAddressList(const std::string &only) {
  std::string all = only;
  for (const InterfaceAddress &each : ownAddresses())
    if (only.empty())
      all += (all.empty() ? "" : ",") + each.address;
  return all;
}

void *openPlugin(std::string &problem) {
  return openPluginFile("libshardrt_mpi.so", problem);
}

} // namespace

void addressWithoutMpi(ProcessPlace &place) {
  std::string problem;
  if (!place.isLocal || place.job.empty() || openPlugin(problem))
    return;
  place.host = "127.0.0.1";
  place.port = portOfJob(XXH3_64bits(place.job.data(), place.job.size()));
}

Status addressOverMpi(uint16_t port, const std::string &only,
                      ProcessPlace &place) {
  const char *remedy = "; or give the address of rank 0 by hand: mpirun -x "
                       "SHARDC_RENDEZVOUS=HOST:PORT";
  std::string problem;
  void *plugin = openPlugin(problem);
  auto tell =
      plugin ? reinterpret_cast<MpiTell>(dlsym(plugin, kMpiTell)) : nullptr;
  if (!tell)
    return artifactError(
        "started by ", place.launcher, ", but libshardrt_mpi.so is not there (",
        problem,
        "): install the package libshardrt-mpi, or MPI (libopenmpi-dev) where "
        "shardrt is built",
        remedy);
  char text[1024] = {};
  const std::string mine = message(port, " ", ownAddressList(only));
  mine.copy(text, sizeof text - 1);
  int onOneMachine = 0;
  if (tell(text, sizeof text, &onOneMachine) != 0)
    return artifactError("MPI cannot be started, or has ended: processes that "
                         "it starts meet once",
                         remedy);
  char *end = nullptr;
  place.port = static_cast<uint16_t>(std::strtol(text, &end, 10));
  place.host = onOneMachine || *end == '\0' ? "127.0.0.1" : end + 1;
  return Status::ok();
}

} // namespace shardc::runtime
