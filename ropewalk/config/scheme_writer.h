// A model file that declares another scheme: the one that an engine is to run.
#ifndef ROPEWALK_CONFIG_SCHEME_WRITER_H_
#define ROPEWALK_CONFIG_SCHEME_WRITER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ropewalk/config/portability.h"

namespace ropewalk {

// What the matrices are stored as; vectors become f32 unless everything stays the same.
enum class WriteType { kSame, kF32, kBf16 };

struct WriteRequest {
  std::string model;  // a GGUF file, a config.json, or a directory with one
  std::string scheme = "declared";
  TargetEngine engine = TargetEngine::kLlamaCpp;
  int64_t target_length = 0;  // the new context length; 0: as declared
  WriteType type = WriteType::kSame;
  std::string output;  // never the model itself; replaced whole where it exists and may be
  bool force = false;  // replace any model there, not only what was written from this one
  bool undo = false;   // restore what the last write replaced; scheme, length and type do not count
};

struct KeyChange {
  std::string key;
  std::string before;  // as text; empty: was absent
  std::string after;   // as text; empty: is gone
};

struct WriteReport {
  std::string output;                // the file that was written
  std::string how;                   // as Portability says it; empty for an undo
  std::vector<KeyChange> keys;       // in the file's order, new ones last
  std::vector<std::string> added;    // tensors
  std::vector<std::string> removed;  // tensors
  std::vector<std::string> layers;   // which layers got the scheme, where they are not alike
  std::vector<std::string> notes;    // what the reader should know

  // SHA-256 over the bytes of all tensors that both files have, in file order: before the write,
  // and of the file as it was read back. Empty for a config.json, and `before` where the type
  // changed, since the data did.
  std::string data_before;
  std::string data_after;

  // SHA-256 of whole files; `original` of the one that the write started from. Of an undo, `restored` is what the undo record promised: equal to
  // `written`, or the undo would have failed.
  std::string original;
  std::string written;
  std::string restored;

  // The largest relative difference between a frequency of the scheme and what the file says of
  // it, in float32 as the format has it; 0 where exact.
  double largest_difference = 0;
};

// Writes `output` whole or not at all; the model file is never modified. A scheme counts from the
// model as it was trained: of a file that was written before, from what its undo gives; one that
// was edited since is refused, for that would lose the edits. What was
// written is read back and compared with the scheme before it gets its name, and so is what the
// engine makes of it.
// Throws Error naming what the engine would not load or would misread, and where files fail.
WriteReport write_model(const WriteRequest& request);

}  // namespace ropewalk

#endif  // ROPEWALK_CONFIG_SCHEME_WRITER_H_
