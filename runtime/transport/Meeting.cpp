#include "runtime/transport/Meeting.h"

#include "runtime/base/Hash.h"
#include "runtime/base/MappedFile.h"
#include "runtime/base/Message.h"
#include "runtime/launch/HostThreads.h"
#include "runtime/transport/Interfaces.h"
#include "runtime/transport/Introduction.h"
#include "runtime/transport/MpiAddress.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <sched.h>
#include <span>

namespace shardc::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// What rank 0 tells all, once all are there: this, the addresses of all ranks,
/// and the proof that it is rank 0 that says so.
struct Welcome {
  int32_t kernelThreads = 0;
  int32_t unused = 0;
};

struct Address {
  char host[62] = {}; ///< empty: where rank 0 is
  uint16_t port = 0;
};

/// The welcome with its addresses, as it is sent.
class WelcomeBytes {
public:
  explicit WelcomeBytes(int ranks)
      : bytes(sizeof(Welcome) + static_cast<size_t>(ranks) * sizeof(Address)) {}

  void write(const Welcome &welcome, const std::vector<Address> &addresses) {
    std::memcpy(bytes.data(), &welcome, sizeof welcome);
    std::memcpy(bytes.data() + sizeof welcome, addresses.data(),
                bytes.size() - sizeof welcome);
  }
  void read(Welcome &welcome, std::vector<Address> &addresses) const {
    std::memcpy(&welcome, bytes.data(), sizeof welcome);
    std::memcpy(addresses.data(), bytes.data() + sizeof welcome,
                bytes.size() - sizeof welcome);
  }

  bool send(const Socket &caller, const JobSecret &secret, const Nonces &nonces,
            Deadline deadline) const {
    const Proof proof = prove(secret, nonces);
    return caller.sendAll(bytes.data(), bytes.size(), deadline) &&
           caller.sendAll(proof.data(), proof.size(), deadline);
  }
  /// Who passes on what ranks say could name itself as one of them.
  Status receive(const Socket &first, const JobSecret &secret,
                 const Nonces &nonces, Deadline deadline) {
    Proof proof;
    if (!first.receiveAll(bytes.data(), bytes.size(), deadline) ||
        !first.receiveAll(proof.data(), proof.size(), deadline))
      return artifactError("it hung up");
    return isSame(proof, prove(secret, nonces))
               ? Status::ok()
               : artifactError("where the other ranks are is not what rank 0 "
                               "said: something between changes it");
  }

private:
  Proof prove(const JobSecret &secret, const Nonces &nonces) const {
    return secret.prove("welcome", nonces.callers, nonces.listeners, bytes);
  }

  std::vector<std::byte> bytes;
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
  Host(const ProcessPlace &place, const MeetingOptions &options,
       Deadline deadline, Meeting &meeting)
      : place(place), options(options), deadline(deadline), meeting(meeting),
        hellos(static_cast<size_t>(place.size)),
        nonces(static_cast<size_t>(place.size)) {}

  /// Of rank 0: everybody comes here.
  Status receiveAll(const Socket &listener, const Hello &mine) {
    hellos[0] = mine;
    SHARDC_RETURN_IF_ERROR(receive(listener));
    return welcomeAll();
  }

  /// Of rank i: those above it call here.
  Status receiveHigher(const Socket &listener) { return receive(listener); }

private:
  /// All ranks above this one.
  Status receive(const Socket &listener) {
    Reception reception(listener, options.secret, deadline);
    while (isMissingSome()) {
      Hello hello;
      Nonces drawn;
      Socket caller = reception.next(hello, drawn);
      if (!caller.isOpen())
        return artifactError(missingText(reception.numStrangers()));
      if (!isOneOfOurs(caller, hello))
        continue;
      const auto rank = static_cast<size_t>(hello.rank);
      dropIfGone(meeting.peers[rank]);
      if (meeting.peers[rank].isOpen()) {
        const std::string why =
            message("two processes say that they are rank ", hello.rank);
        refuse(caller, why);
        if (place.rank == 0)
          return artifactError(why, "; start each rank once");
        continue;
      }
      hellos[rank] = hello;
      nonces[rank] = drawn;
      if (place.rank > 0) // rank 0 has more to say, once all are there
        sendAnswer(caller, options.secret, drawn, deadline);
      meeting.peers[rank] = std::move(caller);
    }
    return Status::ok();
  }

  /// Of those above this one. Who is gone again is looked for when all have come.
  bool isMissingSome() const {
    const auto above =
        std::span(meeting.peers).subspan(static_cast<size_t>(place.rank) + 1);
    const auto isMissing = [](const Socket &peer) { return !peer.isOpen(); };
    if (std::any_of(above.begin(), above.end(), isMissing))
      return true;
    for (Socket &peer : above)
      dropIfGone(peer);
    return std::any_of(above.begin(), above.end(), isMissing);
  }

  /// Of rank 0, before it has told anybody where the others are: another one may
  /// come in the place of who has ended meanwhile.
  void dropIfGone(Socket &peer) const {
    if (place.rank == 0 && peer.isOpen() && peer.hasHungUp())
      peer.close();
  }

  bool isOneOfOurs(const Socket &caller, const Hello &hello) const {
    if (hello.job != hashOf(place.job))
      return false;
    if (hello.size == place.size && hello.rank > place.rank &&
        hello.rank < place.size)
      return true;
    refuse(caller,
           message("rank ", hello.rank, " of ", hello.size, " calls rank ",
                   place.rank, " of a run of ", place.size, " processes"));
    return false;
  }

  Status welcomeAll() {
    Welcome welcome;
    welcome.kernelThreads = meeting.kernelThreads = fewestThreads();
    std::vector<Address> addresses(hellos.size());
    for (size_t rank = 1; rank < hellos.size(); ++rank) {
      const std::string address = peerAddress(meeting.peers[rank]);
      if (!isLoopback(address))
        address.copy(addresses[rank].host, sizeof addresses[rank].host - 1);
      addresses[rank].port = hellos[rank].port;
    }
    WelcomeBytes bytes(place.size);
    bytes.write(welcome, addresses);
    for (size_t rank = 1; rank < hellos.size(); ++rank) {
      const Socket &peer = meeting.peers[rank];
      sendAnswer(peer, options.secret, nonces[rank], deadline);
      if (!bytes.send(peer, options.secret, nonces[rank], deadline))
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

  std::string missingText(int strangers) const {
    std::string missing, turnedAway;
    int count = 0;
    for (int rank = 0; rank < place.size; ++rank) {
      const bool mayCall =
          rank != place.rank && (place.rank == 0 || rank > place.rank);
      if (!mayCall || meeting.peers[static_cast<size_t>(rank)].isOpen())
        continue;
      if (++count <= 16)
        missing = message(missing, missing.empty() ? "" : ", ", rank);
    }
    if (strangers > 0)
      turnedAway = message("; ", strangers, strangers == 1 ? " was" : " were",
                           " turned away without the secret of the job: set "
                           "SHARDC_JOB_SECRET to the same text for all");
    return message(count, " of ", place.size, " processes did not come (rank ",
                   missing, count > 16 ? ", ..." : "",
                   "): they ended early, cannot reach this machine, or were "
                   "not started; see what ",
                   place.launcher.empty()
                       ? "they print"
                       : "they and " + place.launcher + " print",
                   turnedAway);
  }

  const ProcessPlace &place;
  const MeetingOptions &options;
  const Deadline deadline;
  Meeting &meeting;
  std::vector<Hello> hellos; ///< by rank
  std::vector<Nonces> nonces;
};

/// Calls rank 0.
Status callFirst(const ProcessPlace &place, const std::string &from,
                 Deadline deadline, Meeting &meeting) {
  Status status =
      connectTo(place.host, place.port, deadline, meeting.peers[0], from);
  return status.isOk()
             ? status
             : artifactError("rank ", place.rank, " of ", place.size,
                             " does not find rank 0: ", status.message(),
                             "; set SHARDC_RENDEZVOUS=HOST:PORT to where all "
                             "processes reach rank 0");
}

/// Of all ranks but 0: says who it is to rank 0, then calls those in between.
Status callLower(const ProcessPlace &place, const MeetingOptions &options,
                 const std::string &from, Deadline deadline, const Hello &mine,
                 Meeting &meeting) {
  Socket &first = meeting.peers[0];
  Nonces nonces;
  Status status = introduce(first, options.secret, mine, deadline, nonces);
  if (status.isOk())
    status = receiveAnswer(first, options.secret, nonces, deadline);
  WelcomeBytes bytes(place.size);
  if (status.isOk())
    status = bytes.receive(first, options.secret, nonces, deadline);
  if (!status.isOk())
    return artifactError("rank 0 at ", place.host, ":", place.port, ": ",
                         status.message());
  std::vector<Address> addresses(static_cast<size_t>(place.size));
  Welcome welcome;
  bytes.read(welcome, addresses);
  // Rank 0 never says more than each of its hosts has.
  meeting.kernelThreads = std::clamp(welcome.kernelThreads, 1, mine.numCores);
  for (int rank = 1; rank < place.rank; ++rank) {
    Address &address = addresses[static_cast<size_t>(rank)];
    address.host[sizeof address.host - 1] = '\0';
    const std::string host =
        address.host[0] ? address.host : peerAddress(first);
    Socket &peer = meeting.peers[static_cast<size_t>(rank)];
    status = connectTo(host, address.port, deadline, peer, from);
    if (status.isOk())
      status = introduce(peer, options.secret, mine, deadline, nonces);
    if (status.isOk())
      status = receiveAnswer(peer, options.secret, nonces, deadline);
    if (!status.isOk())
      return artifactError("rank ", place.rank, " cannot reach rank ", rank,
                           ": ", status.message());
  }
  return Status::ok();
}

/// Where others reach a rank if all are on one machine; empty where nobody says
/// that they are: rank 0 may be called over loopback by its own machine, and
/// otherwise by others.
std::string loopbackOf(const ProcessPlace &place) {
  if (!place.isLocal)
    return "";
  return place.host == "localhost" || !isLoopback(place.host) ? "127.0.0.1"
                                                              : place.host;
}

} // namespace

Status meet(const ProcessPlace &asked, const MeetingOptions &options,
            Meeting &meeting) {
  const Deadline deadline = Clock::now() + options.timeout;
  ProcessPlace place = asked;
  SHARDC_RETURN_IF_ERROR(options.secret.check());
  if (place.host.empty())
    addressWithoutMpi(place);
  std::string interface;
  if (!options.interface.empty())
    SHARDC_RETURN_IF_ERROR(findInterface(options.interface, interface));
  meeting.peers.resize(static_cast<size_t>(place.size));
  const std::string loopback = loopbackOf(place);
  const std::string from = loopback.empty() ? interface : "";
  std::string address = loopback.empty() ? interface : loopback;
  if (place.rank > 0) {
    if (place.host.empty())
      SHARDC_RETURN_IF_ERROR(addressOverMpi(0, interface, place));
    SHARDC_RETURN_IF_ERROR(callFirst(place, from, deadline, meeting));
    const std::string own = ownAddress(meeting.peers[0]);
    // Over loopback this machine's other addresses are not known.
    if (address.empty() && !isLoopback(own))
      address = own;
  }
  Socket listener;
  // Only rank 0 has an agreed port, and none if it tells it over MPI.
  uint16_t port = place.rank == 0 ? place.port : 0;
  if (Status status = listenOn(port, listener, address); !status.isOk())
    return artifactError(status.message(),
                         "; set SHARDC_RENDEZVOUS=HOST:PORT to a free port");
  if (place.host.empty())
    SHARDC_RETURN_IF_ERROR(addressOverMpi(port, interface, place));
  Hello mine;
  mine.job = hashOf(place.job);
  mine.cores = coresHash();
  mine.numCores = hostCores();
  mine.rank = place.rank;
  mine.size = place.size;
  mine.port = port;
  Host host(place, options, deadline, meeting);
  if (place.rank == 0)
    return host.receiveAll(listener, mine);
  SHARDC_RETURN_IF_ERROR(
      callLower(place, options, from, deadline, mine, meeting));
  return host.receiveHigher(listener);
}

} // namespace shardc::runtime
