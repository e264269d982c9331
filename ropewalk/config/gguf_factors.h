// The tensors of a GGUF file that divide frequencies.
#ifndef ROPEWALK_CONFIG_GGUF_FACTORS_H_
#define ROPEWALK_CONFIG_GGUF_FACTORS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ropewalk/config/gguf_architectures.h"
#include "ropewalk/config/gguf_report.h"
#include "ropewalk/formats/gguf.h"

namespace ropewalk {

struct GgufFactors {
  enum class Kind { kNone, kFreqs, kLists };
  Kind kind = Kind::kNone;
  // The file ends before their values, or holds no tensors at all: there are divisors, or may be,
  // that are not told.
  bool cut_off = false;
};

// Which of them are in force. Throws Error where one list comes without the other.
//   scaling_type  rope.scaling.type
GgufFactors find_gguf_factors(const GgufFile& file, const GgufKeys& keys,
                              const GgufArchitecture& architecture, const std::string& scaling_type,
                              GgufReport& report);

// What is in force, and not cut off: one list of divisors, or the long list and the short one.
//   n_stored  values of each tensor
//   n_pairs   <= n_stored; the first ones count
// Throws Error where a tensor has another length, or holds no finite and positive numbers.
std::vector<std::vector<double>> read_gguf_factors(const GgufFile& file, const GgufFactors& factors,
                                                   int64_t n_stored, int64_t n_pairs,
                                                   GgufReport& report);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_GGUF_FACTORS_H_
