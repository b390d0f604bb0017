#include "runtime/transport/EngineOffer.h"

#include "runtime/base/Message.h"
#include "runtime/transport/Neighbours.h"
#include "runtime/transport/PluginFile.h"

#include <cstdlib>
#include <dlfcn.h>
#include <sys/random.h>
#include <unistd.h>

namespace shardc::runtime {
namespace {

constexpr uint32_t kMaxAddress = 64 * 1024;

const char *nameOf(NetworkKind kind) {
  return kind == NetworkKind::Ucx ? "ucx" : "tcp";
}

Status receiveOffer(const Socket &peer, size_t rank, Deadline deadline,
                    EngineOffer &offer, std::string &address) {
  if (!peer.receiveAll(&offer, sizeof offer, deadline))
    return diedWhileMeeting(rank);
  if (offer.addressBytes > kMaxAddress)
    return artifactError("rank ", rank, " has an address of ",
                         offer.addressBytes, " bytes");
  address.resize(offer.addressBytes);
  return peer.receiveAll(address.data(), address.size(), deadline)
             ? Status::ok()
             : diedWhileMeeting(rank);
}

/// UCX has a thread of its own, which a child that is forked lacks: it would
/// wait for it for ever.
Status checkNotForked() {
  static const pid_t first = getpid();
  return first == getpid()
             ? Status::ok()
             : artifactError("SHARDC_NETWORK is ucx, and a process that this "
                             "one was forked from has used it: start ranks as "
                             "programs of their own (exec)");
}

} // namespace

Status openEngine(NetworkKind kind, MessageSink &sink,
                  std::unique_ptr<MessageEngine> &engine) {
  if (kind == NetworkKind::Tcp)
    return Status::ok();
  SHARDC_RETURN_IF_ERROR(checkNotForked());
  // The process's signals and its allocator are its own, unless the user wants
  // UCX to see them. Read when the library is opened.
  setenv("UCX_ERROR_SIGNALS", "", 0);
  setenv("UCX_MEM_MMAP_HOOK_MODE", "none", 0);
  setenv("UCX_MEM_MALLOC_HOOKS", "no", 0);
  std::string problem;
  void *plugin = openPluginFile("libshardrt_ucx.so", problem);
  auto open = plugin
                  ? reinterpret_cast<OpenMessageEngine>(dlsym(plugin, kOpenUcx))
                  : nullptr;
  if (open)
    engine.reset(open(sink, problem));
  return engine
             ? Status::ok()
             : artifactError("SHARDC_NETWORK is ucx, but it cannot be used (",
                             problem,
                             "): install UCX (libucx-dev) and build again, "
                             "or leave SHARDC_NETWORK out");
}

Status connectEngine(NetworkKind kind, MessageEngine *engine,
                     const std::vector<Socket> &peers,
                     const std::vector<std::unique_ptr<PeerFile>> &files,
                     Deadline deadline) {
  const size_t size = peers.size();
  const auto isDistant = [&](size_t rank) {
    return peers[rank].isOpen() && !files[rank];
  };
  const std::string none, &mine = engine ? engine->address() : none;
  std::vector<uint64_t> tokens(size);
  for (size_t rank = 0; rank < size; ++rank) {
    if (!isDistant(rank))
      continue;
    if (engine &&
        getrandom(&tokens[rank], sizeof tokens[rank], 0) != sizeof tokens[rank])
      return artifactError("the system has no random bytes");
    const EngineOffer offer{kind, static_cast<uint32_t>(mine.size()),
                            tokens[rank]};
    if (!peers[rank].sendAll(&offer, sizeof offer, deadline) ||
        !peers[rank].sendAll(mine.data(), mine.size(), deadline))
      return diedWhileMeeting(rank);
  }
  for (size_t rank = 0; rank < size; ++rank) {
    if (!isDistant(rank))
      continue;
    EngineOffer theirs;
    std::string address;
    SHARDC_RETURN_IF_ERROR(
        receiveOffer(peers[rank], rank, deadline, theirs, address));
    if (theirs.kind != kind)
      return artifactError("SHARDC_NETWORK is ", nameOf(kind), " here, and ",
                           nameOf(theirs.kind), " at rank ", rank,
                           ": expected the same everywhere");
    if (engine)
      SHARDC_RETURN_IF_ERROR(engine->connect(static_cast<int>(rank), address,
                                             theirs.token, tokens[rank]));
  }
  return Status::ok();
}

} // namespace shardc::runtime
