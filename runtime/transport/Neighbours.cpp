#include "runtime/transport/Neighbours.h"

#include "runtime/base/Hash.h"
#include "runtime/base/MappedFile.h"
#include "runtime/base/Message.h"

#include <sys/stat.h>
#include <unistd.h>

namespace shardc::runtime {
namespace {

/// Which namespace of the system that is; empty if it is not to be known.
std::string identity(const char *path) {
  struct stat found = {};
  return stat(path, &found) == 0 ? message(found.st_dev, " ", found.st_ino)
                                 : "";
}

/// Machines of containers are those that a network has.
uint64_t machineHash() {
  std::string text;
  const std::string network = identity("/proc/self/ns/net");
  if (network.empty() ||
      !readSmallFile("/proc/sys/kernel/random/boot_id", 256, text).isOk())
    return 0;
  text += network;
  return XXH3_64bits(text.data(), text.size()) | 1;
}

/// Sends all of them `mine`, and gets theirs: there is room for so little.
template <typename Said>
Status exchangeWithAll(const std::vector<Socket> &peers,
                       const std::vector<Said> &mine, Deadline deadline,
                       std::vector<Said> &theirs) {
  for (size_t rank = 0; rank < peers.size(); ++rank)
    if (peers[rank].isOpen() &&
        !peers[rank].sendAll(&mine[rank], sizeof mine[rank], deadline))
      return diedWhileMeeting(rank);
  for (size_t rank = 0; rank < peers.size(); ++rank)
    if (peers[rank].isOpen() &&
        !peers[rank].receiveAll(&theirs[rank], sizeof theirs[rank], deadline))
      return diedWhileMeeting(rank);
  return Status::ok();
}

Status openFile(const OutboxPlace &mine, const OutboxPlace &theirs,
                PeerFile &file) {
  if (theirs.processes != mine.processes)
    return artifactError("its processes are not seen from here (another PID "
                         "namespace)");
  return file.open(theirs.pid, theirs.descriptor, theirs.nonce);
}

} // namespace

Status diedWhileMeeting(size_t rank) {
  return artifactError("rank ", rank, " has died while the processes met");
}

OutboxPlace OutboxPlace::of(const Outbox &outbox) {
  OutboxPlace place;
  place.machine = machineHash();
  if (!outbox.isOpen())
    return place;
  const std::string processes = identity("/proc/self/ns/pid");
  place.processes = XXH3_64bits(processes.data(), processes.size());
  place.pid = getpid();
  place.descriptor = outbox.descriptor();
  place.nonce = outbox.head().nonce;
  return place;
}

Status findNeighbours(const std::vector<Socket> &peers, const Outbox &outbox,
                      const Status &made, Deadline deadline,
                      Neighbours &found) {
  const size_t size = peers.size();
  const OutboxPlace mine = OutboxPlace::of(outbox);
  std::vector<OutboxPlace> places(size);
  SHARDC_RETURN_IF_ERROR(exchangeWithAll(
      peers, std::vector<OutboxPlace>(size, mine), deadline, places));
  std::vector<OutboxFound> here(size), there(size);
  found.files.resize(size);
  for (size_t rank = 0; rank < size; ++rank) {
    const OutboxPlace &theirs = places[rank];
    if (mine.machine == 0 || theirs.machine != mine.machine)
      continue;
    auto file = std::make_unique<PeerFile>();
    const bool isOffered = outbox.isOpen() && theirs.descriptor >= 0;
    const Status status = isOffered ? openFile(mine, theirs, *file) : made;
    here[rank].isFound = isOffered && status.isOk();
    if (here[rank].isFound)
      found.files[rank] = std::move(file);
    else if (!status.isOk() && found.problem.empty())
      found.problem = message("rank ", rank, ": ", status.message());
  }
  SHARDC_RETURN_IF_ERROR(exchangeWithAll(peers, here, deadline, there));
  for (size_t rank = 0; rank < size; ++rank)
    if (there[rank].isFound == 0)
      found.files[rank].reset();
  return Status::ok();
}

} // namespace shardc::runtime
