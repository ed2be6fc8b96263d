"""Memory that a program maps itself, and managed memory, by the CUDA driver's functions: what kernels find there is printed."""

import ctypes

cuda = ctypes.CDLL("libcuda.so.1")
COUNT = 1000
DEVICE, PINNED, READ_AND_WRITE, GLOBAL, HOST, SHARES_MANAGED = 1, 1, 3, 1, 2, 89


class Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class Properties(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("handles", ctypes.c_int), ("location", Location), ("win32", ctypes.c_void_p), ("flags", ctypes.c_uint64)]


class Access(ctypes.Structure):
    _fields_ = [("location", Location), ("flags", ctypes.c_int)]


def call(name, *arguments):
    status = getattr(cuda, name)(*arguments)
    if status != 0:
        raise SystemExit(f"{name} returned {status}")


def word(value=0):
    return ctypes.c_uint64(value)


def size(value):
    return ctypes.c_size_t(value)


def attribute(number):
    value = ctypes.c_int()
    call("cuDeviceGetAttribute", ctypes.byref(value), number, 0)
    return value.value


# Each use of memory is a kernel of its own, so that each is recorded.
USES = ("mapped", "mapped_again", "wished_for", "small", "alias", "managed", "attached")
ENTRY = """
.visible .entry add_one_%s(.param .u64 words, .param .u32 count)
{
  .reg .b32 %%r<6>;
  .reg .b64 %%d<4>;
  .reg .pred %%p;
  ld.param.u64 %%d1, [words];
  ld.param.u32 %%r1, [count];
  mov.u32 %%r2, %%ctaid.x;
  mov.u32 %%r3, %%ntid.x;
  mov.u32 %%r4, %%tid.x;
  mad.lo.s32 %%r5, %%r2, %%r3, %%r4;
  setp.ge.u32 %%p, %%r5, %%r1;
  @%%p bra END;
  cvta.to.global.u64 %%d1, %%d1;
  mul.wide.u32 %%d2, %%r5, 4;
  add.s64 %%d3, %%d1, %%d2;
  ld.global.u32 %%r2, [%%d3];
  add.u32 %%r2, %%r2, 1;
  st.global.u32 [%%d3], %%r2;
END:
  ret;
}
"""

call("cuInit", 0)
context, module = ctypes.c_void_p(), ctypes.c_void_p()
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
call("cuCtxSetCurrent", context)
code = ".version 7.0\n.target sm_70\n.address_size 64\n" + "".join(ENTRY % use for use in USES)
call("cuModuleLoadData", ctypes.byref(module), code.encode())

properties = Properties(type=PINNED, location=Location(DEVICE, 0))
granule = ctypes.c_size_t()
call("cuMemGetAllocationGranularity", ctypes.byref(granule), ctypes.byref(properties), 0)
PIECE = granule.value
WORDS = (ctypes.c_uint32 * COUNT)


def launch(use, address):
    kernel = ctypes.c_void_p()
    call("cuModuleGetFunction", ctypes.byref(kernel), module, f"add_one_{use}".encode())
    words, count = word(address), ctypes.c_uint32(COUNT)
    arguments = (ctypes.c_void_p * 2)(ctypes.addressof(words), ctypes.addressof(count))
    call("cuLaunchKernel", kernel, 4, 1, 1, 256, 1, 1, 0, None, arguments, None)
    call("cuCtxSynchronize")


def launch_on_device(use, address):
    words = WORDS(*range(COUNT))
    call("cuMemcpyHtoD_v2", word(address), words, size(4 * COUNT))
    launch(use, address)
    call("cuMemcpyDtoH_v2", words, word(address), size(4 * COUNT))
    print(use, sum(words))


def reserve(pieces, wish=0):
    address = word()
    call("cuMemAddressReserve", ctypes.byref(address), size(pieces * PIECE), size(0), word(wish), word())
    return address.value


def create():
    handle = word()
    call("cuMemCreate", ctypes.byref(handle), size(PIECE), ctypes.byref(properties), word())
    return handle


def map_at(address, handle):
    access = Access(Location(DEVICE, 0), READ_AND_WRITE)
    call("cuMemMap", word(address), size(PIECE), size(0), handle, word())
    call("cuMemSetAccess", word(address), size(PIECE), ctypes.byref(access), size(1))


def map_pieces(address, pieces):
    for i in range(pieces):
        handle = create()
        map_at(address + i * PIECE, handle)
        call("cuMemRelease", handle)


# Three pieces, of which the kernel reaches two; one call unmaps them all, and they come again.
base = reserve(3)
for use in ("mapped", "mapped_again"):
    map_pieces(base, 3)
    launch_on_device(use, base + PIECE - 2000)
    call("cuMemUnmap", word(base), size(3 * PIECE))
call("cuMemAddressFree", word(base), size(3 * PIECE))

base = reserve(32, 0x6E0000000000)
map_pieces(base, 1)
launch_on_device("wished_for", base)

small = reserve(1)
map_pieces(small, 1)
launch_on_device("small", small)

# The same memory at two addresses, with a launch that is not recorded.
one, two, handle = reserve(1), reserve(1), create()
map_at(one, handle)
map_at(two, handle)
launch_on_device("alias", one)

for use, flags in (("managed", GLOBAL), ("attached", HOST)):
    if flags == HOST and not attribute(SHARES_MANAGED):
        continue
    managed = word()
    call("cuMemAllocManaged", ctypes.byref(managed), size(4 * COUNT), flags)
    words = WORDS.from_address(managed.value)
    words[:] = range(COUNT)
    launch(use, managed.value)
    print(use, sum(words))
    del words
    call("cuMemFree_v2", managed)
