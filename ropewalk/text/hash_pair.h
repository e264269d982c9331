// The hash of a pair of 32-bit values packed in one word.
#ifndef ROPEWALK_TEXT_HASH_PAIR_H_
#define ROPEWALK_TEXT_HASH_PAIR_H_

#include <cstddef>
#include <cstdint>

namespace ropewalk {

constexpr uint64_t pack_pair(uint32_t left, uint32_t right) {
  return static_cast<uint64_t>(left) << 32 | right;
}

// The finalizer of splitmix64: keys come from a file, and must not easily fall into one bucket.
struct HashPair {
  size_t operator()(uint64_t pair) const {
    pair = (pair ^ (pair >> 30)) * 0xbf58476d1ce4e5b9u;
    pair = (pair ^ (pair >> 27)) * 0x94d049bb133111ebu;
    return static_cast<size_t>(pair ^ (pair >> 31));
  }
};

}  // namespace ropewalk

#endif  // ROPEWALK_TEXT_HASH_PAIR_H_
