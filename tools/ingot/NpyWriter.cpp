#include "tools/ingot/NpyWriter.h"

#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace ingot::cli {

static Error cannotWrite(const std::string &path) {
  return {ExitCode::File, "E0121", "cannot write " + path, std::strerror(errno), ""};
}

Result<std::unique_ptr<NpyWriter>> NpyWriter::create(const std::string &path, uint64_t rows,
                                                     uint64_t columns) {
  std::unique_ptr<NpyWriter> writer(new NpyWriter);
  writer->path = path;
  writer->temporary = path + ".part" + std::to_string(getpid());
  writer->columns = columns;
  writer->file = std::fopen(writer->temporary.c_str(), "wb");
  if (!writer->file)
    return cannotWrite(path);
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
  std::fwrite(prefix, 1, kPrefix, writer->file);
  std::fwrite(header.data(), 1, header.size(), writer->file);
  return writer;
}

NpyWriter::~NpyWriter() {
  if (!file)
    return;
  std::fclose(file);
  unlink(temporary.c_str());
}

void NpyWriter::row(const float *values) { std::fwrite(values, sizeof(float), columns, file); }

Result<void> NpyWriter::finish() {
  bool fine = !std::ferror(file);
  fine &= std::fclose(file) == 0;
  file = nullptr;
  if (fine && std::rename(temporary.c_str(), path.c_str()) == 0)
    return {};
  Error error = cannotWrite(path);
  unlink(temporary.c_str());
  return error;
}

} // namespace ingot::cli
