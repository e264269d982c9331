// Random choices that are the same on every machine.
#ifndef ROPEWALK_STUDY_PICK_H_
#define ROPEWALK_STUDY_PICK_H_

#include <cstddef>
#include <cstdint>
#include <random>

namespace ropewalk {

// Uniform on [0, size) by the high half of a product: std's distributions differ between libraries.
inline size_t pick(std::mt19937_64& generator, size_t size) {
  return static_cast<size_t>(((generator() >> 32) * static_cast<uint64_t>(size)) >> 32);
}

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_PICK_H_
