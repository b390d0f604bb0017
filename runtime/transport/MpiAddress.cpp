#include "runtime/transport/MpiAddress.h"

#include "runtime/base/Message.h"
#include "runtime/transport/Interfaces.h"
#include "runtime/transport/Socket.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>
#include <vector>

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

/// With the slash.
std::string folderOf(std::string file) {
  file.resize(file.rfind('/') + 1); // npos + 1 is 0
  return file;
}

/// Beside the library that this is in, in ../lib of the program, or where the
/// linker looks.
void *openPlugin(std::string &problem) {
  std::vector<std::string> folders;
  Dl_info here = {};
  if (dladdr(reinterpret_cast<void *>(&addressOverMpi), &here) != 0 &&
      here.dli_fname)
    folders.push_back(folderOf(here.dli_fname));
  char program[4096];
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program);
  if (length > 0)
    folders.push_back(folderOf({program, static_cast<size_t>(length)}) +
                      "../lib/");
  folders.push_back("");
  for (const std::string &folder : folders)
    if (void *plugin = dlopen((folder + "libshardrt_mpi.so").c_str(),
                              RTLD_NOW | RTLD_GLOBAL))
      return plugin;
    else if (const char *why = dlerror())
      problem = why;
  return nullptr;
}

} // namespace

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
        problem, "): install MPI (libopenmpi-dev) and build again", remedy);
  char text[1024] = {};
  const std::string mine = message(port, " ", ownAddressList(only));
  mine.copy(text, sizeof text - 1);
  int onOneMachine = 0;
  if (tell(text, sizeof text, &onOneMachine) != 0)
    return artifactError("MPI cannot be started", remedy);
  char *end = nullptr;
  place.port = static_cast<uint16_t>(std::strtol(text, &end, 10));
  place.host = onOneMachine || *end == '\0' ? "127.0.0.1" : end + 1;
  return Status::ok();
}

} // namespace shardc::runtime
