// What a rope_type makes of the frequencies, as a scheme string.
#ifndef ROPEWALK_CONFIG_HF_SCALING_H_
#define ROPEWALK_CONFIG_HF_SCALING_H_

#include <cstdint>
#include <string>

#include "ropewalk/config/hf_notes.h"
#include "ropewalk/config/hf_scaling_block.h"
#include "ropewalk/config/hf_shape.h"
#include "ropewalk/config/hf_width.h"
#include "ropewalk/math/double_double.h"

namespace ropewalk {

struct HfScaling {
  std::string scheme = "rope";  // a spectrum part
  int64_t trained_length = 0;   // L that it counts from; 0: unknown
  std::string trained_from;

  // LongRoPE's long list may have an amplitude of its own: it replaces the scheme's above
  // trained_length. 0: none.
  double long_amplitude = 0;
  double amplitude = 1;  // the scheme's, of LongRoPE alone

  int64_t least_length = 0;  // as FrequencyDeclaration has it

  int64_t usable_length = 0;  // 0: as many as the file declares positions
  std::string usable_reason;
};

// Throws Error naming the key.
//   notes  takes the fields, and what there is to say
HfScaling read_hf_scaling(HfReading& reading, const HfKeys& keys, const HfLength& length,
                          const HfWidth& width, HfNotes& notes);

// The parts of a scaling that yarn and its kin are made of; see hf_yarn.cc.
class HfScalingReader {
 public:
  HfScalingReader(HfReading& reading, const HfKeys& keys, const HfLength& length,
                  const HfWidth& width, HfNotes& notes);
  HfScaling read();

 private:
  JsonFields& block() { return *keys_.block; }
  bool block_has(const std::string& key) const { return keys_.block->has_value(key); }
  std::string name(const std::string& key) const { return keys_.block->name(key); }

  void apply(HfScalingRule rule);
  void plain();
  void linear();
  void dynamic();
  void alpha();
  void ntk();
  void llama3();
  void proportional();
  void nomic();
  void decaying(const std::string& key);
  void qwen();
  void telechat();
  void yarn();
  void yarn_multipliers(double factor);
  void yarn_multiplied(double factor);
  DoubleDouble own_amplitude(double factor);
  void yarn_engines(double factor);
  double yarn_factor(int64_t original);
  double beta(const std::string& key, double fallback);
  void longrope();
  double longrope_amplitude(int64_t original);
  void longrope_mscales();
  std::string divisors(const std::string& key);

  double read_factor();
  int64_t read_original(bool required);
  void note_implied_factor(double factor, int64_t original);
  bool positive(const std::string& key);    // whether it is there; its field, then, checked
  bool multiplier(const std::string& key);  // the same, of what coordinates are multiplied by
  void count_from(int64_t length, const std::string& from);
  void usable(double length, const std::string& reason);

  HfReading& reading_;
  const HfKeys& keys_;
  const HfLength& length_;
  const HfWidth& width_;
  HfNotes& notes_;
  HfScaling result_;
};

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_HF_SCALING_H_
