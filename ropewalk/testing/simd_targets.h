// Tests of kernels on every SIMD target that this machine can run.
#ifndef ROPEWALK_TESTING_SIMD_TARGETS_H_
#define ROPEWALK_TESTING_SIMD_TARGETS_H_

#include <gtest/gtest.h>

#include <string>

#include "ropewalk/kernels/attention.h"

namespace ropewalk {

// Forces a target for as long as it lives.
class ForcedTarget {
 public:
  explicit ForcedTarget(const std::string& name) { force_attention_target(name); }
  ~ForcedTarget() { force_attention_target(""); }

  ForcedTarget(const ForcedTarget&) = delete;
  ForcedTarget& operator=(const ForcedTarget&) = delete;
};

// Runs the body on each of them.
template <typename Body>
void on_every_target(const Body& body) {
  for (const std::string& target : attention_targets()) {
    SCOPED_TRACE(target);
    const ForcedTarget forced(target);
    body();
  }
}

}  // namespace ropewalk

#endif  // ROPEWALK_TESTING_SIMD_TARGETS_H_
