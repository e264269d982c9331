// Documents cut into windows: the units of every mean, race and bootstrap.
#ifndef ROPEWALK_STUDY_WINDOWS_H_
#define ROPEWALK_STUDY_WINDOWS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ropewalk {

// One text file, tokenized without special tokens.
struct Document {
  std::string name;
  std::vector<int32_t> ids;
};

// A run of tokens that is scored in one pass.
struct Window {
  size_t document = 0;       // index of its document
  int64_t first = 0;         // its first token in the document
  std::vector<int32_t> ids;  // what the model is given, BOS included
};

struct WindowSet {
  std::vector<Window> windows;
  int64_t dropped_tokens = 0;  // ends of documents too short for a window of their own
};

// Cuts documents into non-overlapping windows of `length` tokens, in reading order. A document
// shorter than that is one window of its own; the remainder of a longer one is dropped.
//   bos     put before the tokens of every window, and counted in its length; empty where the model
//           knows none
//   length  at least 2
// Throws Error where a document gives no window of two tokens.
WindowSet cut_windows(const std::vector<Document>& documents, std::optional<int32_t> bos,
                      int64_t length);

// `count` of them in reading order, as many of one document as of another where they are long
// enough, and spread evenly over the places of each: documents, not windows, are what intervals are
// told from. Windows less than half as long as the longest come only where no other is left, for
// they say nothing of its far end. All where there are fewer than `count`; where there are more
// documents than that, they are spread evenly.
//   windows  in reading order, as of cut_windows()
std::vector<Window> spread(std::vector<Window> windows, size_t count);

// Which of them shall take no part in choosing, rising: of those that reach beyond L, each the last
// of so many neighbours, so that they lie in different documents where there are enough.
//   windows  in reading order
//   count    nothing: a quarter of those that reach beyond L, at least one of two
// Throws Error where none would be left that reaches beyond L.
std::vector<size_t> hold_out(const std::vector<Window>& windows, int64_t trained_length,
                             std::optional<size_t> count);

}  // namespace ropewalk

#endif  // ROPEWALK_STUDY_WINDOWS_H_
