//===- BadFiles.cpp - Headers, tables and segments ------------------===//
#include "BadEngines.h"

#include <algorithm>

using namespace ingot;
using namespace ingot::runtime;
using namespace ingot::test;

namespace {

EngineHeader &header(std::string &file) { return *reinterpret_cast<EngineHeader *>(file.data()); }

/// Removes a field of a table in the file. FlatBufferBuilder packs no table without its required fields
/// (FLATBUFFERS_ASSERT).
template <typename T> void removeField(std::string &file, const T &table, int field) {
  const uint8_t *places = reinterpret_cast<const flatbuffers::Table &>(table).GetVTable();
  const auto at = size_t(places - reinterpret_cast<const uint8_t *>(file.data())) + size_t(field);
  file.replace(at, sizeof(flatbuffers::voffset_t), sizeof(flatbuffers::voffset_t), '\0');
  sealHeader(file);
}
const fb::Engine &tableOf(std::string &file) {
  return *fb::GetEngine(file.data() + header(file).tableOffset);
}

} // namespace

std::vector<BadEngine> test::badFiles() {
  return {
      // The file.
      {"empty", "E0303", {}, {}, {}, [](auto &f) { f.clear(); }},
      {"half_a_header", "E0303", {}, {}, {}, [](auto &f) { f.resize(40); }},
      {"other_magic", "E0304", {}, {}, {}, [](auto &f) { f[3] = 'X'; }},
      {"gguf", "E0304", {}, {}, {}, [](auto &f) { f.replace(0, 4, "GGUF"); }},
      {"text", "E0304", {}, {}, {}, [](auto &f) { f = std::string(5000, 'a'); }},
      {"newer_major",
       "E0305",
       {},
       {},
       {},
       [](auto &f) {
         header(f).major = kFormatMajor + 1;
         sealHeader(f);
       }},
      {"newer_minor",
       "E0305",
       {},
       {},
       {},
       [](auto &f) {
         header(f).minor = kFormatMinor + 1;
         sealHeader(f);
       }},
      {"older_major",
       "E0305",
       {},
       {},
       {},
       [](auto &f) {
         header(f).major = 1;
         sealHeader(f);
       }},
      {"header_checksum", "E0306", {}, {}, {}, [](auto &f) { header(f).checksum ^= 1; }},
      {"header_size_field", "E0306", {}, {}, {}, [](auto &f) { header(f).tableSize ^= 8; }},
      {"cut_by_one", "E0307", {}, {}, {}, [](auto &f) { f.pop_back(); }},
      {"grown_by_one", "E0307", {}, {}, {}, [](auto &f) { f += '\0'; }},
      {"appended_page", "E0307", {}, {}, {}, [](auto &f) { f += std::string(4096, '\0'); }},
      {"flags",
       "E0308",
       {},
       {},
       {},
       [](auto &f) {
         header(f).flags = 1;
         sealHeader(f);
       }},
      {"table_elsewhere",
       "E0309",
       {},
       {},
       {},
       [](auto &f) {
         header(f).tableOffset = 128;
         sealHeader(f);
       }},
      {"table_beyond",
       "E0309",
       {},
       {},
       {},
       [](auto &f) {
         header(f).tableSize = f.size();
         sealHeader(f);
       }},
      {"table_size_wraps",
       "E0309",
       {},
       {},
       {},
       [](auto &f) {
         header(f).tableSize = -1;
         sealHeader(f);
       }},
      {"table_empty",
       "E0309",
       {},
       {},
       {},
       [](auto &f) {
         header(f).tableSize = 0;
         sealHeader(f);
       }},
      {"table_bit", "E0310", {}, {}, {}, [](auto &f) { f[100] ^= 4; }},
      {"table_garbage",
       "E0311",
       {},
       {},
       {},
       [](auto &f) {
         std::fill(f.begin() + 64, f.begin() + 300, '\x77');
         sealHeader(f);
       }},
      {"table_identifier",
       "E0311",
       {},
       {},
       {},
       [](auto &f) {
         f[68] = 'X';
         sealHeader(f);
       }},
      {"table_tiny",
       "E0311",
       {},
       {},
       {},
       [](auto &f) {
         header(f).tableSize = 3;
         sealHeader(f);
       }},
      {"no_model",
       "E0311",
       {},
       {},
       {},
       [](auto &f) { removeField(f, tableOf(f), fb::Engine::VT_MODEL); }},
      {"no_grid",
       "E0311",
       {},
       {},
       {},
       [](auto &f) {
         const fb::Program &program = *tableOf(f).programs()->Get(0);
         removeField(f, *program.kernels()->Get(0), fb::Kernel::VT_GRID);
       }},
      // Segments.
      {"segment_hash", "E0312", {}, [](Table &t) { t.segments[0]->hash_lo ^= 1; }},
      {"segment_byte", "E0312", {}, {}, {}, [](auto &f) { f[f.size() - 4096] ^= 1; }},
      {"weight_byte", "E0312", {}, {}, {}, [](auto &f) { f[f.size() - 3 * 4096] ^= 1; }},
      {"padding_after_table",
       "E0313",
       {},
       {},
       {},
       [](auto &f) { f[64 + header(f).tableSize] = 1; }},
      {"padding_at_end", "E0313", {}, {}, {}, [](auto &f) { f.back() = 1; }},
      {"segment_kind", "E0315", {}, [](Table &t) { t.segments[2]->kind = fb::SegmentKind(77); }},
      {"segment_alignment", "E0316", {}, [](Table &t) { t.segments[1]->offset += 64; }},
      {"segment_beyond", "E0317", {}, [](Table &t) { t.segments[2]->size = uint64_t(1) << 40; }},
      {"segment_wraps", "E0317", {}, [](Table &t) { t.segments[2]->size = -64; }},
      {"segment_in_header", "E0318", {}, [](Table &t) { t.segments[0]->offset = 0; }},
      {"segments_overlap",
       "E0318",
       {},
       [](Table &t) { t.segments[3]->offset = t.segments[2]->offset; }},
      {"segment_gap", "E0319", {}, [](Table &t) { t.segments[1]->offset += 4096; }},
      {"segment_empty", "E0320", {}, [](Table &t) { t.segments[4]->size = 0; }},
      {"bytes_after_last",
       "E0321",
       {},
       {},
       {},
       [](auto &f) {
         f += std::string(4096, '\0');
         header(f).fileSize = f.size();
         sealHeader(f);
       }},
      {"segment_forgotten",
       "E0321",
       {},
       [](Table &t) {
         t.segments.pop_back();
         t.text.reset();
       }},
  };
}
