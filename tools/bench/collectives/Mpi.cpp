//===- Mpi.cpp - MPI's collectives ----------------------------------------===//
#include "tools/bench/collectives/Cases.h"

#include <mpi.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  bench::runCases(
      argc, argv, rank, ranks,
      [&](const std::string &operation, bench::Buffers &b, size_t bytes) {
        const int whole = static_cast<int>(bytes / 4), part = whole / ranks;
        if (operation == "all_reduce")
          MPI_Allreduce(b.in.data(), b.out.data(), whole, MPI_FLOAT, MPI_SUM,
                        MPI_COMM_WORLD);
        else if (operation == "all_gather")
          MPI_Allgather(b.in.data(), part, MPI_FLOAT, b.out.data(), part,
                        MPI_FLOAT, MPI_COMM_WORLD);
        else
          MPI_Alltoall(b.in.data(), part, MPI_FLOAT, b.out.data(), part,
                       MPI_FLOAT, MPI_COMM_WORLD);
      });
  return MPI_Finalize();
}
