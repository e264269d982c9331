// What a run of a model will take of memory, foretold from its file's metadata before any weight is
// read, by the sizes that the engine's buffers are made with.
#ifndef ROPEWALK_ENGINE_MEMORY_ESTIMATE_H_
#define ROPEWALK_ENGINE_MEMORY_ESTIMATE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ropewalk/engine/available_memory.h"
#include "ropewalk/engine/model.h"

namespace ropewalk {

// What is asked of the model.
struct MemoryRun {
  Precision precision = Precision::kF32;
  int64_t tokens = 0;      // of the longest sequence
  int64_t rows = 0;        // of the largest pass
  bool all_logits = true;  // for losses; else those of one token at a time
  // Whose tables are counted; null: they are not.
  const Positions* positions = nullptr;
  int64_t beside = 0;  // bytes that whoever runs it holds while passes run

  // Model::losses() of so many tokens.
  static MemoryRun losses(Precision precision, int64_t tokens, const Positions* positions);
  // A Sequence of that capacity, given `prompt` tokens at once and then one by one.
  static MemoryRun generation(Precision precision, int64_t prompt, int64_t capacity,
                              const Positions& positions);
};

// Bytes of memory that is resident at once.
struct MemoryEstimate {
  int64_t process = 0;  // what the process holds by now: program, tokenizer, metadata
  int64_t file = 0;     // what is read of the file at once: pages that the system may take back
  int64_t weights = 0;  // packed for products, streamed ones a layer at a time, norms and tables
  int64_t cache = 0;    // keys and values
  int64_t activations = 0;  // of the largest pass, tables of positions and what lies beside in them
  int64_t logits = 0;

  int64_t peak() const { return process + file + weights + cache + activations + logits; }
  // That the system has still to give, and cannot take back.
  int64_t wanted() const { return peak() - process - file; }
  // Names and bytes, in the order above.
  std::vector<std::pair<std::string, int64_t>> parts() const;
  // "weights 256.6 MiB, cache 45.0 MiB" and so on.
  std::string text() const;
};

// Throws Error where the engine does not run the model.
MemoryEstimate estimate_memory(const ModelFile& file, const MemoryRun& run);

// Sees to it that the run fits: where packed matrices do not and nothing is said of how they are held,
// they are streamed. Throws Error where the run wants more than there is even so.
//   shorten    what makes the run smaller: "a shorter text"
//   available  nothing: not known, and nothing is refused
void fit_memory(ModelFile& file, const MemoryRun& run, const std::string& shorten,
                const std::optional<AvailableMemory>& available = available_memory());

// "1.25 GiB"
std::string bytes_text(int64_t bytes);

}  // namespace ropewalk

#endif  // ROPEWALK_ENGINE_MEMORY_ESTIMATE_H_
