//===- DeviceFunctions.h - What threads of a GPU ask and tell each other --===//
//
// The GPU form of a kernel calls these as plain functions. CompilePtx.cpp gives
// them bodies of one instruction each; the simulator of the tests runs the same
// code on a CPU with bodies of its own.
//
//===----------------------------------------------------------------------===//
#ifndef SHARDC_COMPILER_CODEGEN_CUDA_DEVICEFUNCTIONS_H
#define SHARDC_COMPILER_CODEGEN_CUDA_DEVICEFUNCTIONS_H

#include "llvm/ADT/StringRef.h"

namespace shardc::codegen::device {

/// i32 (): this thread's number in its block, and how many the block has: whole
/// warps.
inline constexpr llvm::StringLiteral kThread = "shardc_thread";
inline constexpr llvm::StringLiteral kThreads = "shardc_threads";
/// i32 (): this block's place in the grid, and the grid's extents.
inline constexpr llvm::StringLiteral kBlock[] = {
    "shardc_block_x", "shardc_block_y", "shardc_block_z"};
inline constexpr llvm::StringLiteral kBlocks[] = {
    "shardc_blocks_x", "shardc_blocks_y", "shardc_blocks_z"};
/// f32 (f32 value, i32 mask): the value of the thread of this warp whose number
/// differs in the bits of the mask. All threads of the warp call it.
inline constexpr llvm::StringLiteral kShuffle = "shardc_shuffle";
/// void (): waits for all threads of the block.
inline constexpr llvm::StringLiteral kBarrier = "shardc_barrier";
/// ptr (): memory that the threads of a block share. First a float for each
/// warp, kMaxWarps of them, then what the launch asked for.
inline constexpr llvm::StringLiteral kShared = "shardc_shared";

inline constexpr int kWarp = 32;     ///< threads
inline constexpr int kMaxWarps = 32; ///< of a block
/// Most threads that a block is launched with: more would get too few
/// registers.
inline constexpr int kMaxThreads = 512;

} // namespace shardc::codegen::device

#endif // SHARDC_COMPILER_CODEGEN_CUDA_DEVICEFUNCTIONS_H
