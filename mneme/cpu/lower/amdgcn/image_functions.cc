#include "mneme/cpu/lower/amdgcn/image_functions.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>

#include <array>
#include <cstddef>
#include <optional>

#include "mneme/cpu/ptx/thread_state.h"
#include "mneme/cpu/run/image.h"

namespace mneme::cpu::amdgcn {
namespace {

using llvm::Value;

enum class What { sample, load, store, property };

struct Operation {
  llvm::StringLiteral name;
  What what;
  uint32_t detail = 0;          // the lookup of a sample; the number of a property
  uint32_t component = 0;       // of a gather
  unsigned further_places = 0;  // of a sample, behind the coordinates: a level, or two gradients
};

constexpr Operation kOperations[] = {
    {"sample", What::sample, MNEME_CPU_LOOKUP_BASE},
    {"sample_lod", What::sample, MNEME_CPU_LOOKUP_LEVEL, 0, 1},
    {"sample_grad", What::sample, MNEME_CPU_LOOKUP_GRADIENTS, 0, 2},
    {"gather4r", What::sample, MNEME_CPU_LOOKUP_GATHER, 0},
    {"gather4g", What::sample, MNEME_CPU_LOOKUP_GATHER, 1},
    {"gather4b", What::sample, MNEME_CPU_LOOKUP_GATHER, 2},
    {"gather4a", What::sample, MNEME_CPU_LOOKUP_GATHER, 3},
    {"load", What::load},
    {"store", What::store},
    {"channel_data_type", What::property, MNEME_CPU_CHANNEL_TYPE},
    {"channel_order", What::property, MNEME_CPU_CHANNEL_ORDER},
};

// A geometry of ockl's. The layer is the element behind the coordinates.
struct Geometry {
  llvm::StringLiteral name;
  uint32_t shape;
  unsigned coordinates;  // of samples
  bool layered = false;
  unsigned places() const { return coordinates + (layered ? 1 : 0); }
  bool is_cube() const { return shape == MNEME_CPU_IMAGE_CUBE; }
  // Of loads and stores, which have the face of a cube as an argument of its own.
  unsigned texel_places() const { return is_cube() ? (layered ? 3 : 2) : places(); }
};

constexpr Geometry kGeometries[] = {
    {"1D", MNEME_CPU_IMAGE_1D, 1},          {"1Db", MNEME_CPU_IMAGE_1D, 1},         {"1Da", MNEME_CPU_IMAGE_1D, 1, true},
    {"2D", MNEME_CPU_IMAGE_2D, 2},          {"3D", MNEME_CPU_IMAGE_3D, 3},          {"2Da", MNEME_CPU_IMAGE_2D, 2, true},
    {"CM", MNEME_CPU_IMAGE_CUBE, 3, false}, {"CMa", MNEME_CPU_IMAGE_CUBE, 3, true},
};

struct ImageFunction {
  const Operation* operation;
  const Geometry* geometry;
};

// "__ockl_image_sample_lod_2Da"
std::optional<ImageFunction> find(llvm::StringRef name) {
  if (!name.consume_front("__ockl_image_")) return std::nullopt;
  const auto [operation, geometry] = name.rsplit('_');
  for (const Operation& o : kOperations)
    for (const Geometry& g : kGeometries)
      if (o.name == operation && g.name == geometry) return ImageFunction{&o, &g};
  return std::nullopt;
}

// One number, or a vector with as many as are needed at the least.
bool holds(const llvm::Type* type, unsigned count, bool of_floats) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  const llvm::Type* element = type->getScalarType();
  return (vector ? vector->getNumElements() : 1) >= count && (of_floats ? element->isFloatTy() : element->isIntegerTy(32));
}

// The types of parameters and result, in their order.
class Prototype {
 public:
  explicit Prototype(const llvm::FunctionType& type) : type_(type) {}
  void pointer() { fits_ &= next() && next()->isPointerTy(), ++at_; }
  void numbers(unsigned count, bool of_floats) { fits_ &= next() && holds(next(), count, of_floats), ++at_; }
  bool ends(bool result_fits) const { return fits_ && at_ == type_.getNumParams() && result_fits && !type_.isVarArg(); }

 private:
  const llvm::Type* next() const { return at_ < type_.getNumParams() ? type_.getParamType(at_) : nullptr; }
  const llvm::FunctionType& type_;
  unsigned at_ = 0;
  bool fits_ = true;
};

bool is_components(const llvm::Type* type) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector && vector->getNumElements() == 4 && vector->getElementType()->isFloatTy();
}

bool fits(const ImageFunction& function, const llvm::FunctionType& type) {
  const Geometry& geometry = *function.geometry;
  const llvm::Type* result = type.getReturnType();
  Prototype prototype(type);
  prototype.pointer();
  switch (function.operation->what) {
    case What::property: return prototype.ends(result->isIntegerTy(32));
    case What::sample:
      prototype.pointer();
      prototype.numbers(geometry.places(), true);
      for (unsigned i = 0; i < function.operation->further_places; ++i)
        prototype.numbers(function.operation->detail == MNEME_CPU_LOOKUP_LEVEL ? 1 : geometry.coordinates, true);
      return prototype.ends(is_components(result));
    case What::load:
    case What::store: break;
  }
  prototype.numbers(geometry.texel_places(), false);
  if (geometry.is_cube()) prototype.numbers(1, false);
  if (function.operation->what == What::load) return prototype.ends(is_components(result));
  prototype.numbers(4, true);
  return prototype.ends(result->isVoidTy());
}

// Makes the code in the place of one call.
class Call {
 public:
  Call(llvm::CallBase& call, const ImageFunction& function, Value* thread)
      : call_(call), operation_(*function.operation), geometry_(*function.geometry), ir_(&call), state_(ir_, thread) {}

  Value* emit() {
    switch (operation_.what) {
      case What::property: return state_.call(ptx::CpuService::image_property, {handle(), ir_.getInt32(operation_.detail)});
      case What::sample: return sample();
      case What::load: break;
      case What::store: {
        Value* components = memory(16);
        ir_.CreateStore(call_.getArgOperand(call_.arg_size() - 1), components);
        state_.call(ptx::CpuService::image_write, {image_request(), components});
        return nullptr;
      }
    }
    Value* components = memory(16);
    state_.call(ptx::CpuService::image_read, {image_request(), components});
    return ir_.CreateLoad(call_.getType(), components);
  }

 private:
  // Memory of the thread.
  Value* memory(size_t bytes) {
    llvm::BasicBlock& entry = call_.getFunction()->getEntryBlock();
    llvm::IRBuilder<> at_begin(&entry, entry.begin());
    llvm::AllocaInst* made = at_begin.CreateAlloca(llvm::ArrayType::get(ir_.getInt8Ty(), bytes), 0u);
    made->setAlignment(llvm::Align(16));
    return made;
  }
  void set(Value* request, uint64_t offset, Value* value) {
    ir_.CreateStore(value, ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), request, offset));
  }
  Value* handle() { return ir_.CreatePtrToInt(call_.getArgOperand(0), ir_.getInt64Ty()); }
  Value* element(unsigned argument, unsigned index) {
    Value* value = call_.getArgOperand(argument);
    return value->getType()->isVectorTy() ? ir_.CreateExtractElement(value, index) : value;
  }

  // The number of a layer is a float in samples, of which the hardware takes the nearest whole number.
  Value* layer() {
    if (!geometry_.layered) return ir_.getInt32(0);
    Value* nearest = ir_.CreateUnaryIntrinsic(llvm::Intrinsic::rint, element(2, geometry_.coordinates));
    return ir_.CreateIntrinsic(llvm::Intrinsic::fptosi_sat, {ir_.getInt32Ty(), ir_.getFloatTy()}, {nearest});
  }

  void set_coordinates(Value* request, uint64_t offset, unsigned argument) {
    for (unsigned i = 0; i < geometry_.coordinates; ++i) set(request, offset + sizeof(float) * i, element(argument, i));
  }

  Value* sample() {
    using Request = mneme_cpu_texture_request;
    Value* request = memory(sizeof(Request));
    set(request, offsetof(Request, object), handle());
    set(request, offsetof(Request, shape), ir_.getInt32(geometry_.shape));
    set(request, offsetof(Request, lookup), ir_.getInt32(operation_.detail));
    set(request, offsetof(Request, layer), layer());
    set(request, offsetof(Request, integer_coordinates), ir_.getInt32(0));
    set(request, offsetof(Request, component), ir_.getInt32(operation_.component));
    set_coordinates(request, offsetof(Request, coordinates), 2);
    if (operation_.detail == MNEME_CPU_LOOKUP_LEVEL) set(request, offsetof(Request, level), element(3, 0));
    if (operation_.detail == MNEME_CPU_LOOKUP_GRADIENTS) {
      set_coordinates(request, offsetof(Request, gradient_x), 3);
      set_coordinates(request, offsetof(Request, gradient_y), 4);
    }
    Value* components = memory(16);
    state_.call(ptx::CpuService::texture_fetch, {request, components});
    return ir_.CreateLoad(call_.getType(), components);
  }

  // The faces of a cube are layers.
  Value* image_request() {
    using Request = mneme_cpu_image_request;
    const bool cube = geometry_.is_cube();
    const unsigned axes = cube ? 2 : geometry_.coordinates;
    Value* layer = geometry_.layered ? element(1, axes) : ir_.getInt32(0);
    if (cube) layer = ir_.CreateAdd(ir_.CreateMul(layer, ir_.getInt32(6)), call_.getArgOperand(2));
    Value* request = memory(sizeof(Request));
    set(request, offsetof(Request, object), handle());
    set(request, offsetof(Request, shape), ir_.getInt32(cube ? uint32_t{MNEME_CPU_IMAGE_2D} : geometry_.shape));
    set(request, offsetof(Request, layer), layer);
    for (unsigned i = 0; i < 3; ++i)
      set(request, offsetof(Request, position) + sizeof(int32_t) * i, i < axes ? element(1, i) : ir_.getInt32(0));
    return request;
  }

  llvm::CallBase& call_;
  const Operation& operation_;
  const Geometry& geometry_;
  llvm::IRBuilder<> ir_;
  ptx::ThreadState state_;
};

}  // namespace

bool is_image_function(llvm::StringRef name, const llvm::FunctionType& type) {
  const auto function = find(name);
  return function && fits(*function, type);
}

void lower_image_call(llvm::CallBase& call, Value* thread) {
  const auto function = find(call.getCalledFunction()->getName());
  Value* value = Call(call, *function, thread).emit();
  if (value) call.replaceAllUsesWith(value);
  call.eraseFromParent();
}

}  // namespace mneme::cpu::amdgcn
