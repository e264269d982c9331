#include "ropewalk/config/hf_scheme_writer.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/config/hf_block_edit.h"
#include "ropewalk/config/hf_form.h"
#include "ropewalk/config/json_fields.h"
#include "ropewalk/config/output_file.h"
#include "ropewalk/config/read_back.h"
#include "ropewalk/config/spectrum_form.h"
#include "ropewalk/formats/atomic_file.h"
#include "ropewalk/formats/json_edit.h"
#include "ropewalk/formats/json_file.h"
#include "ropewalk/formats/mapped_file.h"
#include "ropewalk/formats/sha256.h"
#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kUndoKey = "ropewalk_undo";

std::string read_whole(const std::string& path) {
  const MappedFile file = MappedFile::open(path);
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

std::string hash_of(const std::string& text) { return sha256_hex(std::as_bytes(std::span(text))); }

std::vector<KeyChange> changes(const Json& before, const Json& after) {
  std::vector<KeyChange> list;
  for (const auto& [key, value] : before.items()) {
    if (key == kUndoKey) continue;
    if (!after.contains(key)) {
      list.push_back({key, json_text(value), {}});
    } else if (after[key] != value) {
      list.push_back({key, json_text(value), json_text(after[key])});
    }
  }
  for (const auto& [key, value] : after.items()) {
    if (key != kUndoKey && !before.contains(key)) list.push_back({key, {}, json_text(value)});
  }
  return list;
}

std::string output_path(const std::string& output) {
  const std::filesystem::path path(output);
  return path.extension() == ".json" ? output : (path / "config.json").string();
}

void write_text(const std::string& path, const std::string& text) {
  const std::filesystem::path directory = std::filesystem::path(path).parent_path();
  std::error_code failed;
  if (!directory.empty()) std::filesystem::create_directories(directory, failed);
  if (failed) throw Error(directory.string(), "must be makeable", failed.message());
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

// What a write sets and takes away, so that its undo can tell what was changed after it.
Json record_of(const WriteReport& report, const std::string& text, const Json& after) {
  Json record = {{"sha256", report.original},
                 {"text", text},
                 {"set", Json::object()},
                 {"removed", Json::array()}};
  for (const KeyChange& change : report.keys) {
    if (after.contains(change.key)) {
      record["set"][change.key] = after[change.key];
    } else {
      record["removed"].push_back(change.key);
    }
  }
  return record;
}

// What the text of before the last write is wanted for.
enum class Purpose { kUndo, kNewScheme };

// Throws Error where the document is not what the write made of the old one. Records of before did
// not say.
void refuse_edited(const std::string& path, const Json& document, Json old, Purpose purpose) {
  const Json& record = document[kUndoKey];
  if (!record.contains("set") || !record.contains("removed")) return;
  old.erase(kUndoKey);
  for (const auto& [key, value] : record["set"].items()) old[key] = value;
  for (const Json& key : record["removed"]) {
    if (key.is_string()) old.erase(key.get<std::string>());
  }
  std::string since;
  for (const KeyChange& change : changes(old, document)) {
    const auto or_absent = [](const std::string& text) { return text.empty() ? "absent" : text; };
    since += (since.empty() ? "" : "; ") + change.key + " was " + or_absent(change.before) +
             " when written, is " + or_absent(change.after);
  }
  if (since.empty()) return;
  if (purpose == Purpose::kUndo) {
    throw Error(path, "must be as it was written to be undone", since,
                "set that back, undo, and change the result");
  }
  throw Error(path,
              "must be as it was written: another scheme counts from what was there before, which "
              "has no such changes",
              since, "make them in the original config.json and write from that");
}

// The old text, as the record holds it.
std::string undone(const std::string& path, const Json& document, Purpose purpose,
                   std::string& sha256) {
  const std::string place = path + ": " + kUndoKey;
  if (!document.contains(kUndoKey)) {
    throw Error(place, "must be present to undo a write", {},
                "only files that `ropewalk write` made can be undone");
  }
  const Json& record = document[kUndoKey];
  for (const char* key : {"sha256", "text"}) {
    if (!record.is_object() || !record.contains(key) || !record[key].is_string()) {
      throw Error(place + "." + key, "must be text");
    }
  }
  sha256 = record["sha256"].get<std::string>();
  std::string text = record["text"].get<std::string>();
  if (hash_of(text) != sha256) {
    throw Error(place + ".text", "must have the SHA-256 " + sha256, hash_of(text));
  }
  refuse_edited(path, document, parse_json(text, place + ".text"), purpose);
  return text;
}

// A document with the text that it was read from.
struct Config {
  std::string text;
  Json document;

  Config(std::string from, const std::string& place)
      : text(std::move(from)), document(parse_json(text, place)) {}
};

// A scaling that counts from max_position_embeddings where the file does not tell its original
// length is said anew, so that another length does not change it.
std::string scheme_to_say(const WriteRequest& request, const ModelConfig& declared) {
  if (!parse_scheme(request.scheme).is_declared() || request.target_length == 0) {
    return request.scheme;
  }
  const std::string& own = leading_group(declared).scheme;
  if (own.empty()) return request.scheme;
  const ParsedPart part = parse_scheme(own).parts.front();
  for (const char* name : {"yarn", "llama3", "longrope", "dynamic_ntk"}) {
    if (part.scheme->name == name) return part.text;
  }
  return request.scheme;
}

// The new text, checked as far as it can be read back. `start` is the model as it was trained.
std::string written(const WriteRequest& request, const Config& start, const std::string& path,
                    WriteReport& report) {
  const ModelConfig declared = read_hf_positions(start.document, path);
  const HfForm form = hf_form(declared, scheme_to_say(request, declared), request.engine);
  Json after = edited_hf_config(start.document, path, declared, form, request.target_length);
  report.how = form.how;
  report.notes.insert(report.notes.end(), form.notes.begin(), form.notes.end());
  if (!form.differs.empty()) report.notes.push_back(form.differs);
  report.keys = changes(start.document, after);

  const WrittenScheme asked = {report.output, request.scheme, request.target_length};
  const ModelConfig read = read_hf_positions(after, report.output);
  ReadBack checked = check_read_back(asked, declared, read);
  report.largest_difference = checked.largest_difference;
  report.layers = std::move(checked.layers);
  for (std::string& note :
       check_engine(asked, declared, read, ModelFormat::kHuggingFace, request.engine)) {
    report.notes.push_back(std::move(note));
  }
  report.notes.push_back("only config.json is written: it goes beside the same weights");
  after[kUndoKey] = record_of(report, start.text, after);
  return edited_json(start.text, start.document, after);
}

}  // namespace

WriteReport write_hf_model(const WriteRequest& request, const std::string& path) {
  if (request.type != WriteType::kSame) {
    throw Error("type", "must be same: only config.json is written, no weights");
  }
  WriteReport report;
  report.output = output_path(request.output);
  check_replaceable(path, report.output, request.force ? Replace::kModels : Replace::kOwn,
                    request.undo);
  const std::string text = read_whole(path);
  Config start(text, path);
  report.original = hash_of(text);

  std::string result;
  if (request.undo) {
    result = undone(path, start.document, Purpose::kUndo, report.restored);
    report.keys = changes(start.document, parse_json(result, path));
  } else {
    if (!parse_scheme(request.scheme).is_declared()) {
      while (start.document.contains(kUndoKey)) {
        start = Config(undone(path, start.document, Purpose::kNewScheme, report.original), path);
        if (report.notes.empty()) report.notes.push_back(kStartedUndone);
      }
    }
    result = written(request, start, path, report);
  }
  report.written = hash_of(result);
  write_text(report.output, result);
  return report;
}

}  // namespace ropewalk
