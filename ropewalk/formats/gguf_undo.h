// How an edited GGUF file remembers the one it was made from: four keys of its own.
//
//   ropewalk.undo.sha256  string    of the old file
//   ropewalk.undo.pieces  u64 array (offset, bytes) pairs that make up the old file: bytes of the
//                                   edited file from `offset`, or, where that is 2^64 - 1, the
//                                   next bytes of ropewalk.undo.bytes
//   ropewalk.undo.bytes   u8 array  what the edited file does not have any more
//   ropewalk.undo.marks   u64 array of the edited file's other entries, mark_of() each: so that one
//                                   which was changed since can be named
//
// The size of the record depends on how many pieces there are, not on where they stand, so that a
// record can stand in the file that it describes.
#ifndef ROPEWALK_FORMATS_GGUF_UNDO_H_
#define ROPEWALK_FORMATS_GGUF_UNDO_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "ropewalk/formats/byte_runs.h"
#include "ropewalk/formats/gguf.h"

namespace ropewalk {

// Keys that start with this are the record.
inline constexpr std::string_view kUndoPrefix = "ropewalk.undo.";
inline constexpr uint64_t kUndoEntries = 4;

// Of an entry as it is encoded, key and value: 32 bits of a hash of the key, 32 of the whole.
uint64_t mark_of(std::string_view key, std::span<const std::byte> entry);

// The four entries, encoded. Throws Error where the old file has over 64 MiB that the new one has
// not: no honest file has such holes.
//   edited   the whole file to be, the record (or any stand-in for it) included
//   source   what it copies from
//   sha256   of source
//   marks    of the edited file's entries, the record left out
std::string encode_undo_record(const ByteRuns& edited, std::span<const std::byte> source,
                               const std::string& sha256, std::span<const uint64_t> marks);

// Which entries are not as they were when the record was made: "llama.context_length, now 9999; added
// general.author". Empty where all are, and where the record has no marks.
std::string edited_since(const GgufFile& edited);

// Writes, byte for byte, the file that `edited` was made from, and returns the SHA-256 that the
// record promises; comparing is the caller's. Throws Error where there is no record, or one that
// does not fit the file, and naming the entries that were changed since.
std::string write_undone(const GgufFile& edited, const ByteSink& sink);

}  // namespace ropewalk

#endif  // ROPEWALK_FORMATS_GGUF_UNDO_H_
