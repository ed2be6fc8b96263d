// Textures and surfaces: tex, tld4, suld.b, sust.b. Each fills in a request (mneme/cpu/run/image.h) and calls the service for it.
#include <array>
#include <cstddef>

#include "mneme/cpu/ptx/ptx_asm_emit.h"
#include "mneme/cpu/run/image.h"

namespace mneme::ptx {
namespace {

using llvm::Value;

constexpr unsigned kComponents = 4;
constexpr Type kS32{TypeKind::signed_integer, 32};

// A geometry of PTX. Layers come before the coordinates.
struct Geometry {
  std::string_view name;
  uint32_t shape = MNEME_CPU_IMAGE_1D;
  bool layered = false;
  unsigned coordinates = 1;
};

constexpr std::array kGeometries = {
    Geometry{"1d", MNEME_CPU_IMAGE_1D, false, 1},     Geometry{"2d", MNEME_CPU_IMAGE_2D, false, 2},
    Geometry{"3d", MNEME_CPU_IMAGE_3D, false, 3},     Geometry{"a1d", MNEME_CPU_IMAGE_1D, true, 1},
    Geometry{"a2d", MNEME_CPU_IMAGE_2D, true, 2},     Geometry{"cube", MNEME_CPU_IMAGE_CUBE, false, 3},
    Geometry{"acube", MNEME_CPU_IMAGE_CUBE, true, 3},
};

Geometry geometry(Op& op) {
  const std::string_view name = op.choice({"1d", "2d", "3d", "a1d", "a2d", "cube", "acube"});
  for (const Geometry& geometry : kGeometries)
    if (geometry.name == name) return geometry;
  op.fail("a geometry that is not available on the CPU device");
  return {};
}

// A struct of image.h in memory, whose fields are set one by one.
class Request {
 public:
  Request(Op& op, size_t bytes) : op_(op), memory_(op.function().scratch(llvm::ArrayType::get(op.ir.getInt8Ty(), bytes))) {
    memory_->setAlignment(llvm::Align(16));
  }
  Value* pointer() const { return memory_; }
  Value* at(uint64_t offset) const { return op_.ir.CreateConstInBoundsGEP1_64(op_.ir.getInt8Ty(), memory_, offset); }
  void set(uint64_t offset, Value* value) { op_.ir.CreateStore(value, at(offset)); }

 private:
  Op& op_;
  llvm::AllocaInst* memory_;
};

// The parts of "[object, {layer, x, y}]".
struct Place {
  Operand object;
  std::vector<Operand> coordinates;
};

Place place(Op& op, size_t index, const Geometry& geometry) {
  const Operand& address = op.operand(index);
  if (op.failed()) return {};
  const bool known = address.kind == Operand::Kind::address && address.elements.size() == 2;
  if (!known) return op.fail("a form with a separate sampler, which is not available on the CPU device"), Place{};
  Place place{address.elements[0], {address.elements[1]}};
  if (address.elements[1].kind == Operand::Kind::vector) place.coordinates = address.elements[1].elements;
  if (place.coordinates.size() < geometry.coordinates + (geometry.layered ? 1 : 0))
    return op.fail("too few coordinates for its geometry"), Place{};
  return place;
}

// Reads the elements of "{a, b, c}" as bits.
Value* element(Op& op, const Operand& vector, unsigned index, Type type) {
  if (vector.kind != Operand::Kind::vector) return op.in(vector, type);
  if (index < vector.elements.size()) return op.in(vector.elements[index], type);
  op.fail("too few elements in braces");
  return op.zero(type);
}

// --- textures -----------------------------------------------------------------------------------------------------------------

using TextureRequest = mneme_cpu_texture_request;

void set_gradient(Op& op, Request& request, uint64_t offset, size_t operand, const Geometry& geometry) {
  for (unsigned i = 0; i < geometry.coordinates; ++i)
    request.set(offset + sizeof(float) * i, element(op, op.operand(operand), i, bits_type(32)));
}

// Fetches by a request whose lookup is set, and writes the results.
void fetch(Op& op, Request& request, const Geometry& geometry) {
  op.choice({"v4"});
  const Type result = op.type(), coordinate = op.type();
  if (result.total_bits() != 32) return op.fail("results of 16 bits are not available on the CPU device");
  const Place from = place(op, 1, geometry);
  if (op.failed()) return;
  request.set(offsetof(TextureRequest, object), op.in(from.object, kU64));
  request.set(offsetof(TextureRequest, shape), op.i32(geometry.shape));
  request.set(offsetof(TextureRequest, layer), geometry.layered ? op.in(from.coordinates[0], kS32) : op.i32(0));
  request.set(offsetof(TextureRequest, integer_coordinates), op.i32(coordinate.is_float() ? 0 : 1));
  for (unsigned i = 0; i < geometry.coordinates; ++i)
    request.set(offsetof(TextureRequest, coordinates) + sizeof(uint32_t) * i,
                op.in(from.coordinates[i + (geometry.layered ? 1 : 0)], bits_type(32)));
  Request components(op, kComponents * sizeof(uint32_t));
  op.thread.call(CpuService::texture_fetch, {request.pointer(), components.pointer()});
  const Operand& to = op.first(0);
  if (to.kind != Operand::Kind::vector || to.elements.size() != kComponents) return op.fail("four results in braces expected");
  for (unsigned i = 0; i < kComponents; ++i)
    op.out(to.elements[i], op.ir.CreateLoad(op.ir.getInt32Ty(), components.at(sizeof(uint32_t) * i)), bits_type(32));
  op.out(op.second(0), op.ir.getTrue(), kPredicate);  // whether the texels are in memory, where they always are
}

void texture(Op& op) {
  const std::string_view how = op.choice({"base", "level", "grad"}, "base");
  const Geometry form = geometry(op);
  const size_t operands = how == "grad" ? 4 : how == "level" ? 3 : 2;
  if (!op.expect(operands, operands)) return;
  Request request(op, sizeof(TextureRequest));
  request.set(offsetof(TextureRequest, lookup), op.i32(how == "grad"    ? MNEME_CPU_LOOKUP_GRADIENTS
                                                       : how == "level" ? MNEME_CPU_LOOKUP_LEVEL
                                                                        : MNEME_CPU_LOOKUP_BASE));
  if (how == "level") request.set(offsetof(TextureRequest, level), op.in(2, bits_type(32)));
  if (how == "grad") {
    set_gradient(op, request, offsetof(TextureRequest, gradient_x), 2, form);
    set_gradient(op, request, offsetof(TextureRequest, gradient_y), 3, form);
  }
  fetch(op, request, form);
}

void gather(Op& op) {
  constexpr std::string_view names = "rgba";
  const std::string_view component = op.choice({"r", "g", "b", "a"});
  const Geometry form = geometry(op);
  if (component.empty() || form.name != "2d") return op.fail("a form that is not available on the CPU device");
  if (!op.expect(2, 2)) return;
  Request request(op, sizeof(TextureRequest));
  request.set(offsetof(TextureRequest, lookup), op.i32(MNEME_CPU_LOOKUP_GATHER));
  request.set(offsetof(TextureRequest, component), op.i32(static_cast<uint32_t>(names.find(component))));
  fetch(op, request, form);
}

// --- surfaces -----------------------------------------------------------------------------------------------------------------

using SurfaceRequest = mneme_cpu_surface_request;

struct SurfaceAccess {
  Geometry geometry;
  unsigned elements = 1;
  Type type;
  uint32_t boundary = MNEME_CPU_BOUNDARY_TRAP;
};

SurfaceAccess surface_access(Op& op) {
  SurfaceAccess access;
  if (!op.flag("b")) op.fail("formatted accesses to surfaces are not available on the CPU device");
  access.geometry = geometry(op);
  op.choice({"ca", "cg", "cs", "cv", "wb", "wt"});
  const std::string_view vector = op.choice({"v2", "v4"});
  if (!vector.empty()) access.elements = vector == "v2" ? 2 : 4;
  access.type = op.type();
  const std::string_view boundary = op.choice({"trap", "clamp", "zero"}, "trap");
  if (boundary == "clamp") access.boundary = MNEME_CPU_BOUNDARY_CLAMP;
  if (boundary == "zero") access.boundary = MNEME_CPU_BOUNDARY_ZERO;
  if (access.geometry.shape == MNEME_CPU_IMAGE_CUBE) op.fail("surfaces have no such geometry");
  return access;
}

void fill_in(Op& op, Request& request, const SurfaceAccess& access, const Place& at) {
  const bool layered = access.geometry.layered;
  request.set(offsetof(SurfaceRequest, object), op.in(at.object, kU64));
  request.set(offsetof(SurfaceRequest, shape), op.i32(access.geometry.shape));
  request.set(offsetof(SurfaceRequest, boundary), op.i32(access.boundary));
  request.set(offsetof(SurfaceRequest, layer), layered ? op.in(at.coordinates[0], kS32) : op.i32(0));
  request.set(offsetof(SurfaceRequest, bytes), op.i32(access.elements * access.type.total_bits() / 8));
  for (unsigned i = 0; i < access.geometry.coordinates; ++i)
    request.set(offsetof(SurfaceRequest, position) + sizeof(int32_t) * i, op.in(at.coordinates[i + (layered ? 1 : 0)], kS32));
}

const Operand& data_element(const Operand& data, unsigned index) {
  return data.kind == Operand::Kind::vector ? data.elements[index] : data;
}
bool has_elements(Op& op, const Operand& data, unsigned count) {
  const size_t there = data.kind == Operand::Kind::vector ? data.elements.size() : 1;
  if (there != count) op.fail(fmt::format("{} registers in braces expected", count));
  return there == count;
}

void surface_load(Op& op) {
  const SurfaceAccess access = surface_access(op);
  if (!op.expect(2, 2) || !has_elements(op, op.operand(0), access.elements)) return;
  const Place from = place(op, 1, access.geometry);
  if (op.failed()) return;
  Request request(op, sizeof(SurfaceRequest)), data(op, 16);
  fill_in(op, request, access, from);
  op.thread.call(CpuService::surface_read, {request.pointer(), data.pointer()});
  const unsigned bits = access.type.total_bits();
  for (unsigned i = 0; i < access.elements; ++i) {
    Value* value = op.ir.CreateLoad(op.ir.getIntNTy(bits), data.at(uint64_t{i} * bits / 8));
    op.out(data_element(op.operand(0), i), value, bits_type(bits));
  }
}

void surface_store(Op& op) {
  const SurfaceAccess access = surface_access(op);
  if (!op.expect(2, 2) || !has_elements(op, op.operand(1), access.elements)) return;
  const Place to = place(op, 0, access.geometry);
  if (op.failed()) return;
  Request request(op, sizeof(SurfaceRequest)), data(op, 16);
  fill_in(op, request, access, to);
  const unsigned bits = access.type.total_bits();
  for (unsigned i = 0; i < access.elements; ++i)
    data.set(uint64_t{i} * bits / 8, op.in(data_element(op.operand(1), i), bits_type(bits)));
  op.thread.call(CpuService::surface_write, {request.pointer(), data.pointer()});
}

}  // namespace

std::span<const Entry> texture_instructions() {
  static constexpr std::array table = {
      Entry{"tex", texture},
      Entry{"tld4", gather},
      Entry{"suld", surface_load},
      Entry{"sust", surface_store},
  };
  return table;
}

}  // namespace mneme::ptx
