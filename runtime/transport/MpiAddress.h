//===- MpiAddress.h - Asking MPI where rank 0 is --------------------------===//
//
// mpirun tells a process its rank, but not where rank 0 runs. MPI itself does:
// rank 0 broadcasts its addresses, and that is all that MPI is used for. Data
// goes over own connections, since MPI cannot lose a process: the others hang
// or are killed, without a word on what they waited for.
//
// The runtime does not link MPI. A plugin beside it does (libshardrt_mpi.so,
// built where MPI is installed), and is opened only under mpirun. Where it is not
// there, as in a wheel, processes of one machine still find each other.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_TRANSPORT_MPIADDRESS_H
#define SHARDC_RUNTIME_TRANSPORT_MPIADDRESS_H

#include "runtime/launch/ProcessPlace.h"

namespace shardc::runtime {

/// Sets host and port of `place` where nobody can tell them, and nobody has to: all
/// are on one machine, which has no plugin.
void addressWithoutMpi(ProcessPlace &place);

/// Sets host and port of `place` on all ranks; rank 0 listens on `port`, of
/// that address alone if it is not empty.
Status addressOverMpi(uint16_t port, const std::string &only,
                      ProcessPlace &place);

/// The plugin's one function: `text` of rank 0 goes to all ranks; whether they
/// are all on one machine. Not 0: MPI could not be started.
using MpiTell = int (*)(char *text, int bytes, int *onOneMachine);
inline constexpr char kMpiTell[] = "shardrt_mpi_tell";

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRANSPORT_MPIADDRESS_H
