//===- ImportErrors.h - Every way a checkpoint can be refused -------------===//
//
// There is one constant per cause, so that each code is unique and tests can refer to it by name. A cause that several
// containers share ("two tensors overlap") has one code. All of these errors end the program with exit code 3: the
// user's file is at fault, and no assertion of ours fails. E0293 to E0299 belong to the model families.
//===----------------------------------------------------------------------===//
#pragma once

#include "runtime/error/Error.h"

#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>

namespace ingot::import {

namespace cause {
// Files and look-ups.
inline constexpr char cannotOpen[] = "E0200";
inline constexpr char notRegularFile[] = "E0201";
inline constexpr char unknownKind[] = "E0202";
inline constexpr char readFailed[] = "E0203";
inline constexpr char emptyFile[] = "E0204";
inline constexpr char noModelInFolder[] = "E0205";
inline constexpr char keyMissing[] = "E0206";
inline constexpr char keyType[] = "E0207";
inline constexpr char notFinite[] = "E0208";
// Shared by all containers.
inline constexpr char notUtf8[] = "E0209";
inline constexpr char tensorNameEmpty[] = "E0210";
inline constexpr char tensorNameLong[] = "E0211";
inline constexpr char tensorNameOdd[] = "E0212";
inline constexpr char tensorTwice[] = "E0213";
inline constexpr char keyTwice[] = "E0214";
inline constexpr char tooManyDims[] = "E0215";
inline constexpr char dimensionZero[] = "E0216";
inline constexpr char elementOverflow[] = "E0217";
inline constexpr char typeUnsupported[] = "E0218";
inline constexpr char typeUnknown[] = "E0219";
inline constexpr char dataPastEnd[] = "E0220";
inline constexpr char overlap[] = "E0221";
inline constexpr char hole[] = "E0222";
inline constexpr char trailingBytes[] = "E0223";
inline constexpr char noTensors[] = "E0224";
inline constexpr char architectureMissing[] = "E0225";
inline constexpr char architectureOdd[] = "E0226";
inline constexpr char integerRange[] = "E0227";
inline constexpr char tooManyTensors[] = "E0228";
inline constexpr char tooManyKeys[] = "E0229";
// GGUF.
inline constexpr char ggufHeaderCut[] = "E0230";
inline constexpr char ggufMagic[] = "E0231";
inline constexpr char ggufBigEndian[] = "E0232";
inline constexpr char ggufOldVersion[] = "E0233";
inline constexpr char ggufNewVersion[] = "E0234";
inline constexpr char ggufKeysCut[] = "E0235";
inline constexpr char ggufTensorsCut[] = "E0236";
inline constexpr char ggufKeyLengthCut[] = "E0237";
inline constexpr char keyLong[] = "E0238";
inline constexpr char ggufKeyPastEnd[] = "E0239";
inline constexpr char ggufKeyEmpty[] = "E0240";
inline constexpr char ggufKeyOdd[] = "E0241";
inline constexpr char ggufValueTypeCut[] = "E0242";
inline constexpr char ggufValueType[] = "E0243";
inline constexpr char ggufValueCut[] = "E0244";
inline constexpr char ggufStringLengthCut[] = "E0245";
inline constexpr char ggufStringLong[] = "E0246";
inline constexpr char ggufStringPastEnd[] = "E0247";
inline constexpr char ggufBool[] = "E0248";
inline constexpr char ggufFloatNotFinite[] = "E0249";
inline constexpr char ggufArrayHeaderCut[] = "E0250";
inline constexpr char ggufArrayType[] = "E0251";
inline constexpr char ggufArrayNested[] = "E0252";
inline constexpr char ggufArrayPastEnd[] = "E0253";
inline constexpr char ggufArrayStringCut[] = "E0254";
inline constexpr char ggufVocabulary[] = "E0255";
inline constexpr char ggufAlignmentType[] = "E0256";
inline constexpr char ggufAlignmentPower[] = "E0257";
inline constexpr char ggufAlignmentLarge[] = "E0258";
inline constexpr char ggufSplit[] = "E0259";
inline constexpr char ggufNotAModel[] = "E0260";
inline constexpr char ggufQuantVersion[] = "E0261";
inline constexpr char ggufNameLengthCut[] = "E0262";
inline constexpr char ggufNamePastEnd[] = "E0263";
inline constexpr char ggufNoDims[] = "E0264";
inline constexpr char ggufDimsCut[] = "E0265";
inline constexpr char ggufRecordCut[] = "E0266";
inline constexpr char ggufRowBlocks[] = "E0267";
inline constexpr char ggufOffsetUnaligned[] = "E0268";
inline constexpr char ggufByteOverflow[] = "E0269";
inline constexpr char ggufDataMissing[] = "E0270";
// safetensors, JSON files and folders.
inline constexpr char stHeaderCut[] = "E0271";
inline constexpr char stHeaderLarge[] = "E0272";
inline constexpr char stHeaderPastEnd[] = "E0273";
inline constexpr char stHeaderNotObject[] = "E0274";
inline constexpr char jsonInvalid[] = "E0275";
inline constexpr char jsonTooDeep[] = "E0276";
inline constexpr char jsonFieldType[] = "E0277";
inline constexpr char jsonFieldMissing[] = "E0278";
inline constexpr char stFieldUnknown[] = "E0279";
inline constexpr char stDimension[] = "E0280";
inline constexpr char stOffsets[] = "E0281";
inline constexpr char stOffsetsBackwards[] = "E0282";
inline constexpr char stSizeMismatch[] = "E0283";
inline constexpr char stMetadata[] = "E0284";
inline constexpr char shardName[] = "E0285";
inline constexpr char linkOutside[] = "E0286";
inline constexpr char indexTensorMissing[] = "E0287";
inline constexpr char indexTensorUnlisted[] = "E0288";
inline constexpr char fileTooLarge[] = "E0289";
inline constexpr char chatTemplate[] = "E0290";
inline constexpr char ambiguousFolder[] = "E0291";
inline constexpr char configMissing[] = "E0292";
// Kinds of files and folders; E02xx is full.
inline constexpr char ggufPartMissing[] = "E0840";
inline constexpr char ggufPartOdd[] = "E0841";
inline constexpr char nativeFolder[] = "E0842";
inline constexpr char adapterFolder[] = "E0843";
inline constexpr char snapshotMissing[] = "E0844";
inline constexpr char ggufQ2Size[] = "E0845";
// fp8 weights (Float8.h) and rows (RowSource.h).
inline constexpr char fp8ScaleMissing[] = "E0470";
inline constexpr char fp8ScaleShape[] = "E0471";
inline constexpr char fp8ScaleValue[] = "E0472";
inline constexpr char fp8Config[] = "E0473";
// Parts of quantised weights (Quantized.h).
inline constexpr char quantPart[] = "E0477";
inline constexpr char quantValue[] = "E0478";
inline constexpr char rowsMissing[] = "E0852";
inline constexpr char rowLength[] = "E0853";
} // namespace cause

/// Returns an error about the user's file (exit code 3): what is wrong, why (with figures), and how to fix it.
Error refuse(const char *code, std::string what, std::string why, std::string fix);

/// Concatenates the parts: line("needs ", 8, " bytes").
template <typename... Parts> std::string line(const Parts &...parts) {
  std::ostringstream stream;
  (stream << ... << parts);
  return stream.str();
}

/// Makes text from a file safe to print, because a file must not be able to manipulate a log. The result is in single
/// quotes and has at most `limit` bytes of the text, with control characters and malformed UTF-8 as \xNN.
std::string inQuotes(std::string_view text, size_t limit = 96);

/// Returns a path in quotes, as inQuotes does, but never shortens it, because the user may type it.
std::string wholePath(std::string_view path);

/// Returns a path without its folders, for messages.
std::string fileName(const std::string &path);

/// Returns whether a name from a file can serve as an identifier: valid UTF-8 without control characters.
bool isPlainName(std::string_view text);

} // namespace ingot::import
