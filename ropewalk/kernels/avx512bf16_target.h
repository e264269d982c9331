// What the bfloat16 kernels are compiled for. They are written with intrinsics because the Highway that
// is installed (1.0.3) has no bfloat16 dot product of the hardware's. All of their files are included
// by attention_avx512bf16.cc alone, and everything in them has internal linkage: no other file can be
// handed a copy of what is compiled for AVX-512.
#ifndef ROPEWALK_KERNELS_AVX512BF16_TARGET_H_
#define ROPEWALK_KERNELS_AVX512BF16_TARGET_H_

// GCC 12 warns of its own headers' undefined vectors (GCC bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

// What the code between BEGIN and END is compiled for.
#define ROPEWALK_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define ROPEWALK_COMPILE_FOR(target_list) \
  ROPEWALK_PRAGMA(clang attribute push(__attribute__((target(target_list))), apply_to = function))
#define ROPEWALK_END_AVX512BF16 ROPEWALK_PRAGMA(clang attribute pop)
#else
#define ROPEWALK_COMPILE_FOR(target_list) \
  ROPEWALK_PRAGMA(GCC push_options) ROPEWALK_PRAGMA(GCC target target_list)
#define ROPEWALK_END_AVX512BF16 ROPEWALK_PRAGMA(GCC pop_options)
#endif
#define ROPEWALK_BEGIN_AVX512BF16 \
  ROPEWALK_COMPILE_FOR("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,fma,avx2,f16c")

#define ROPEWALK_AMX \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,amx-tile,amx-bf16")))

#endif  // ROPEWALK_KERNELS_AVX512BF16_TARGET_H_
