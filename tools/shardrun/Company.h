//===- Company.h - Processes that run an artifact together ----------------===//
#ifndef SHARDC_TOOLS_SHARDRUN_COMPANY_H
#define SHARDC_TOOLS_SHARDRUN_COMPANY_H

#include "tools/shardrun/Client.h"
#include "tools/shardrun/Options.h"

namespace shardrun {

/// None where this process is alone.
shardc::runtime::Status join(const Options &options,
                             shardrt::Processes &processes);

/// The status that all processes get.
shardc::runtime::Status conclude(shardrt::Processes &processes,
                                 const shardc::runtime::Status &status);

/// The processes of a session, in which others take the place of those that are
/// gone.
class Company {
public:
  Company(const Options &options, shardrt::Processes &processes)
      : options(options), processes(processes), left(options.rejoin) {}

  const shardrt::Processes &get() const { return processes; }
  bool isLead() const { return processes.rank() == 0; }
  /// Whether to go on with others after that.
  bool mayGoOn(const shardrt::Session &session,
               const shardc::runtime::Status &status) {
    return !status.isOk() && processes.get() && session.isLost() && left-- > 0;
  }
  shardc::runtime::Status meetAgain(shardrt::Session &session);
  /// Of a server, on a thread of it.
  shardc::runtime::Status reopen(shardrt::Session &session);

private:
  const Options &options;
  shardrt::Processes &processes;
  int left;
};

/// Of a server that has lost its session: shardrt_server_options::reopen.
struct Reopening {
  Company &company;
  shardrt::Session &session;

  static shardrt_status call(shardrt_session *, const char *, void *context);
};

} // namespace shardrun

#endif // SHARDC_TOOLS_SHARDRUN_COMPANY_H
