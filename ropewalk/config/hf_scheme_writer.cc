#include "ropewalk/config/hf_scheme_writer.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "ropewalk/base/error.h"
#include "ropewalk/config/gguf_form.h"
#include "ropewalk/config/hf_form.h"
#include "ropewalk/config/json_fields.h"
#include "ropewalk/config/output_file.h"
#include "ropewalk/config/read_back.h"
#include "ropewalk/formats/atomic_file.h"
#include "ropewalk/formats/json_file.h"
#include "ropewalk/formats/mapped_file.h"
#include "ropewalk/formats/sha256.h"
#include "ropewalk/schemes/scheme_string.h"

namespace ropewalk {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kUndoKey = "ropewalk_undo";
constexpr const char* kLegacy = "rope_scaling";
constexpr const char* kModern = "rope_parameters";
constexpr const char* kBase = "rope_theta";
constexpr const char* kLength = "max_position_embeddings";
constexpr const char* kOriginal = "original_max_position_embeddings";

std::string read_whole(const std::string& path) {
  const MappedFile file = MappedFile::open(path);
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

std::string hash_of(const std::string& text) { return sha256_hex(std::as_bytes(std::span(text))); }

bool is_block(const Json& document, const char* key) {
  const auto found = document.find(key);
  return found != document.end() && found->is_object() && !found->empty();
}

// The form's block in place of `old`, with what an old block holds beside the scaling.
Json new_block(const Json& old, const HfForm& form) {
  Json block = form.block.is_null() ? Json{{"rope_type", "default"}} : form.block;
  if (!old.is_object()) return block;
  if (old.contains(kBase)) block[kBase] = form.base;
  if (old.contains("partial_rotary_factor")) {
    block["partial_rotary_factor"] = old["partial_rotary_factor"];
  }
  return block;
}

void edit_scaling(Json& document, const HfForm& form, int64_t trained) {
  const bool modern = is_block(document, kModern);
  const bool legacy = is_block(document, kLegacy);
  if (modern) document[kModern] = new_block(document[kModern], form);
  if (legacy || !modern) {
    // Plain RoPE needs no block; one that holds more than scaling stays.
    const Json block = legacy ? new_block(document[kLegacy], form) : form.block;
    if (form.block.is_null() && block.size() <= 1) {
      if (document.contains(kLegacy)) document[kLegacy] = nullptr;
    } else {
      document[kLegacy] = block;
    }
  }
  const bool base_in_block = (modern && document[kModern].contains(kBase)) ||
                             (legacy && document[kLegacy].contains(kBase));
  const bool on_top = document.contains(kBase) && !document[kBase].is_null();
  if (on_top ? document[kBase] != form.base : !base_in_block) document[kBase] = form.base;

  // transformers lets the one on top win.
  if (document.contains(kOriginal)) {
    document[kOriginal] = form.block.is_object() ? form.block.value(kOriginal, trained) : trained;
  }
}

Json edited(const Json& document, const HfForm& form, int64_t trained, int64_t target_length) {
  Json result = document;
  if (!form.as_declared) edit_scaling(result, form, trained);
  if (target_length != 0 && !form.keeps_length) result[kLength] = target_length;
  return result;
}

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

// The old text, as the record holds it.
std::string undone(const std::string& path, const Json& document, std::string& sha256) {
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
  return text;
}

}  // namespace

WriteReport write_hf_model(const WriteRequest& request, const std::string& path) {
  if (request.type != WriteType::kSame) {
    throw Error("type", "must be same: only config.json is written, no weights");
  }
  WriteReport report;
  report.output = output_path(request.output);
  check_replaceable(path, report.output);
  const std::string text = read_whole(path);
  const Json document = parse_json(text, path);
  report.original = hash_of(text);

  std::string result;
  if (request.undo) {
    result = undone(path, document, report.restored);
    report.keys = changes(document, parse_json(result, path));
  } else {
    const ModelConfig declared = read_hf_positions(document, path);
    if (document.contains(kUndoKey) && !parse_scheme(request.scheme).is_declared()) {
      throw Error(path, "must be a model as it was trained, not one that `ropewalk write` made", {},
                  "--undo gives the old one, whose trained length schemes count from");
    }
    const HfForm form = hf_form(declared, request.scheme, request.engine);
    Json after = edited(document, form, trained_length(declared), request.target_length);
    report.how = form.how;
    report.notes = form.notes;
    report.notes.push_back("only config.json is written: it goes beside the same weights");
    report.keys = changes(document, after);
    after[kUndoKey] = {{"sha256", report.original}, {"text", text}};
    result = after.dump(2) + "\n";
    report.largest_difference = check_read_back(
        report.output, declared, request.scheme,
        read_hf_positions(parse_json(result, report.output), report.output), request.target_length);
  }
  report.written = hash_of(result);
  write_text(report.output, result);
  return report;
}

}  // namespace ropewalk
