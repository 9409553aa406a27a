//===- Families.h - The families that Family.cpp lists --------------------===//
#pragma once

#include "models/Decoder.h"

namespace ingot::models {

using ReadFamily = void(Config &config, const import::Checkpoint &checkpoint, Decoder &m);

ReadFamily readApertus, readArcee, readCohere, readErnie, readExaone4, readGemma, readGemma2,
    readGemma3, readGlm, readGpt2, readGptNeox, readGranite, readHunYuan, readLfm2, readLlama,
    readMinistral3, readNemotron, readOlmo, readPhi2, readPhi3, readQwen2, readQwen3, readSeedOss,
    readSmolLm3, readStableLm, readStarCoder2;

} // namespace ingot::models
