#include "ropewalk/study/cell_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <nlohmann/json.hpp>
#include <span>
#include <thread>

#include "ropewalk/base/error.h"
#include "ropewalk/formats/json_file.h"
#include "ropewalk/formats/sha256.h"
#include "ropewalk/study/identity.h"

namespace ropewalk {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCell = ".cell";
constexpr const char* kLock = ".cell-lock";
constexpr const char* kPart = ".part";
constexpr const char* kNote = "job";
constexpr const char* kPresent = "present";
constexpr size_t kMostHeader = size_t{1} << 20;
constexpr size_t kMostBytes = kMostHeader + (size_t{1} << 24) * sizeof(double);
static_assert(std::endian::native == std::endian::little);

// A line of JSON, then the losses as they lie in memory.
std::string bytes_of(const std::string& identity, const CellKey& key, const Cell& cell) {
  const nlohmann::ordered_json header = {{"identity", identity},    {"scheme", key.scheme},
                                         {"text", key.text},        {"window", key.window},
                                         {"seconds", cell.seconds}, {"losses", cell.losses.size()}};
  std::string bytes = dump_json(header) + "\n";
  const size_t start = bytes.size();
  bytes.resize(start + cell.losses.size() * sizeof(double));
  if (!cell.losses.empty())
    std::memcpy(bytes.data() + start, cell.losses.data(), bytes.size() - start);
  return bytes;
}

// Nothing where there is none; empty of what is no regular file, or longer than any that is written
// here.
std::optional<std::string> contents(const std::string& file) {
  std::error_code failed;
  const auto size = fs::file_size(file, failed);
  if (failed == std::errc::no_such_file_or_directory) return std::nullopt;
  if (failed || size > kMostBytes) return "";
  std::ifstream stream(file, std::ios::binary);
  if (!stream) return std::nullopt;
  return std::string{std::istreambuf_iterator<char>(stream), {}};
}

[[noreturn]] void refuse(const std::string& path, const std::string& rule) {
  throw Error(path, rule, std::strerror(errno));
}

// One that stayed would be asked for without end.
void remove_damaged(const std::string& file) {
  if (unlink(file.c_str()) != 0 && errno != ENOENT)
    refuse(file, "is damaged and cannot be removed");
}

}  // namespace

// ---- claims

struct CellClaim::Beat {
  Beat(const StudyLock& lock, std::chrono::milliseconds pause)
      : thread([this, &lock, pause] {
          std::unique_lock guard(mutex);
          while (!stopped.wait_for(guard, pause, [this] { return stop; })) lock.give_sign();
        }) {}
  ~Beat() {
    {
      const std::lock_guard guard(mutex);
      stop = true;
    }
    stopped.notify_one();
    thread.join();
  }

  std::mutex mutex;
  std::condition_variable stopped;
  bool stop = false;
  std::thread thread;
};

CellClaim::CellClaim(std::unique_ptr<StudyLock> lock, std::chrono::milliseconds pause)
    : lock_(std::move(lock)), beat_(std::make_unique<Beat>(*lock_, pause)) {}

CellClaim::~CellClaim() = default;

std::unique_ptr<CellClaim> CellFolder::claim(const CellKey& key) {
  const std::string file = file_of(key);
  std::unique_ptr<StudyLock> lock = StudyLock::try_take(file);
  if (lock == nullptr) {
    const auto now = std::chrono::steady_clock::now();
    const auto sign = StudyLock::last_sign(file);
    if (!sign) return nullptr;
    Silence& silent = silent_.try_emplace(file, Silence{*sign, now}).first->second;
    if (silent.sign != *sign) silent = {*sign, now};
    if (now - silent.since < silence_) return nullptr;
    unlink((file + "-lock").c_str());  // what its holder may yet publish is as good as ours
    lock = StudyLock::try_take(file);
    if (lock == nullptr) return nullptr;
  }
  silent_.erase(file);
  return std::make_unique<CellClaim>(std::move(lock), silence_ / 8);
}

// ---- the folder

CellFolder::CellFolder(const std::string& study, const StudyIdentity& identity,
                       std::chrono::milliseconds silence)
    : path_(path_of(study)), identity_(identity_digest(identity)), silence_(silence) {
  be_present();
}

CellFolder::~CellFolder() {
  if (for_good_ && is_last()) remove_all();
}

// Whoever was the last may remove the folder between two of our steps.
void CellFolder::be_present() {
  const std::string file = path_ + "/" + kPresent;
  for (int tries = 0; tries < 100; ++tries) {
    struct stat status = {};
    if (mkdir(path_.c_str(), 0755) != 0 && errno != EEXIST) refuse(path_, "cannot be made");
    if (lstat(path_.c_str(), &status) != 0) continue;
    if (!S_ISDIR(status.st_mode)) {
      throw Error(path_, "must be a folder of Ropewalk", "a file of another kind",
                  "move that file, or name another with --study");
    }
    present_ = NamedFile(file);
    if (!present_.is_open() && errno == ENOENT) continue;
    if (!present_.is_open()) refuse(file, "cannot be opened");
    if (!present_.lock(LOCK_SH)) refuse(file, "cannot be locked");
    if (present_.is_named()) return;
  }
  throw Error(path_, "cannot be kept", "removed again and again");
}

bool CellFolder::is_last() { return present_.lock(LOCK_EX | LOCK_NB); }

// Files of others stay, and the folder with them.
void CellFolder::remove_all() const {
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(path_, failed)) {
    const std::string name = entry.path().filename().string();
    const auto is = [&](const char* end) { return name.ends_with(end); };
    if (is(kCell) || is(kLock) || is(kPart) || name == kNote) fs::remove(entry.path(), failed);
  }
  fs::remove(path_ + "/" + kPresent, failed);
  fs::remove(path_, failed);
}

// A network's file system remembers that a name was not there, until it looks at the folder again.
void CellFolder::look() const {
  const int folder = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) close(folder);
}

void CellFolder::write(const std::string& name, const std::string& bytes, bool replace) const {
  const std::string to = path_ + "/" + name;
  std::string part = path_ + "/XXXXXX" + kPart;
  const int file = mkostemps(part.data(), static_cast<int>(std::strlen(kPart)), O_CLOEXEC);
  if (file < 0) refuse(to, "cannot be written");
  fchmod(file, 0644);
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t count = ::write(file, bytes.data() + done, bytes.size() - done);
    if (count <= 0) break;
    done += static_cast<size_t>(count);
  }
  bool good = done == bytes.size();
  int error = errno;
  if (close(file) != 0 && good) {
    good = false;
    error = errno;
  }
  if (good) {
    good = replace ? rename(part.c_str(), to.c_str()) == 0
                   : link(part.c_str(), to.c_str()) == 0 || errno == EEXIST;
    error = errno;
  }
  unlink(part.c_str());
  errno = error;
  if (!good) refuse(to, "cannot be written");
}

// ---- cells

std::string CellFolder::name_of(const CellKey& key) const {
  const std::string text =
      identity_ + '\n' + key.scheme + '\n' + key.text + '\n' + std::to_string(key.window);
  return sha256_hex(std::as_bytes(std::span(text))).substr(0, 32) + kCell;
}

bool CellFolder::has(const CellKey& key) const { return access(file_of(key).c_str(), R_OK) == 0; }

std::optional<Cell> CellFolder::find(const CellKey& key) const {
  const std::string file = file_of(key);
  const auto bytes = contents(file);
  if (!bytes) return std::nullopt;
  auto found = parse(file, *bytes);
  if (found && found->first == key) return std::move(found->second);
  remove_damaged(file);
  return std::nullopt;
}

void CellFolder::publish(const CellKey& key, const Cell& cell) const {
  write(name_of(key), bytes_of(identity_, key, cell), false);
}

void CellFolder::remove(const CellKey& key) const { remove_damaged(file_of(key)); }

std::optional<std::pair<CellKey, Cell>> CellFolder::parse(const std::string& file,
                                                          const std::string& bytes) const {
  const size_t end = bytes.find('\n');
  if (end == bytes.npos || end > kMostHeader) return std::nullopt;
  std::pair<CellKey, Cell> cell;
  size_t count = 0;
  std::string identity;
  try {
    const auto header = parse_json(std::string_view(bytes).substr(0, end), file, kMostHeader);
    header.at("identity").get_to(identity);
    header.at("scheme").get_to(cell.first.scheme);
    header.at("text").get_to(cell.first.text);
    header.at("window").get_to(cell.first.window);
    header.at("seconds").get_to(cell.second.seconds);
    header.at("losses").get_to(count);
  } catch (const std::exception&) {
    return std::nullopt;
  }
  if (identity != identity_) {
    throw Error(path_, "must hold cells of this study alone", "cells of another model or text",
                "move that folder away, or name another file with --study");
  }
  const size_t rest = bytes.size() - end - 1;
  if (rest % sizeof(double) != 0 || rest / sizeof(double) != count) return std::nullopt;
  cell.second.losses.resize(count);
  if (count > 0) std::memcpy(cell.second.losses.data(), bytes.data() + end + 1, rest);
  if (!is_measured(cell.second.losses) || !(cell.second.seconds >= 0)) return std::nullopt;
  return cell;
}

std::set<std::string> CellFolder::names() const {
  std::set<std::string> names;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(path_, failed)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(kCell)) names.insert(name);
  }
  return names;
}

void CellFolder::for_each(const std::function<void(const CellKey&, const Cell&)>& visit) const {
  for (const std::string& name : names()) {
    const std::string file = path_ + "/" + name;
    const auto bytes = contents(file);
    if (!bytes) continue;
    const auto cell = parse(file, *bytes);
    if (cell && name_of(cell->first) == name) {
      visit(cell->first, cell->second);
    } else {
      remove_damaged(file);
    }
  }
}

// ---- the note

void CellFolder::put_note(const std::string& note) const { write(kNote, note, true); }

std::string CellFolder::note() const { return contents(path_ + "/" + kNote).value_or(""); }

}  // namespace ropewalk
