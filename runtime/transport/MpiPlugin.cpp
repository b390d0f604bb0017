//===- MpiPlugin.cpp - libshardrt_mpi.so, see MpiAddress.h ----------------===//
#include "runtime/transport/MpiAddress.h"

#include <mpi.h>

/// Starts MPI if nobody has, and then ends it again: the processes need it no
/// more.
extern "C" __attribute__((visibility("default"))) int
shardrt_mpi_tell(char *text, int bytes, int *onOneMachine) {
  int isRunning = 0, hasEnded = 0;
  MPI_Finalized(&hasEnded);
  if (hasEnded) // here or elsewhere: it starts once in a process
    return 1;
  MPI_Initialized(&isRunning);
  if (!isRunning && MPI_Init(nullptr, nullptr) != MPI_SUCCESS)
    return 1;
  MPI_Comm machine;
  int all = 0, here = 0;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                      &machine);
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  MPI_Comm_size(machine, &here);
  // All are on one machine, or none of them says so.
  int isOne = all == here;
  MPI_Allreduce(&isOne, onOneMachine, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  const int failed = MPI_Bcast(text, bytes, MPI_CHAR, 0, MPI_COMM_WORLD);
  MPI_Comm_free(&machine);
  if (!isRunning)
    MPI_Finalize();
  return failed == MPI_SUCCESS ? 0 : 1;
}
