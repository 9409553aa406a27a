//===- Families.h - The families that Family.cpp lists --------------------===//
#pragma once

#include "models/Decoder.h"

namespace ingot::models {

using ReadFamily = void(Config &config, const import::Checkpoint &checkpoint, Decoder &m);

ReadFamily readApertus, readArcee, readCohere, readDots1, readErnie, readExaone4, readGemma,
    readGemma2, readErnieMoe, readGemma3, readGlm, readGlm4Moe, readGpt2, readGptNeox, readGptOss,
    readGranite, readGraniteMoe, readHunYuan, readHunYuanMoe, readLfm2, readLfm2Moe, readLlama,
    readMiniMaxM2, readMinistral3, readMixtral, readNemotron, readOlmo, readOlmoe, readPhi2,
    readPhi3, readQwen2, readQwen2Moe, readQwen3, readQwen3Moe, readSeedOss, readSmolLm3,
    readStableLm, readStarCoder2;

} // namespace ingot::models
