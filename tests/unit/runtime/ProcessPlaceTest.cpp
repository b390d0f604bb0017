//===- ProcessPlaceTest.cpp - What launchers say in the environment -------===//
#include "runtime/launch/ProcessPlace.h"

#include <gtest/gtest.h>

#include <map>

namespace shardc::runtime {
namespace {

using Variables = std::map<std::string, std::string>;

Status find(const Variables &variables, ProcessPlace &place) {
  return findProcessPlace(
      [&](const char *name) {
        auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      place);
}

ProcessPlace placeOf(const Variables &variables) {
  ProcessPlace place;
  Status status = find(variables, place);
  EXPECT_TRUE(status.isOk()) << status.message();
  return place;
}

const Variables kTorchrun = {{"RANK", "3"},
                             {"WORLD_SIZE", "8"},
                             {"MASTER_ADDR", "node7"},
                             {"MASTER_PORT", "29500"}};

TEST(ProcessPlace, NoLauncherIsAWorldOfOne) {
  EXPECT_TRUE(placeOf({}).isAlone());
  EXPECT_TRUE(placeOf({{"RANK", "1"}, {"WORLD_SIZE", "2"}}).isAlone())
      << "not torchrun's: it sets an address too";
  EXPECT_TRUE(placeOf({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}).isAlone())
      << "sbatch's script, outside of any step";
  EXPECT_TRUE(
      placeOf({{"SHARDC_RANK", "0"}, {"SHARDC_WORLD_SIZE", "1"}}).isAlone());
}

TEST(ProcessPlace, Torchrun) {
  ProcessPlace place = placeOf(kTorchrun);
  EXPECT_EQ(place.rank, 3);
  EXPECT_EQ(place.size, 8);
  EXPECT_EQ(place.host, "node7");
  EXPECT_EQ(place.port, 29501) << "torchrun listens on 29500 itself";
  Variables last = kTorchrun;
  last["MASTER_PORT"] = "65535";
  EXPECT_EQ(placeOf(last).port, 65534);
}

TEST(ProcessPlace, MpirunLeavesTheAddressToMpi) {
  ProcessPlace place =
      placeOf({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}});
  EXPECT_EQ(place.rank, 1);
  EXPECT_EQ(place.size, 2);
  EXPECT_EQ(place.host, "");
  EXPECT_EQ(place.launcher, "mpirun");
  EXPECT_GE(portOfJob(UINT64_MAX), 16000) << "for those without MPI's plugin";
  EXPECT_LT(portOfJob(UINT64_MAX), 28000);
}

TEST(ProcessPlace, Srun) {
  Variables step = {{"SLURM_PROCID", "5"},
                    {"SLURM_NTASKS", "8"},
                    {"SLURM_STEP_NODELIST", "gpu[07-09,12],login"},
                    {"SLURM_JOB_ID", "4711"},
                    {"SLURM_STEP_ID", "2"}};
  ProcessPlace place = placeOf(step);
  EXPECT_EQ(place.rank, 5);
  EXPECT_EQ(place.size, 8);
  EXPECT_EQ(place.host, "gpu07");
  EXPECT_GE(place.port, 16000);
  EXPECT_LT(place.port, 28000);
  step["SLURM_STEP_ID"] = "3";
  EXPECT_NE(placeOf(step).port, place.port);
  EXPECT_NE(placeOf(step).job, place.job);
  step["SLURM_STEP_NUM_TASKS"] = "6";
  EXPECT_EQ(placeOf(step).size, 6) << "of the step, not of the job";
  step.erase("SLURM_STEP_NODELIST");
  step["SLURM_LAUNCH_NODE_IPADDR"] = "10.0.0.9";
  EXPECT_EQ(placeOf(step).host, "10.0.0.9");
}

TEST(ProcessPlace, LeaderWorkerSet) {
  Variables pod = {{"LWS_WORKER_INDEX", "1"},
                   {"LWS_GROUP_SIZE", "2"},
                   {"LWS_LEADER_ADDRESS", "model-0.model.default"}};
  ProcessPlace place = placeOf(pod);
  EXPECT_EQ(place.rank, 1);
  EXPECT_EQ(place.size, 2);
  EXPECT_EQ(place.host, "model-0.model.default");
  EXPECT_EQ(place.port, 29500);
  EXPECT_EQ(place.job, "model-0.model.default") << "of this group";
  EXPECT_FALSE(place.isLocal);
  pod["SHARDC_RENDEZVOUS"] = "model-0.other:1234";
  EXPECT_EQ(placeOf(pod).host, "model-0.other");
  EXPECT_EQ(placeOf(pod).port, 1234);
  Variables inside = kTorchrun;
  inside.insert(pod.begin(), pod.end());
  EXPECT_EQ(placeOf(inside).size, 8) << "torchrun, started in the pods";
}

TEST(ProcessPlace, IndexedJob) {
  EXPECT_TRUE(placeOf({{"JOB_COMPLETION_INDEX", "1"}}).isAlone())
      << "such pods are often strangers";
  Variables pod = {{"JOB_COMPLETION_INDEX", "1"},
                   {"SHARDC_WORLD_SIZE", "2"},
                   {"SHARDC_RENDEZVOUS", "model-0.model-ranks:29500"}};
  ProcessPlace place = placeOf(pod);
  EXPECT_EQ(place.rank, 1);
  EXPECT_EQ(place.size, 2);
  EXPECT_EQ(place.host, "model-0.model-ranks");
  pod["SHARDC_RANK"] = "0";
  EXPECT_EQ(placeOf(pod).rank, 0);
}

/// Nobody else needs to reach what is on one machine.
TEST(ProcessPlace, OneMachineIsLoopback) {
  Variables torchrun = kTorchrun;
  torchrun["LOCAL_WORLD_SIZE"] = "4";
  EXPECT_FALSE(placeOf(torchrun).isLocal);
  EXPECT_EQ(placeOf(torchrun).host, "node7");
  torchrun["LOCAL_WORLD_SIZE"] = "8";
  EXPECT_TRUE(placeOf(torchrun).isLocal);
  EXPECT_EQ(placeOf(torchrun).host, "127.0.0.1");
  torchrun["LOCAL_WORLD_SIZE"] = "4";
  torchrun["MASTER_ADDR"] = "localhost";
  EXPECT_TRUE(placeOf(torchrun).isLocal);
  torchrun["LOCAL_WORLD_SIZE"] = "8";
  torchrun["SHARDC_RENDEZVOUS"] = "node8:1234";
  EXPECT_FALSE(placeOf(torchrun).isLocal) << "who says where knows why";
  Variables mpirun = {{"OMPI_COMM_WORLD_RANK", "1"},
                      {"OMPI_COMM_WORLD_SIZE", "2"},
                      {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
  EXPECT_TRUE(placeOf(mpirun).isLocal);
  mpirun["OMPI_COMM_WORLD_LOCAL_SIZE"] = "1";
  EXPECT_FALSE(placeOf(mpirun).isLocal);
  Variables step = {{"SLURM_PROCID", "1"},
                    {"SLURM_NTASKS", "2"},
                    {"SLURM_STEP_NUM_NODES", "1"},
                    {"SLURM_STEP_NODELIST", "gpu07"}};
  EXPECT_TRUE(placeOf(step).isLocal);
  EXPECT_EQ(placeOf(step).host, "127.0.0.1");
  step["SLURM_STEP_NUM_NODES"] = "2";
  EXPECT_FALSE(placeOf(step).isLocal);
  EXPECT_EQ(placeOf(step).host, "gpu07");
}

TEST(ProcessPlace, ByHandComesFirst) {
  Variables both = kTorchrun;
  both["SHARDC_RENDEZVOUS"] = "other:1234";
  EXPECT_EQ(placeOf(both).host, "other");
  EXPECT_EQ(placeOf(both).rank, 3);
  both["SHARDC_RANK"] = "0";
  both["SHARDC_WORLD_SIZE"] = "2";
  both["SHARDC_RENDEZVOUS"] = "[fe80::1]:1234";
  ProcessPlace place = placeOf(both);
  EXPECT_EQ(place.size, 2);
  EXPECT_EQ(place.host, "fe80::1");
  EXPECT_EQ(place.port, 1234);
}

TEST(ProcessPlace, NamesTheVariableThatIsMalformed) {
  auto complaint = [](Variables variables) {
    ProcessPlace place;
    Status status = find(variables, place);
    EXPECT_EQ(status.code(), StatusCode::InvalidArgument);
    return status.message();
  };
  auto has = [](const std::string &text, const char *part) {
    return text.find(part) != std::string::npos;
  };
  Variables wrong = kTorchrun;
  wrong["RANK"] = "8";
  EXPECT_TRUE(
      has(complaint(wrong), "RANK is '8', expected a number from 0 to"));
  wrong["RANK"] = "1x";
  EXPECT_TRUE(has(complaint(wrong), "RANK is '1x'"));
  EXPECT_TRUE(has(complaint({{"SHARDC_RANK", "0"}}), "SHARDC_WORLD_SIZE"));
  EXPECT_TRUE(has(complaint({{"LWS_WORKER_INDEX", "2"},
                             {"LWS_GROUP_SIZE", "2"},
                             {"LWS_LEADER_ADDRESS", "a"}}),
                  "LWS_WORKER_INDEX is '2'"));
  EXPECT_TRUE(has(
      complaint({{"JOB_COMPLETION_INDEX", "2"}, {"SHARDC_WORLD_SIZE", "2"}}),
      "JOB_COMPLETION_INDEX is '2'"));
  EXPECT_TRUE(has(complaint({{"SHARDC_RANK", "0"}, {"SHARDC_WORLD_SIZE", "2"}}),
                  "SHARDC_RENDEZVOUS is missing"));
  for (const char *meeting : {"host", "host:", ":1", "host:0", "host:99999"})
    EXPECT_TRUE(has(complaint({{"SHARDC_RANK", "0"},
                               {"SHARDC_WORLD_SIZE", "2"},
                               {"SHARDC_RENDEZVOUS", meeting}}),
                    "expected HOST:PORT"))
        << meeting;
}

TEST(ProcessPlace, FirstHost) {
  EXPECT_EQ(firstHost("node1"), "node1");
  EXPECT_EQ(firstHost("node1,node2"), "node1");
  EXPECT_EQ(firstHost("node[003-010]"), "node003");
  EXPECT_EQ(firstHost("rack[2,4]n[08,11-12]x,y"), "rack2n08x");
  EXPECT_EQ(firstHost("broken["), "broken");
  EXPECT_EQ(firstHost(""), "");
}

} // namespace
} // namespace shardc::runtime
