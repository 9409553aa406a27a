#include "tools/files/NpyWriter.h"

namespace ingot::cli {

Result<std::unique_ptr<NpyWriter>> NpyWriter::create(const std::string &path, uint64_t rows,
                                                     uint64_t columns) {
  auto file = OutputFile::create(path);
  if (!file)
    return file.error();
  std::unique_ptr<NpyWriter> writer(new NpyWriter);
  writer->file = std::move(*file);
  writer->columns = columns;
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" +
                       std::to_string(rows) + ", " + std::to_string(columns) + "), }";
  constexpr size_t kPrefix = 10; // magic, version, length of the text
  header.append(63 - (kPrefix + header.size()) % 64, ' ');
  header += '\n';
  const char prefix[kPrefix] = {'\x93',
                                'N',
                                'U',
                                'M',
                                'P',
                                'Y',
                                1,
                                0,
                                static_cast<char>(header.size() & 0xff),
                                static_cast<char>(header.size() >> 8)};
  writer->file->write(prefix, kPrefix);
  writer->file->write(header.data(), header.size());
  return writer;
}

void NpyWriter::row(const float *values) { file->write(values, sizeof(float) * columns); }

Result<void> NpyWriter::finish() { return file->commit(); }

} // namespace ingot::cli
