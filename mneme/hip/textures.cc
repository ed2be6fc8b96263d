// Texture and surface objects.
#include "mneme/hip/rows.h"

namespace mneme::hip {
namespace {

using Rows = HookList<
    MNEME_ROW(hipCreateSurfaceObject, cudaCreateSurfaceObject), MNEME_ROW(hipDestroySurfaceObject, cudaDestroySurfaceObject),
    MNEME_ROW(hipCreateTextureObject, cudaCreateTextureObject), MNEME_ROW(hipDestroyTextureObject, cudaDestroyTextureObject),
    MNEME_ROW(hipGetTextureObjectResourceDesc, cudaGetTextureObjectResourceDesc),
    MNEME_ROW(hipGetTextureObjectResourceViewDesc, cudaGetTextureObjectResourceViewDesc),
    MNEME_ROW(hipGetTextureObjectTextureDesc, cudaGetTextureObjectTextureDesc)>;

}  // namespace

void install_textures(const Table& table) { install_both_ways<Rows>(table); }

}  // namespace mneme::hip
