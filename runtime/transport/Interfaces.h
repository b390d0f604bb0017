//===- Interfaces.h - This machine's addresses ----------------------------===//
#ifndef SHARDC_RUNTIME_TRANSPORT_INTERFACES_H
#define SHARDC_RUNTIME_TRANSPORT_INTERFACES_H

#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace shardc::runtime {

struct InterfaceAddress {
  std::string name;    ///< "eth0"
  std::string address; ///< numeric
};

/// At which other machines may reach this one, IPv4 first.
std::vector<InterfaceAddress> ownAddresses();

/// The numeric address of an interface that is called by its name or by an
/// address that it has. InvalidArgument: there is none; it names all that are.
Status findInterface(const std::string &wanted, std::string &address);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRANSPORT_INTERFACES_H
