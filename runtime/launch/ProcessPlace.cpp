#include "runtime/launch/ProcessPlace.h"

#include "runtime/base/Message.h"

#include <charconv>
#include <cstring>

namespace shardc::runtime {
namespace {

constexpr char kLoopback[] = "127.0.0.1";
/// A pod has its ports for itself.
constexpr uint16_t kPodPort = 29500;

/// The variables of one launcher.
struct Launcher {
  const char *name, *rank, *size, *job;
  const char *localSize = ""; ///< processes on this machine
};

class PlaceFinder {
public:
  PlaceFinder(const Environment &environment, ProcessPlace &place)
      : environment(environment), place(place) {}

  Status find() {
    if (has("SHARDC_RANK") || has("SHARDC_WORLD_SIZE"))
      return byHand();
    if (has("RANK") && has("WORLD_SIZE") && has("MASTER_ADDR") &&
        has("MASTER_PORT"))
      return torchrun();
    if (has("OMPI_COMM_WORLD_RANK") && has("OMPI_COMM_WORLD_SIZE"))
      return take({"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                   "PMIX_NAMESPACE", "OMPI_COMM_WORLD_LOCAL_SIZE"});
    // sbatch's own script has a rank too, but no step.
    if (has("SLURM_PROCID") &&
        (has("SLURM_STEP_NODELIST") || has("SLURM_LAUNCH_NODE_IPADDR")))
      return srun();
    if (has("LWS_WORKER_INDEX") && has("LWS_GROUP_SIZE") &&
        has("LWS_LEADER_ADDRESS"))
      return leaderWorkerSet();
    return Status::ok();
  }

private:
  bool has(const char *name) const {
    const char *text = environment(name);
    return text && *text;
  }
  std::string text(const char *name) const {
    return has(name) ? environment(name) : "";
  }

  Status number(const char *name, int64_t least, int64_t most,
                int64_t &value) const {
    const std::string all = text(name);
    auto [end, error] =
        std::from_chars(all.data(), all.data() + all.size(), value);
    if (error == std::errc() && end == all.data() + all.size() &&
        value >= least && value <= most)
      return Status::ok();
    return argumentError(name, " is '", all, "', expected a number from ",
                         least, " to ", most);
  }

  Status take(const Launcher &from) {
    int64_t rank = 0, size = 0;
    SHARDC_RETURN_IF_ERROR(number(from.size, 1, INT32_MAX, size));
    SHARDC_RETURN_IF_ERROR(number(from.rank, 0, size - 1, rank));
    place.rank = static_cast<int>(rank);
    place.size = static_cast<int>(size);
    place.launcher = from.name;
    place.job = text(from.job);
    if (!has("SHARDC_RENDEZVOUS")) {
      place.isLocal = text(from.localSize) == text(from.size);
      return Status::ok();
    }
    const std::string meeting = text("SHARDC_RENDEZVOUS");
    const size_t colon = meeting.rfind(':');
    int64_t port = 0;
    const char *end = meeting.data() + meeting.size();
    const bool isFine =
        colon != std::string::npos && colon > 0 &&
        std::from_chars(meeting.data() + colon + 1, end, port).ptr == end &&
        port > 0 && port <= UINT16_MAX;
    if (!isFine)
      return argumentError("SHARDC_RENDEZVOUS is '", meeting,
                           "', expected HOST:PORT, such as node7:29501");
    place.host = meeting.substr(0, colon);
    if (place.host.front() == '[' && place.host.back() == ']')
      place.host = place.host.substr(1, place.host.size() - 2); // IPv6
    place.port = static_cast<uint16_t>(port);
    return Status::ok();
  }

  Status byHand() {
    // A pod of an Indexed Job is told its number, but not of how many.
    const bool isIndexed = !has("SHARDC_RANK") && has("JOB_COMPLETION_INDEX");
    SHARDC_RETURN_IF_ERROR(
        take({"", isIndexed ? "JOB_COMPLETION_INDEX" : "SHARDC_RANK",
              "SHARDC_WORLD_SIZE", "SHARDC_JOB"}));
    if (place.host.empty() && !place.isAlone())
      return argumentError("SHARDC_RENDEZVOUS is missing: expected HOST:PORT "
                           "of rank 0, next to SHARDC_RANK");
    return Status::ok();
  }

  Status torchrun() {
    SHARDC_RETURN_IF_ERROR(take({"torchrun", "RANK", "WORLD_SIZE",
                                 "TORCHELASTIC_RUN_ID", "LOCAL_WORLD_SIZE"}));
    if (!place.host.empty())
      return Status::ok();
    int64_t port = 0;
    SHARDC_RETURN_IF_ERROR(number("MASTER_PORT", 1, UINT16_MAX, port));
    const std::string host = text("MASTER_ADDR"); // the same for all
    place.isLocal |=
        host.starts_with("127.") || host == "localhost" || host == "::1";
    place.host = place.isLocal ? kLoopback : host;
    place.port = static_cast<uint16_t>(port < UINT16_MAX ? port + 1 : port - 1);
    return Status::ok();
  }

  Status srun() {
    SHARDC_RETURN_IF_ERROR(take(
        {"srun", "SLURM_PROCID",
         has("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS",
         "SLURM_JOB_ID"}));
    if (!place.host.empty())
      return Status::ok();
    place.isLocal = text("SLURM_STEP_NUM_NODES") == "1";
    place.host = place.isLocal ? kLoopback
                 : has("SLURM_STEP_NODELIST")
                     ? firstHost(text("SLURM_STEP_NODELIST"))
                     : text("SLURM_LAUNCH_NODE_IPADDR");
    int64_t job = 0, step = 0;
    if (has("SLURM_JOB_ID"))
      SHARDC_RETURN_IF_ERROR(number("SLURM_JOB_ID", 0, INT32_MAX, job));
    if (has("SLURM_STEP_ID"))
      SHARDC_RETURN_IF_ERROR(number("SLURM_STEP_ID", 0, UINT32_MAX, step));
    place.job += '.';
    place.job += std::to_string(step);
    place.port = portOfJob(static_cast<uint64_t>(job * 61 + step));
    return Status::ok();
  }

  Status leaderWorkerSet() {
    SHARDC_RETURN_IF_ERROR(take({"LeaderWorkerSet", "LWS_WORKER_INDEX",
                                 "LWS_GROUP_SIZE", "LWS_LEADER_ADDRESS"}));
    if (!place.host.empty())
      return Status::ok();
    place.host = text("LWS_LEADER_ADDRESS");
    place.port = kPodPort;
    return Status::ok();
  }

  const Environment &environment;
  ProcessPlace &place;
};

} // namespace

Status findProcessPlace(const Environment &environment, ProcessPlace &place) {
  place = ProcessPlace();
  return PlaceFinder(environment, place).find();
}

std::string firstHost(const std::string &nodeList) {
  std::string host;
  for (size_t i = 0; i < nodeList.size() && nodeList[i] != ','; ++i) {
    if (nodeList[i] != '[') {
      host += nodeList[i];
      continue;
    }
    // The first number of the first range, zeros in front included.
    const size_t end = nodeList.find_first_of("-,]", i + 1);
    host += nodeList.substr(i + 1, end - i - 1);
    i = nodeList.find(']', i);
    if (i == std::string::npos)
      break;
  }
  return host;
}

} // namespace shardc::runtime
