//===- ProcessPlace.h - Which rank this process is ------------------------===//
//
// Launchers that start one process a rank say so in the environment. The first
// of these that is there counts:
//
//   SHARDC_RANK, SHARDC_WORLD_SIZE, SHARDC_RENDEZVOUS=HOST:PORT   set by hand
//   RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT                    torchrun
//   OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE                    mpirun
//   SLURM_PROCID, SLURM_STEP_NUM_TASKS (or SLURM_NTASKS)          srun
//   LWS_WORKER_INDEX, LWS_GROUP_SIZE, LWS_LEADER_ADDRESS          Kubernetes'
//                                                                 LeaderWorkerSet
//
// In a pod of an Indexed Job of Kubernetes JOB_COMPLETION_INDEX stands in for
// SHARDC_RANK. (Without SHARDC_WORLD_SIZE pods of a job are no ranks.)
//
// The rendezvous is where rank 0 listens and all others find it:
//   torchrun  MASTER_ADDR and the port after MASTER_PORT, which torchrun's own
//             store takes
//   mpirun    rank 0 takes a free port and tells it over MPI; without the plugin for
//             MPI, on one machine, it is a port that follows from PMIX_NAMESPACE
//   srun      the first host of SLURM_STEP_NODELIST (without it the host that
//             srun was started on) and a port that follows from job and step
//   LeaderWorkerSet  LWS_LEADER_ADDRESS, port 29500
// Where the launcher says that all processes are on one machine it is loopback,
// which no other machine reaches.
// SHARDC_RENDEZVOUS alone replaces only this. A world of one process is none:
// all ranks are then threads of it.
//
// Example: RANK=3 WORLD_SIZE=8 MASTER_ADDR=node7 MASTER_PORT=29500
//          -> rank 3 of 8, rank 0 at node7:29501
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_LAUNCH_PROCESSPLACE_H
#define SHARDC_RUNTIME_LAUNCH_PROCESSPLACE_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <functional>
#include <string>

namespace shardc::runtime {

struct ProcessPlace {
  int rank = 0;
  int size = 1;
  /// Of rank 0: a name, or addresses to try in turn ("10.0.0.7,fe80::1%eth0");
  /// empty: rank 0 tells it over MPI.
  std::string host;
  uint16_t port = 0;
  std::string launcher; ///< for messages: "mpirun"
  std::string job;      ///< processes of another job are turned away
  bool isLocal = false; ///< all processes are on this machine

  bool isAlone() const { return size == 1; }
};

/// getenv, or a test's.
using Environment = std::function<const char *(const char *)>;

/// Sets `place`, or says which variable is malformed. Alone, where there is no
/// launcher.
Status findProcessPlace(const Environment &environment, ProcessPlace &place);

/// Below the ports that systems hand out themselves: in [16000, 28000).
constexpr uint16_t portOfJob(uint64_t job) {
  return static_cast<uint16_t>(16000 + job % 12000);
}

/// "node[03-06,9],login" -> "node03"
std::string firstHost(const std::string &nodeList);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_LAUNCH_PROCESSPLACE_H
