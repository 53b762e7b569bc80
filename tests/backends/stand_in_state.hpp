// What the stand-in for libcuda (stand_in_libcuda.cpp) knows: the driver's types, the memory,
// streams, events and programs that there are, and what tests have set.

#pragma once

#if __has_include(<cuda.h>)
#include <cuda.h>  // where it is installed, the compiler compares what is declared here with it
#else
#include <cstddef>
typedef int CUresult, CUdevice, CUdevice_attribute;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st* CUcontext;
typedef struct CUmod_st* CUmodule;
typedef struct CUfunc_st* CUfunction;
typedef struct CUstream_st* CUstream;
typedef struct CUevent_st* CUevent;
#endif
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

struct CUctx_st {};
struct CUevent_st {
    bool recorded = false, done = false;
    CUstream stream = nullptr;
};
using Run = void (*)(void**, const unsigned*, const unsigned*);
struct CUmod_st {
    void* host = nullptr;
    std::map<std::string, std::vector<size_t>> entries;  // the sizes of each kernel's arguments
    unsigned own[2] = {0, 0};                            // first_group, where there is no library
};
struct CUfunc_st {
    std::string name;
    std::vector<size_t> sizes;
    Run run = nullptr;
};
struct CUstream_st {
    struct Action {
        std::function<void()> run;
        std::vector<CUdeviceptr> uses;  // addresses of the device
    };
    std::deque<Action> waiting;
    void add(std::function<void()> run, std::vector<CUdeviceptr> uses = {}) {
        waiting.push_back({std::move(run), std::move(uses)});
    }
};

namespace {

enum {
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    INVALID_DEVICE = 101,
    INVALID_CONTEXT = 201,
    INVALID_PTX = 218,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    NOT_READY = 600,
};

enum { FENCE = 64 };  // bytes before and behind each block
std::recursive_mutex lock;
std::string log_text;
bool ready = false;
CUctx_st contexts[8];
bool retained[8];
thread_local CUcontext current = nullptr;
std::map<CUdeviceptr, size_t> blocks;
std::map<CUdeviceptr, int> born;  // which start of the driver a block comes after
int starts = 0;
std::map<std::string, long long> settings = {
    {"count", 1}, {"memory", 1 << 30}, {"major", 8}, {"minor", 0}, {"version", 12040}};
std::map<std::string, std::pair<int, int>> failures;  // function: the error, after how many calls
std::set<CUstream> streams;
std::set<CUevent> events;
std::set<CUmodule> modules;
std::set<CUfunction> functions;

[[noreturn]] void undefined(const std::string& what) {
    std::fprintf(stderr, "the stand-in for libcuda: %s\n", what.c_str());
    std::abort();
}

// Writes the call down. The error to answer with, if a test asks for one or something was left out.
template <class... A>
int called(const char* name, const A&... args) {
    std::ostringstream line;
    line << name;
    ((line << ' ' << args), ...);
    log_text += line.str() + "\n";
    auto found = failures.find(name);
    if (found != failures.end() && found->second.second-- <= 0) {
        const int code = found->second.first;
        failures.erase(found);
        return code;
    }
    return ready || std::string(name) == "cuInit" ? 0 : NOT_INITIALIZED;
}

template <class... A>
int in_context(const char* name, const A&... args) {
    const int code = called(name, args...);
    return code ? code : current ? 0 : INVALID_CONTEXT;
}

bool is_inside(CUdeviceptr at, size_t nbytes) {
    auto found = blocks.upper_bound(at);
    if (found != blocks.begin() && (--found, at + nbytes <= found->first + found->second))
        return true;
    for (CUmodule module : modules) {  // a variable of a program
        const auto own = (CUdeviceptr)module->own;
        const auto host = module->host ? (CUdeviceptr)dlsym(module->host, "first_group") : own;
        if ((at >= own && at + nbytes <= own + 8) || (at >= host && at + nbytes <= host + 8))
            return true;
    }
    return false;
}

// Nobody writes beyond the memory that was asked for.
void look_at_fences(const std::string& after) {
    for (const auto& [at, nbytes] : blocks)
        for (size_t i = 0; i < FENCE; i++)
            if (((unsigned char*)at)[-1 - (int)i] != 0xa5 ||
                ((unsigned char*)at)[nbytes + i] != 0xa5)
                undefined(after + " writes beyond a block of memory");
}

void step(CUstream stream) {
    const std::function<void()> first = std::move(stream->waiting.front().run);
    stream->waiting.pop_front();
    first();
}

void drain(CUstream stream) {
    while (!stream->waiting.empty()) step(stream);
}

// What an entry of PTX is called, and the sizes of its arguments: ".param .u64 NAME_param_0,".
void read_entries(CUmodule module, const std::string& ptx) {
    for (size_t at = 0; (at = ptx.find(".entry ", at)) != std::string::npos;) {
        at += 7;
        const size_t open = ptx.find('(', at), close = ptx.find(')', open);
        std::vector<size_t>& sizes = module->entries[ptx.substr(at, open - at)];
        for (size_t p = open; (p = ptx.find(".param .", p)) < close; p++)
            sizes.push_back(std::atoi(ptx.c_str() + p + 9) / 8);
    }
}

}  // namespace
