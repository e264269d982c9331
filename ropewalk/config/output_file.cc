#include "ropewalk/config/output_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "ropewalk/base/error.h"
#include "ropewalk/config/model_format.h"
#include "ropewalk/formats/atomic_file.h"
#include "ropewalk/formats/gguf.h"
#include "ropewalk/formats/gguf_undo.h"
#include "ropewalk/formats/gguf_writer.h"
#include "ropewalk/formats/json_file.h"
#include "ropewalk/formats/mapped_file.h"
#include "ropewalk/formats/sha256.h"

namespace ropewalk {
namespace {

bool is_gguf(const std::string& path) {
  char magic[4] = {};
  std::ifstream(path, std::ios::binary).read(magic, sizeof(magic));
  return std::string(magic, sizeof(magic)) == "GGUF";
}

bool is_json_object(const std::string& path) {
  try {
    return load_json(path).is_object();
  } catch (const Error&) {
    return false;
  }
}

// ---- what was written from the same model

// Who wrote a file, and from what.
struct Origin {
  std::string sha256;    // of the whole file
  std::string promised;  // that its undo gives; empty where there is none
};

std::string promised_by(const GgufFile& file) {
  const GgufValue* const value = file.metadata().find(std::string(kUndoPrefix) + "sha256");
  return value != nullptr && value->type == GgufType::kString
             ? std::string(std::get<std::string_view>(value->scalar))
             : std::string();
}

std::string converted_sha256(const GgufFile& model, TensorType type) {
  Sha256 hash;
  write_converted(model, type, [&](std::span<const std::byte> bytes) { hash.update(bytes); });
  return hash.hex();
}

// Whether `old` was written from what --type makes of the model, or of what the model was written
// from. To tell that, it is made again: a tensor or a key of another model gives another hash.
bool is_converted(const GgufFile& model, const GgufFile& old, const std::string& output) {
  const bool has_bf16 = std::ranges::any_of(
      old.tensors(), [](const TensorInfo& info) { return info.type_name == "BF16"; });
  const std::string promised = promised_by(old);
  if (!has_bf16 && promised == converted_sha256(model, TensorType::kF32)) return true;
  if (promised == converted_sha256(model, TensorType::kBF16)) return true;
  if (promised_by(model).empty()) return false;
  AtomicFile temporary(output);  // never committed
  const std::string start =
      write_undone(model, [&](std::span<const std::byte> bytes) { temporary.write(bytes); });
  temporary.flush();
  const MappedFile undone = MappedFile::open(temporary.temporary_path());
  if (sha256_hex(undone.bytes()) != start) return false;
  return is_converted(GgufFile::parse(undone.bytes(), model.name()), old, output);
}

// Whether undoing still gives what the record promises: a tensor or a key that was changed since is the
// user's work.
bool is_as_written(const GgufFile& old) {
  Sha256 hash;
  const std::string promised =
      write_undone(old, [&](std::span<const std::byte> bytes) { hash.update(bytes); });
  return hash.hex() == promised;
}

// A record tells what the file was written from: the model, or what the model was written from too.
bool is_own(const Origin& model, const Origin& output, bool undo) {
  if (!output.promised.empty() && output.promised == model.promised) return true;
  return undo ? output.sha256 == model.promised : output.promised == model.sha256;
}

Origin origin_of_json(const std::string& path) {
  const MappedFile file = MappedFile::open(path);
  Origin origin{.sha256 = sha256_hex(file.bytes())};
  const nlohmann::ordered_json document = load_json(path);
  const auto record = document.find("ropewalk_undo");
  if (record == document.end() || !record->is_object()) return origin;
  const auto promised = record->find("sha256");
  if (promised != record->end() && promised->is_string())
    origin.promised = promised->get<std::string>();
  return origin;
}

// What cannot be read is nobody's own.
bool is_own(const std::string& model, const std::string& output, bool json, bool undo) {
  try {
    if (json) return is_own(origin_of_json(model), origin_of_json(output), undo);
    const GgufFile from = GgufFile::open(model, GgufData::kOptional);
    const GgufFile old = GgufFile::open(output, GgufData::kOptional);
    const std::string promised = promised_by(old);
    if (promised.empty() && !undo) return false;
    if (!promised.empty() && !is_as_written(old)) return false;
    const Origin origins[] = {{sha256_hex(from.bytes()), promised_by(from)},
                              {sha256_hex(old.bytes()), promised}};
    return is_own(origins[0], origins[1], undo) ||
           (!promised.empty() && is_converted(from, old, output));
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

// A file is written beside the output and renamed to it: that would replace the link or the device
// itself, not what it stands for.
void refuse_special(const std::string& output) {
  if (output.empty()) throw Error("output", "must name a file", "an empty name", "give a path");
  std::error_code failed;
  const std::filesystem::file_status status = std::filesystem::symlink_status(output, failed);
  switch (status.type()) {
    case std::filesystem::file_type::not_found:
    case std::filesystem::file_type::regular:
      break;
    case std::filesystem::file_type::none:
      if (failed == std::errc::filename_too_long)
        throw Error("output", "must have a shorter name", output);
      throw Error("output", "must be in a folder that can be read",
                  output + ": " + failed.message(), "choose another folder");
    case std::filesystem::file_type::symlink:
      throw Error("output", "must not be a symbolic link: the link itself would be replaced",
                  output, "name the file that it points to, or a new one");
    default:
      throw Error("output", "must be a regular file, not a folder, device or pipe", output,
                  "name a new file");
  }
}

void check_replaceable(const std::string& model, const std::string& output, Replace replace,
                       bool undo) {
  refuse_same_file(model, output);
  refuse_special(output);
  std::error_code failed;
  if (!std::filesystem::exists(output, failed)) return;
  if (std::filesystem::file_size(output, failed) == 0) return;
  const bool json = std::filesystem::path(output).extension() == ".json";
  if (!(json ? is_json_object(output) : is_gguf(output))) {
    throw Error("output",
                std::string("must be a new file, or one that holds a ") +
                    (json ? "JSON object" : "GGUF model") + ": other files are not replaced",
                output, "remove the file first if it may go");
  }
  if (replace == Replace::kModels || is_own(model, output, json, undo)) return;
  throw Error("output", "must be a new file, or one that was written from this model before",
              output, "name another file; --force replaces this one");
}

void check_output(const std::string& model, const std::string& output, Replace replace) {
  if (output.empty()) check_replaceable(model, output);
  const bool json = model_format(model) == ModelFormat::kHuggingFace;
  std::filesystem::path written = output;
  std::error_code failed;
  if (json && written.extension() != ".json") written /= "config.json";
  check_replaceable(positions_file(model), written.string(), replace);
  // A write makes the folder of a config.json, and no other.
  std::filesystem::path folder = written.parent_path();
  if (json) {
    while (!folder.empty() && !std::filesystem::exists(folder, failed)) {
      if (folder == folder.parent_path()) break;
      folder = folder.parent_path();
    }
  }
  if (folder.empty()) folder = ".";
  if (!std::filesystem::is_directory(folder, failed)) {
    throw Error("output", "must be in a folder that is there", output,
                "make the folder " + folder.string() + " first");
  }
  const AtomicFile trial((folder / written.filename()).string());
}

}  // namespace ropewalk
