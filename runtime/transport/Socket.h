//===- Socket.h - TCP connections with deadlines --------------------------===//
//
// What the processes of a run need of sockets to find each other. All waits end
// at a deadline; nothing here retries for ever.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_RUNTIME_TRANSPORT_SOCKET_H
#define SHARDC_RUNTIME_TRANSPORT_SOCKET_H

#include "runtime/base/Status.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

namespace shardc::runtime {

using Deadline = std::chrono::steady_clock::time_point;

/// Owns a descriptor; non-blocking.
class Socket {
public:
  Socket() = default;
  explicit Socket(int fd) : fd(fd) {}
  Socket(Socket &&other) noexcept : fd(std::exchange(other.fd, -1)) {}
  Socket &operator=(Socket &&other) noexcept {
    std::swap(fd, other.fd);
    return *this;
  }
  ~Socket() { close(); }

  int descriptor() const { return fd; }
  bool isOpen() const { return fd >= 0; }
  void close();

  /// Whether the other end's system has all that was sent. What it has not is
  /// lost where this end closes with something unread.
  bool hasDelivered() const;
  /// Whether the other end has closed, and nothing of it is unread.
  bool hasHungUp() const;
  /// Waits for `events` of poll(); false at the deadline.
  bool wait(short events, Deadline deadline) const;
  /// All of it, or false: the other end is gone, or it takes too long.
  bool sendAll(const void *data, size_t bytes, Deadline deadline) const;
  bool receiveAll(void *data, size_t bytes, Deadline deadline) const;

private:
  int fd = -1;
};

/// Listens on this numeric address, or on all of this machine (""); port 0: any
/// free one. `port` is then the one that it is.
Status listenOn(uint16_t &port, Socket &listener,
                const std::string &address = "");
/// A caller; not open at the deadline.
Socket acceptOne(const Socket &listener, Deadline deadline);
/// Tries the comma-separated `hosts` in turn, again and again: who is called
/// may not listen yet. `from`: a numeric address of this machine that the
/// connection starts at, where it is of the same kind; "": any.
Status connectTo(const std::string &hosts, uint16_t port, Deadline deadline,
                 Socket &socket, const std::string &from = "");
/// The numeric address of the other end, and of this one; empty if unknown.
std::string peerAddress(const Socket &socket);
std::string ownAddress(const Socket &socket);
/// Of this machine, which no other machine can reach: also "localhost".
bool isLoopback(const std::string &address);

} // namespace shardc::runtime

#endif // SHARDC_RUNTIME_TRANSPORT_SOCKET_H
