#include "runtime/backend/net/Meeting.h"

#include "runtime/backend/host/HostThreads.h"
#include "runtime/backend/net/MpiAddress.h"
#include "runtime/base/Hash.h"
#include "runtime/base/MappedFile.h"
#include "runtime/base/Message.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <sched.h>

namespace shardc::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// A number that machines of another byte order, and other programs, do not
/// send; the last digits change with the messages.
constexpr uint64_t kMagic = 0x7368617264720001;
/// How long a caller may take to say who it is.
constexpr std::chrono::seconds kIntroduction{5};

struct Hello {
  uint64_t magic = kMagic;
  uint64_t job = 0;
  uint64_t cores = 0; ///< which ones of which machine
  int32_t rank = 0, size = 0, numCores = 0;
  uint16_t port = 0;
  uint16_t unused = 0;
};

struct Welcome {
  uint64_t magic = kMagic;
  int32_t kernelThreads = 0; ///< 0: not welcome
  char why[252] = {};
};

struct Address {
  char host[62] = {}; ///< empty: where rank 0 is
  uint16_t port = 0;
};

uint64_t hashOf(const std::string &text) {
  return XXH3_64bits(text.data(), text.size());
}

/// Equal for processes that share their cores.
uint64_t coresHash() {
  std::string text;
  if (!readSmallFile("/proc/sys/kernel/random/boot_id", 256, text).isOk())
    text = "unknown machine";
  cpu_set_t cores;
  CPU_ZERO(&cores);
  sched_getaffinity(0, sizeof cores, &cores);
  text.append(reinterpret_cast<const char *>(&cores), sizeof cores);
  return hashOf(text);
}

class Host {
public:
  Host(const ProcessPlace &place, Deadline deadline, Meeting &meeting)
      : place(place), deadline(deadline), meeting(meeting),
        hellos(static_cast<size_t>(place.size)) {}

  /// Of rank 0: everybody comes here.
  Status receiveAll(const Socket &listener, const Hello &mine) {
    hellos[0] = mine;
    for (int missing = place.size - 1; missing > 0;) {
      Socket caller = acceptOne(listener, deadline);
      if (!caller.isOpen())
        return artifactError(missingText());
      Hello hello;
      if (!introduces(caller, hello))
        continue;
      auto &peer = meeting.peers[static_cast<size_t>(hello.rank)];
      if (peer.isOpen())
        return refuse(caller, message("two processes say that they are rank ",
                                      hello.rank));
      hellos[static_cast<size_t>(hello.rank)] = hello;
      peer = std::move(caller);
      --missing;
    }
    return welcomeAll();
  }

  /// Of rank i: those above it call here.
  Status receiveHigher(const Socket &listener) {
    for (int missing = place.size - 1 - place.rank; missing > 0;) {
      Socket caller = acceptOne(listener, deadline);
      if (!caller.isOpen())
        return artifactError(missingText());
      Hello hello;
      if (!introduces(caller, hello) || hello.rank <= place.rank ||
          meeting.peers[static_cast<size_t>(hello.rank)].isOpen())
        continue;
      meeting.peers[static_cast<size_t>(hello.rank)] = std::move(caller);
      --missing;
    }
    return Status::ok();
  }

private:
  /// Whether the caller is one of ours.
  bool introduces(const Socket &caller, Hello &hello) {
    const Deadline soon = std::min(deadline, Clock::now() + kIntroduction);
    if (!caller.receiveAll(&hello, sizeof hello, soon) ||
        hello.magic != kMagic || hello.job != hashOf(place.job))
      return false;
    if (hello.size == place.size && hello.rank > 0 && hello.rank < place.size)
      return true;
    (void)refuse(caller, message("rank ", hello.rank, " of ", hello.size,
                                 " calls a run of ", place.size, " processes"));
    return false;
  }

  Status refuse(const Socket &caller, const std::string &why) const {
    Welcome no;
    why.copy(no.why, sizeof no.why - 1);
    caller.sendAll(&no, sizeof no, Clock::now() + std::chrono::seconds(1));
    return artifactError(why, "; start each rank once");
  }

  Status welcomeAll() {
    Welcome yes;
    yes.kernelThreads = meeting.kernelThreads = fewestThreads();
    std::vector<Address> addresses(hellos.size());
    for (size_t rank = 1; rank < hellos.size(); ++rank) {
      const std::string address = peerAddress(meeting.peers[rank]);
      if (!isLoopback(address))
        address.copy(addresses[rank].host, sizeof addresses[rank].host - 1);
      addresses[rank].port = hellos[rank].port;
    }
    for (int rank = 1; rank < place.size; ++rank) {
      const Socket &peer = meeting.peers[static_cast<size_t>(rank)];
      if (!peer.sendAll(&yes, sizeof yes, deadline) ||
          !peer.sendAll(addresses.data(), addresses.size() * sizeof(Address),
                        deadline))
        return artifactError("rank ", rank,
                             " has died while the processes met");
    }
    return Status::ok();
  }

  int fewestThreads() const {
    std::map<uint64_t, int> sharers;
    for (const Hello &hello : hellos)
      ++sharers[hello.cores];
    int fewest = INT32_MAX;
    for (const Hello &hello : hellos)
      fewest = std::min(fewest, hello.numCores / sharers[hello.cores]);
    return std::max(1, fewest);
  }

  std::string missingText() const {
    std::string missing;
    int count = 0;
    for (int rank = 0; rank < place.size; ++rank) {
      const bool mayCall =
          rank != place.rank && (place.rank == 0 || rank > place.rank);
      if (!mayCall || meeting.peers[static_cast<size_t>(rank)].isOpen())
        continue;
      if (++count <= 16)
        missing = message(missing, missing.empty() ? "" : ", ", rank);
    }
    return message(count, " of ", place.size, " processes did not come (rank ",
                   missing, count > 16 ? ", ..." : "",
                   "): they ended early, cannot reach this machine, or were "
                   "not started; see what ",
                   place.launcher.empty()
                       ? "they print"
                       : "they and " + place.launcher + " print");
  }

  const ProcessPlace &place;
  const Deadline deadline;
  Meeting &meeting;
  std::vector<Hello> hellos; ///< by rank
};

/// Of all ranks but 0: calls rank 0, then those in between.
Status callLower(const ProcessPlace &place, Deadline deadline,
                 const Hello &mine, Meeting &meeting) {
  Socket &first = meeting.peers[0];
  if (Status status = connectTo(place.host, place.port, deadline, first);
      !status.isOk())
    return artifactError("rank ", place.rank, " of ", place.size,
                         " does not find rank 0: ", status.message(),
                         "; set SHARDC_RENDEZVOUS=HOST:PORT to where all "
                         "processes reach rank 0");
  std::vector<Address> addresses(static_cast<size_t>(place.size));
  Welcome welcome;
  const bool answered = first.sendAll(&mine, sizeof mine, deadline) &&
                        first.receiveAll(&welcome, sizeof welcome, deadline);
  if (answered && welcome.magic == kMagic && welcome.kernelThreads == 0)
    return artifactError("rank 0 turns this process away: ",
                         std::string(welcome.why, strnlen(welcome.why, 252)));
  if (!answered || welcome.magic != kMagic ||
      !first.receiveAll(addresses.data(), addresses.size() * sizeof(Address),
                        deadline))
    return artifactError("rank 0 at ", place.host, ":", place.port,
                         " hung up, or is no rank of this run; if another "
                         "program has the port, set SHARDC_RENDEZVOUS");
  meeting.kernelThreads = welcome.kernelThreads;
  for (int rank = 1; rank < place.rank; ++rank) {
    Address &address = addresses[static_cast<size_t>(rank)];
    address.host[sizeof address.host - 1] = '\0';
    const std::string host =
        address.host[0] ? address.host : peerAddress(first);
    Socket &peer = meeting.peers[static_cast<size_t>(rank)];
    Status status = connectTo(host, address.port, deadline, peer);
    if (status.isOk() && !peer.sendAll(&mine, sizeof mine, deadline))
      status = artifactError("it hung up");
    if (!status.isOk())
      return artifactError("rank ", place.rank, " cannot reach rank ", rank,
                           ": ", status.message());
  }
  return Status::ok();
}

} // namespace

Status meet(const ProcessPlace &asked, std::chrono::milliseconds timeout,
            Meeting &meeting) {
  const Deadline deadline = Clock::now() + timeout;
  ProcessPlace place = asked;
  Socket listener;
  // Only rank 0 has an agreed port, and none if it tells it over MPI.
  uint16_t port = place.rank == 0 ? place.port : 0;
  if (Status status = listenOn(port, listener); !status.isOk())
    return artifactError(status.message(),
                         "; set SHARDC_RENDEZVOUS=HOST:PORT to a free port");
  if (place.host.empty())
    SHARDC_RETURN_IF_ERROR(addressOverMpi(port, place));
  Hello mine;
  mine.job = hashOf(place.job);
  mine.cores = coresHash();
  mine.numCores = hostCores();
  mine.rank = place.rank;
  mine.size = place.size;
  mine.port = port;
  meeting.peers.resize(static_cast<size_t>(place.size));
  Host host(place, deadline, meeting);
  if (place.rank == 0)
    return host.receiveAll(listener, mine);
  SHARDC_RETURN_IF_ERROR(callLower(place, deadline, mine, meeting));
  return host.receiveHigher(listener);
}

} // namespace shardc::runtime
