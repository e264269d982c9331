// What the commands that measure on a user's text share.
#ifndef ROPEWALK_CLI_STUDY_OPTIONS_H_
#define ROPEWALK_CLI_STUDY_OPTIONS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ropewalk/engine/model.h"
#include "ropewalk/study/windows.h"

namespace ropewalk {

// Texts, one document a file, or token ids.
struct TextOptions {
  std::vector<std::string> texts;
  std::vector<std::string> ids;
  size_t most_windows = 8;

  void add_to(CLI::App& command);
};

// Each once, as it was spelt first. Throws Error where one is none.
std::vector<std::string> distinct_schemes(const std::vector<std::string>& schemes);

// The windows to measure on, and how they came about.
struct StudyText {
  std::vector<Window> windows;
  std::vector<Document> documents;
  size_t available_windows = 0;
  int64_t dropped_tokens = 0;
  bool bos = false;  // before every window

  int64_t longest_window() const;  // tokens

  // One line that says all of it.
  std::string describe() const;
};

// Each file is a document. Throws Error, also where the model brings no tokenizer.
std::vector<Document> read_documents(const std::vector<std::string>& paths, const ModelFile& model);

// Reads and cuts. Ids are taken as they are, without BOS. Throws Error.
StudyText read_study_text(const TextOptions& options, const ModelFile& model, int64_t length);

}  // namespace ropewalk

#endif  // ROPEWALK_CLI_STUDY_OPTIONS_H_
