// What stands where libcuda.so.1 stands, for tests: the functions of the driver that tutor calls.
//
// Memory of the device is memory of the host. A stream is a list of things to do, and nothing in it
// is done before somebody waits: a copy whose bytes were let go of too early, a number that was
// read too soon, memory that was freed while a kernel uses it, all that shows. Mistakes are
// answered as the driver answers them; a program that would be undefined there ends with a message
// here.
//
// A program is PTX. If it has a line "// host: PATH", that library has the same kernel for the host
// (cuda_on_host.hpp) and a launch runs it; else a launch is written down alone. stand_in_log() is
// all that was called, one line each.

#include "stand_in_state.hpp"

extern "C" {

// ---- what tests ask -----------------------------------------------------------------------------

const char* stand_in_log() { return log_text.c_str(); }
void stand_in_clear() { log_text.clear(); }
void stand_in_set(const char* name, long long value) { settings[name] = value; }
void stand_in_fail(const char* name, int code, int after) { failures[name] = {code, after}; }
long long stand_in_blocks() { return (long long)blocks.size(); }

// ---- the driver ---------------------------------------------------------------------------------

CUresult cuInit(unsigned flags) {
    if (const int code = called("cuInit", flags)) return (CUresult)code;
    ready = flags == 0;
    starts++;  // tests start it anew, and what they had is no part of what they have
    return (CUresult)(flags ? INVALID_VALUE : 0);
}

CUresult cuDriverGetVersion(int* version) {
    called("cuDriverGetVersion");
    *version = (int)settings["version"];
    return (CUresult)0;
}

CUresult cuGetErrorName(CUresult code, const char** text) {
    static const std::map<int, const char*> names = {
        {1, "CUDA_ERROR_INVALID_VALUE"},    {2, "CUDA_ERROR_OUT_OF_MEMORY"},
        {100, "CUDA_ERROR_NO_DEVICE"},      {201, "CUDA_ERROR_INVALID_CONTEXT"},
        {218, "CUDA_ERROR_INVALID_PTX"},    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
        {400, "CUDA_ERROR_INVALID_HANDLE"}, {500, "CUDA_ERROR_NOT_FOUND"},
        {700, "CUDA_ERROR_ILLEGAL_ADDRESS"}};
    const auto found = names.find(code);
    *text = found == names.end() ? nullptr : found->second;
    return (CUresult)(*text ? 0 : INVALID_VALUE);
}

CUresult cuGetErrorString(CUresult code, const char** text) {
    static const std::map<int, const char*> said = {
        {2, "out of memory"},
        {100, "no CUDA-capable device is detected"},
        {218, "a PTX JIT compilation failed"},
        {222, "the provided PTX was compiled with an unsupported toolchain."},
        {700, "an illegal memory access was encountered"}};
    const auto found = said.find(code);
    *text = found == said.end() ? nullptr : found->second;
    return (CUresult)(*text ? 0 : INVALID_VALUE);
}

CUresult cuDeviceGetCount(int* count) {
    const int code = called("cuDeviceGetCount");
    *count = (int)settings["count"];
    return (CUresult)code;
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    if (const int code = called("cuDeviceGet", ordinal)) return (CUresult)code;
    if (ordinal < 0 || ordinal >= settings["count"]) return (CUresult)INVALID_DEVICE;
    *device = ordinal;
    return (CUresult)0;
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
    const int code = called("cuDeviceGetName", length, device);
    std::snprintf(name, length, "Stand-in %d", device);
    return (CUresult)code;
}

CUresult cuDeviceTotalMem_v2(size_t* nbytes, CUdevice device) {
    const int code = called("cuDeviceTotalMem_v2", device);
    *nbytes = settings["memory"];
    return (CUresult)code;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice device) {
    if (const int code = called("cuDeviceGetAttribute", (int)which, device)) return (CUresult)code;
    if (which != 75 && which != 76) return (CUresult)INVALID_VALUE;
    *value = (int)settings[which == 75 ? "major" : "minor"];
    return (CUresult)0;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
    if (const int code = called("cuDevicePrimaryCtxRetain", device)) return (CUresult)code;
    *context = &contexts[device];
    retained[device] = true;
    return (CUresult)0;
}

CUresult cuCtxSetCurrent(CUcontext context) {
    const bool known = context >= contexts && context < contexts + 8;
    if (!ready) return (CUresult)NOT_INITIALIZED;
    if (!known || !retained[context - contexts]) return (CUresult)INVALID_CONTEXT;
    current = context;
    return (CUresult)0;
}

// ---- streams and events -------------------------------------------------------------------------

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
    if (const int code = in_context("cuStreamCreate", flags)) return (CUresult)code;
    *stream = *streams.insert(new CUstream_st).first;
    return (CUresult)(flags > 1 ? INVALID_VALUE : 0);
}

CUresult cuStreamSynchronize(CUstream stream) {
    const std::lock_guard<std::recursive_mutex> held(lock);
    if (!streams.count(stream)) return (CUresult)INVALID_HANDLE;
    drain(stream);
    return (CUresult)in_context("cuStreamSynchronize", stream);
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
    const std::lock_guard<std::recursive_mutex> held(lock);
    if (const int code = in_context("cuStreamWaitEvent", stream, event, flags))
        return (CUresult)code;
    if (!streams.count(stream) || !events.count(event)) return (CUresult)INVALID_HANDLE;
    const CUstream other = event->stream;
    // The event may be destroyed meanwhile; what was in its stream when it was recorded comes
    // first.
    const auto reached = std::make_shared<bool>(event->done);
    if (!event->done) other->add([reached] { *reached = true; });
    stream->add([reached, other] {
        while (!*reached) step(other);
    });
    return (CUresult)0;
}

CUresult cuEventCreate(CUevent* event, unsigned flags) {
    if (const int code = in_context("cuEventCreate", flags)) return (CUresult)code;
    *event = *events.insert(new CUevent_st).first;
    return (CUresult)(flags > 3 ? INVALID_VALUE : 0);
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
    const std::lock_guard<std::recursive_mutex> held(lock);
    if (const int code = in_context("cuEventRecord", event, stream)) return (CUresult)code;
    if (!streams.count(stream) || !events.count(event)) return (CUresult)INVALID_HANDLE;
    event->recorded = true, event->done = false, event->stream = stream;
    stream->add([event] {
        if (events.count(event)) event->done = true;
    });
    return (CUresult)0;
}

CUresult cuEventQuery(CUevent event) {
    const std::lock_guard<std::recursive_mutex> held(lock);
    if (const int code = in_context("cuEventQuery", event)) return (CUresult)code;
    if (!events.count(event)) return (CUresult)INVALID_HANDLE;
    if (event->done || !event->recorded) return (CUresult)0;
    step(event->stream);  // time passes
    return (CUresult)NOT_READY;
}

CUresult cuEventSynchronize(CUevent event) {
    const std::lock_guard<std::recursive_mutex> held(lock);
    if (const int code = in_context("cuEventSynchronize", event)) return (CUresult)code;
    if (!events.count(event)) return (CUresult)INVALID_HANDLE;
    while (event->recorded && !event->done) step(event->stream);
    return (CUresult)0;
}

CUresult cuEventDestroy_v2(CUevent event) {
    const std::lock_guard<std::recursive_mutex> held(lock);
    if (const int code = in_context("cuEventDestroy_v2", event)) return (CUresult)code;
    if (!events.erase(event)) return (CUresult)INVALID_HANDLE;
    return (CUresult)0;  // its few bytes stay, so that no other event has its address
}

// ---- memory -------------------------------------------------------------------------------------

CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t nbytes) {
    const std::lock_guard<std::recursive_mutex> held(lock);
    if (const int code = in_context("cuMemAlloc_v2", nbytes)) return (CUresult)code;
    size_t used = 0;
    for (const auto& [at, size] : blocks) used += born[at] == starts ? size : 0;
    if (nbytes == 0) return (CUresult)INVALID_VALUE;
    if (used + nbytes > (size_t)settings["memory"]) return (CUresult)OUT_OF_MEMORY;
    char* made = (char*)std::malloc(nbytes + 2 * FENCE);
    std::memset(made, 0xa5, nbytes + 2 * FENCE);  // nobody may count on zeros
    *address = (CUdeviceptr)(made + FENCE);
    blocks[*address] = nbytes, born[*address] = starts;
    return (CUresult)0;
}

CUresult cuMemFree_v2(CUdeviceptr address) {
    const std::lock_guard<std::recursive_mutex> held(lock);
    if (const int code = in_context("cuMemFree_v2", address)) return (CUresult)code;
    const auto block = blocks.find(address);
    if (block == blocks.end()) return (CUresult)INVALID_VALUE;
    for (CUstream stream : streams)
        for (const auto& action : stream->waiting)
            for (CUdeviceptr used : action.uses)
                if (used >= address && used < address + block->second)
                    undefined("memory is freed before what uses it has run");
    blocks.erase(block);
    std::free((char*)address - FENCE);
    return (CUresult)0;
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t nbytes, CUstream stream) {
    const std::lock_guard<std::recursive_mutex> held(lock);
    if (const int code = in_context("cuMemcpyHtoDAsync_v2", to, nbytes, stream))
        return (CUresult)code;
    if (!streams.count(stream)) return (CUresult)INVALID_HANDLE;
    if (!is_inside(to, nbytes)) return (CUresult)INVALID_VALUE;
    stream->add([=] { std::memcpy((void*)to, from, nbytes); }, {to});
    return (CUresult)0;
}

CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t nbytes, CUstream stream) {
    const std::lock_guard<std::recursive_mutex> held(lock);
    if (const int code = in_context("cuMemcpyDtoHAsync_v2", from, nbytes, stream))
        return (CUresult)code;
    if (!streams.count(stream)) return (CUresult)INVALID_HANDLE;
    if (!is_inside(from, nbytes)) return (CUresult)INVALID_VALUE;
    stream->add([=] { std::memcpy(to, (void*)from, nbytes); }, {from});
    return (CUresult)0;
}

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
    const std::lock_guard<std::recursive_mutex> held(lock);
    if (const int code = in_context("cuMemsetD32Async", to, value, count, stream))
        return (CUresult)code;
    if (!streams.count(stream)) return (CUresult)INVALID_HANDLE;
    if (to % 4 || !is_inside(to, 4 * count)) return (CUresult)INVALID_VALUE;
    stream->add([=] {
        for (size_t i = 0; i < count; i++) ((unsigned*)to)[i] = value;
    });
    return (CUresult)0;
}

// ---- programs -----------------------------------------------------------------------------------

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
    const std::lock_guard<std::recursive_mutex> held(lock);
    const std::string ptx = (const char*)image;
    const size_t target = ptx.find(".target sm_");
    const int arch = target < ptx.size() ? std::atoi(ptx.c_str() + target + 11) : 0;
    if (const int code = in_context("cuModuleLoadData", arch)) return (CUresult)code;
    if (ptx.find(".version ") >= ptx.size() || !arch ||
        arch > 10 * settings["major"] + settings["minor"])
        return (CUresult)INVALID_PTX;
    *module = *modules.insert(new CUmod_st).first;
    read_entries(*module, ptx);
    const size_t line = ptx.find("// host: ");
    if (line < ptx.size()) {
        const std::string path = ptx.substr(line + 9, ptx.find('\n', line) - line - 9);
        (*module)->host = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!(*module)->host) undefined(dlerror());
    }
    return (CUresult)0;
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
    const std::lock_guard<std::recursive_mutex> held(lock);
    if (const int code = in_context("cuModuleGetFunction", name)) return (CUresult)code;
    if (!modules.count(module)) return (CUresult)INVALID_HANDLE;
    const auto found = module->entries.find(name);
    if (found == module->entries.end()) return (CUresult)NOT_FOUND;
    *function = *functions.insert(new CUfunc_st{name, found->second}).first;
    if (module->host) (*function)->run = (Run)dlsym(module->host, "run_on_host");
    return (CUresult)0;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* nbytes, CUmodule module,
                              const char* name) {
    if (const int code = in_context("cuModuleGetGlobal_v2", name)) return (CUresult)code;
    if (!modules.count(module)) return (CUresult)INVALID_HANDLE;
    if (std::string(name) != "first_group") return (CUresult)NOT_FOUND;
    *address = (CUdeviceptr)(module->host ? dlsym(module->host, name) : module->own);
    *nbytes = 8;
    return (CUresult)0;
}

CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                        unsigned by, unsigned bz, unsigned shared, CUstream stream, void** params,
                        void** extra) {
    const std::lock_guard<std::recursive_mutex> held(lock);
    if (!functions.count(f) || !streams.count(stream)) return (CUresult)INVALID_HANDLE;
    const auto values = std::make_shared<std::vector<unsigned long long>>();
    std::ostringstream shown;
    for (size_t i = 0; i < f->sizes.size(); i++) {
        values->push_back(0);
        std::memcpy(&values->back(), params[i], f->sizes[i]);
        shown << (i ? "," : "") << f->sizes[i] << ':' << values->back();
    }
    if (const int code = in_context("cuLaunchKernel", f->name, gx, gy, gz, bx, by, bz, shared,
                                    stream, shown.str().empty() ? "-" : shown.str()))
        return (CUresult)code;
    if (!gx || !gy || !gz || gx > 0x7fffffffu || gy > 65535 || gz > 65535 || !bx || !by || !bz ||
        bx * by * bz > 1024 || bz > 64 || extra || shared)
        return (CUresult)INVALID_VALUE;
    stream->add(
        [=] {
            if (!f->run) return;
            const unsigned grid[] = {gx, gy, gz}, block[] = {bx, by, bz};
            std::vector<void*> pointers;
            for (unsigned long long& value : *values) pointers.push_back(&value);
            f->run(pointers.data(), grid, block);
            look_at_fences(f->name);
        },
        *values);
    return (CUresult)0;
}
}
