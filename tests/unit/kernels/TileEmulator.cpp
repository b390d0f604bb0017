//===- TileEmulator.cpp - AMX for processors without it -------------------===//
//
// Preloaded (LD_PRELOAD) into a program, it has the compiled code of tiles run
// as it is where the processor has none: CPUID is made to fault (arch_prctl(2),
// ARCH_SET_CPUID) and then tells of tiles, the system's permission is given, and
// each instruction of AMX, illegal here, is done by its definition.
//
//   TDPBF16PS tmm0, tmm4, tmm6   c4 e2 4a 5c c4   SIGILL: sums of pairs, RIP + 5
//
// (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2.) It
// tells what a kernel computes, nothing of its speed. A processor with tiles is
// left alone; where there are none, and CPUID cannot fault, the program ends with
// kSkipped. SHARDC_TILES_WERE_USED names a file that is made where a tile was
// multiplied here: who counts on that looks for it.
//
//===----------------------------------------------------------------------===//

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <asm/prctl.h>
#include <cpuid.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

namespace {

constexpr int kSkipped = 77; ///< as SKIP_RETURN_CODE and tests read it
constexpr int kTiles = 8, kRows = 16, kRowBytes = 64;

struct TileState {
  alignas(64) uint8_t bytes[kTiles][kRows][kRowBytes] = {};
  int rows[kTiles] = {};
  int rowBytes[kTiles] = {};
};
// In the block of the thread: a handler must not allocate.
[[gnu::tls_model("initial-exec")]] thread_local TileState state;

long systemCall(long number, long a, long b, long c = 0, long d = 0, long e = 0,
                long f = 0) {
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

bool setCpuid(bool mayRun) {
  return systemCall(SYS_arch_prctl, ARCH_SET_CPUID, mayRun) == 0;
}

//===----------------------------------------------------------------------===//
// What the instructions do
//===----------------------------------------------------------------------===//

void noteUse() {
  static bool isNoted = false;
  if (isNoted)
    return;
  isNoted = true;
  if (const char *file = getenv("SHARDC_TILES_WERE_USED"))
    close(open(file, O_CREAT | O_WRONLY, 0600));
}

/// As memory has it: palette, row to start at, bytes of rows, numbers of rows.
void loadShapes(const uint8_t *from) {
  state = {};
  for (int tile = 0; from[0] && tile < kTiles; ++tile) {
    uint16_t rowBytes;
    std::memcpy(&rowBytes, from + 16 + 2 * tile, 2);
    state.rowBytes[tile] = rowBytes;
    state.rows[tile] = from[48 + tile];
    if (rowBytes > kRowBytes || from[48 + tile] > kRows)
      abort(); // a general protection fault
  }
}

float widened(uint16_t bits) {
  const uint32_t wide = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &wide, 4);
  return value;
}

/// Pairs of bfloat16 in two chains, which are added to the sum at the end.
void multiplyRounded(int to, int left, int right) {
  _mm_setcsr(0x9fc0); // denormal numbers are zero, and nothing traps
  const int columns = state.rowBytes[to] / 4, pairs = state.rowBytes[left] / 4;
  for (int m = 0; m < state.rows[to]; ++m) {
    float even[kRows] = {}, odd[kRows] = {};
    uint16_t a[kRowBytes / 2], b[kRowBytes / 2];
    std::memcpy(a, state.bytes[left][m], kRowBytes);
    for (int k = 0; k < pairs; ++k) {
      std::memcpy(b, state.bytes[right][k], kRowBytes);
      for (int n = 0; n < columns; ++n) {
        even[n] = __builtin_fmaf(widened(a[2 * k]), widened(b[2 * n]), even[n]);
        odd[n] = __builtin_fmaf(widened(a[2 * k + 1]), widened(b[2 * n + 1]),
                                odd[n]);
      }
    }
    float sums[kRows];
    std::memcpy(sums, state.bytes[to][m], kRowBytes);
    for (int n = 0; n < columns; ++n)
      sums[n] += even[n] + odd[n];
    std::memcpy(state.bytes[to][m], sums, size_t(columns) * 4);
  }
}

template <typename A, typename B>
void multiplyBytes(int to, int left, int right) {
  const int columns = state.rowBytes[to] / 4, fours = state.rowBytes[left] / 4;
  for (int m = 0; m < state.rows[to]; ++m) {
    uint32_t sums[kRows];
    std::memcpy(sums, state.bytes[to][m], kRowBytes);
    for (int k = 0; k < fours; ++k)
      for (int n = 0; n < columns; ++n)
        for (int i = 0; i < 4; ++i)
          sums[n] += uint32_t(int32_t(A(state.bytes[left][m][4 * k + i])) *
                              B(state.bytes[right][k][4 * n + i]));
    std::memcpy(state.bytes[to][m], sums, size_t(columns) * 4);
  }
}

//===----------------------------------------------------------------------===//
// Which one it is
//===----------------------------------------------------------------------===//

enum Prefix : uint8_t { kNone, k66, kF3, kF2 }; ///< as VEX counts them

/// An instruction of three bytes of VEX, its code, and what it works on.
struct Instruction {
  uint8_t code = 0;
  Prefix prefix = kNone;
  int reg = 0, rm = 0, third = 0;
  bool isMemory = false;
  uint8_t *address = nullptr;
  int64_t stride = 0;
  int length = 0;
};

int64_t registerOf(const ucontext_t &context, int number) {
  static constexpr int kOrder[] = {
      REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
      REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  return context.uc_mcontext.gregs[kOrder[number]];
}

/// `[base + index * scale + displacement]`, of which the index is the stride of
/// an operand in rows.
void readAddress(const ucontext_t &context, const uint8_t *code, int at,
                 Instruction &found) {
  const int mod = code[at] >> 6;
  const int x = code[1] & 0x40 ? 0 : 8, b = code[1] & 0x20 ? 0 : 8;
  int base = (code[at] & 7) + b, index = 4, scale = 0, mode = mod;
  const bool isAbsolute = mod == 0 && (code[at] & 7) == 5; // from what follows
  if ((code[at++] & 7) == 4) {
    scale = code[at] >> 6;
    index = (code[at] >> 3 & 7) + x;
    base = (code[at] & 7) + b;
    if (mod == 0 && (code[at] & 7) == 5)
      base = -1, mode = 2; // a displacement alone
    ++at;
  }
  int64_t address = base < 0 || isAbsolute ? 0 : registerOf(context, base);
  if (mode == 1)
    address += int8_t(code[at++]);
  if (mode == 2 || isAbsolute) {
    int32_t displacement;
    std::memcpy(&displacement, code + at, 4);
    address += displacement;
    at += 4;
  }
  if (isAbsolute)
    address += reinterpret_cast<int64_t>(code) + at;
  if (index != 4) // no register: 0
    found.stride = registerOf(context, index) * (int64_t(1) << scale);
  found.address = reinterpret_cast<uint8_t *>(address);
  found.length = at;
}

/// False where it is none of tiles.
bool read(const ucontext_t &context, const uint8_t *code, Instruction &found) {
  if (code[0] != 0xc4 || (code[1] & 0x1f) != 2 || code[2] & 0x84)
    return false; // another map, or W or L
  found.prefix = Prefix(code[2] & 3);
  found.third = ~(code[2] >> 3) & 15;
  found.code = code[3];
  found.reg = code[4] >> 3 & 7;
  found.rm = code[4] & 7;
  found.isMemory = code[4] >> 6 != 3;
  found.length = 5;
  if (found.isMemory)
    readAddress(context, code, 4, found);
  return true;
}

void load(const Instruction &it) {
  uint8_t (&tile)[kRows][kRowBytes] = state.bytes[it.reg];
  std::memset(tile, 0, sizeof tile);
  for (int i = 0; i < state.rows[it.reg]; ++i)
    std::memcpy(tile[i], it.address + i * it.stride,
                size_t(state.rowBytes[it.reg]));
}

void store(const Instruction &it) {
  for (int i = 0; i < state.rows[it.reg]; ++i)
    std::memcpy(it.address + i * it.stride, state.bytes[it.reg][i],
                size_t(state.rowBytes[it.reg]));
}

/// Whether their shapes go together; others are an illegal instruction.
bool areProduct(const Instruction &it) {
  const int rows = state.rows[it.reg], depth = state.rowBytes[it.rm] / 4;
  return !it.isMemory && it.third < kTiles && it.reg != it.rm &&
         it.reg != it.third && it.rm != it.third && rows > 0 &&
         state.rowBytes[it.reg] % 4 == 0 && state.rowBytes[it.rm] % 4 == 0 &&
         state.rows[it.rm] == rows && state.rows[it.third] == depth &&
         state.rowBytes[it.third] == state.rowBytes[it.reg];
}

bool multiply(const Instruction &it) {
  if (!areProduct(it))
    return false;
  noteUse();
  if (it.code == 0x5c) {
    if (it.prefix != kF3)
      return false; // of float16
    multiplyRounded(it.reg, it.rm, it.third);
    return true;
  }
  constexpr decltype(&multiplyBytes<int8_t, int8_t>) kinds[] = {
      multiplyBytes<uint8_t, uint8_t>, multiplyBytes<uint8_t, int8_t>,
      multiplyBytes<int8_t, uint8_t>, multiplyBytes<int8_t, int8_t>};
  kinds[it.prefix](it.reg, it.rm, it.third);
  return true;
}

bool run(const Instruction &it) {
  switch (it.code) {
  case 0x49:
    if (it.prefix == kNone && it.isMemory)
      loadShapes(it.address);
    else if (it.prefix == kNone)
      state = {};
    else if (it.prefix == kF2 && !it.isMemory)
      std::memset(state.bytes[it.reg], 0, sizeof state.bytes[it.reg]);
    else
      return false;
    return true;
  case 0x4b:
    if (!it.isMemory || it.prefix == kNone || state.rows[it.reg] == 0)
      return false;
    it.prefix == kF3 ? store(it) : load(it);
    return true;
  case 0x5c:
  case 0x5e:
    return multiply(it);
  default:
    return false;
  }
}

//===----------------------------------------------------------------------===//
// Where they come from
//===----------------------------------------------------------------------===//

// What the program wants to be called for.
struct sigaction wanted[NSIG];

bool isOurs(int signal) { return signal == SIGILL || signal == SIGSEGV; }

int setAction(int signal, const struct sigaction *action,
              struct sigaction *former) {
  static const auto next =
      reinterpret_cast<decltype(&sigaction)>(dlsym(RTLD_NEXT, "sigaction"));
  return next(signal, action, former);
}

/// None of tiles: the program's handler has it, where it happens again.
void giveUp(int signal) { setAction(signal, &wanted[signal], nullptr); }

void onIllegal(int signal, siginfo_t *, void *opaque) {
  auto &context = *static_cast<ucontext_t *>(opaque);
  greg_t &next = context.uc_mcontext.gregs[REG_RIP];
  Instruction it;
  if (!read(context, reinterpret_cast<const uint8_t *>(next), it) || !run(it))
    return giveUp(signal);
  next += it.length;
}

void onFault(int signal, siginfo_t *, void *opaque) {
  greg_t *registers = static_cast<ucontext_t *>(opaque)->uc_mcontext.gregs;
  const auto *code = reinterpret_cast<const uint8_t *>(registers[REG_RIP]);
  if (code[0] != 0x0f || code[1] != 0xa2)
    return giveUp(signal);
  setCpuid(true);
  unsigned a, b, c, d;
  const auto leaf = unsigned(registers[REG_RAX]);
  const auto part = unsigned(registers[REG_RCX]);
  __cpuid_count(leaf, part, a, b, c, d);
  setCpuid(false);
  if (leaf == 7 && part == 0) // AMX-BF16, AMX-TILE, AMX-INT8
    d |= 1u << 22 | 1u << 24 | 1u << 25;
  registers[REG_RAX] = a;
  registers[REG_RBX] = b;
  registers[REG_RCX] = c;
  registers[REG_RDX] = d;
  registers[REG_RIP] += 2;
}

bool handle(int signal, void (*handler)(int, siginfo_t *, void *)) {
  struct sigaction action = {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO;
  return setAction(signal, &action, &wanted[signal]) == 0;
}

bool isEmulated = false;

[[gnu::constructor]] void begin() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool hasTiles =
      __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & 1u << 24);
  if (hasTiles)
    return;
  // Tiles are used beside these vectors alone (ProcessorLevel.h).
  const bool hasVectors = __builtin_cpu_supports("avx512bf16") &&
                          __builtin_cpu_supports("avx512vl") &&
                          __builtin_cpu_supports("avx512bw");
  isEmulated = hasVectors && handle(SIGILL, onIllegal) &&
               handle(SIGSEGV, onFault) && setCpuid(false);
  if (isEmulated)
    return;
  std::printf(": Skipped\nno AMX, and %s\n",
              hasVectors ? "CPUID cannot be made to fault here"
                         : "no products of bfloat16 in vectors, beside which "
                           "tiles are used");
  std::fflush(stdout);
  _exit(kSkipped);
}

} // namespace

/// The library's, but for the two signals that are needed here.
extern "C" int sigaction(int signal, const struct sigaction *action,
                         struct sigaction *former) noexcept {
  if (!isEmulated || !isOurs(signal))
    return setAction(signal, action, former);
  const struct sigaction before = wanted[signal];
  if (action)
    wanted[signal] = *action;
  if (former)
    *former = before;
  return 0;
}

/// The library's, but for the permission to use tiles.
extern "C" long syscall(long number, ...) {
  va_list list;
  va_start(list, number);
  long of[6];
  for (long &each : of)
    each = va_arg(list, long);
  va_end(list);
  constexpr int kRequestPermission = 0x1023, kTileData = 18;
  if (isEmulated && number == SYS_arch_prctl && of[0] == kRequestPermission &&
      of[1] == kTileData)
    return 0;
  const long result =
      systemCall(number, of[0], of[1], of[2], of[3], of[4], of[5]);
  if (result >= 0 || result < -4095)
    return result;
  errno = int(-result);
  return -1;
}
