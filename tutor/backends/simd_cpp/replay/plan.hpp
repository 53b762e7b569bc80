// A Program as C++ runs it. Everything known before a run is read and checked once, when the Plan
// is made, by the same functions as for a single call; a run fills in addresses and calls one
// kernel after the other.
#pragma once

#include <Python.h>

#include <string>
#include <vector>

#include "border/call.hpp"
#include "memory/memory.hpp"

namespace tutor {

// What one run needs for itself, so that several threads can run a Plan at once: an arena, whose
// contents are needed only until the run ends, and the operands of all steps, which point into it.
struct Room {
    Memory* arena;  // while it runs
    char* base;     // where operands over temps point: the latest run's arena
    std::vector<Operand>
        operands;                // each step's in a row: out, the inputs, and a source (see Step)
    std::vector<Memory*> given;  // owned while it runs: the caller's memory
    std::vector<char*> bases;    // where operands over that memory point, as of the latest run
};

class Plan {
  public:
    Plan() = default;
    ~Plan();
    Plan(const Plan&) = delete;
    Plan& operator=(const Plan&) = delete;

    // The arguments of the Python type: see _simd.pyi. false, with a Python error set, if the Plan
    // cannot be run.
    bool read(PyObject* slots, PyObject* steps, PyObject* arena_bytes);

    // Runs all steps on the Buffers of a list. None, or nullptr with a Python error set.
    PyObject* run(PyObject* buffers);

    size_t arena_bytes() const { return arena_bytes_; }
    size_t arenas() const { return rooms_.size(); }

  private:
    // An operand that walks a slot: its number among those of all steps, and the byte of the slot
    // where it begins.
    struct Use {
        int operand;
        int64_t start;
    };

    // Memory that steps walk: a place in the arena, a Buffer that is given to each run, or one that
    // stays the same.
    struct Slot {
        int64_t count;
        DType dtype;
        int64_t offset = -1;      // in the arena, in bytes
        Memory* bound = nullptr;  // owned: memory that stays the same
        int writer = -1;          // the first step that writes it
        int written_as = 0;       // and as which operand
        std::vector<Use> uses;
    };

    // A call. Indices are copied before they are checked, as in a single call (Operands::copy). The
    // index operand is a copy of the source, which comes after the operands.
    struct Step {
        const Row* row;
        int first, count;
        int index;       // the operand that holds indices, 0 if none does
        int64_t copied;  // how many there are
        Params params;
    };

    // ---- plan.cpp
    bool read_slot(PyObject* from, int64_t number);
    bool read_step(PyObject* from, int number);
    bool read_operands(PyObject* from, const Kernel& kernel, int number, Operands* operands,
                       std::vector<Use>* starts);
    void add(const Kernel& kernel, const Operands& operands, const Params& params,
             const std::vector<Use>& starts);

    // ---- run.cpp
    Room* take();
    void give_back(Room* room);
    bool lay(Room* room) const;
    void point(Room* room, const Slot& slot, char* base) const;
    bool give(Room* room, PyObject* buffers) const;
    bool apart(const Room& room) const;
    bool misfits(size_t place, const Slot& slot, const Memory& memory) const;
    Status go(Room* room, size_t* step) const;

    std::vector<Slot> slots_;
    std::vector<int> given_;  // the slots whose memory each run is given
    std::vector<Step> steps_;
    std::vector<Operand> operands_;  // as Room::operands, without addresses
    size_t arena_bytes_ = 0;         // of one arena; copies of indices come last in it
    size_t copies_ = 0;              // where they begin
    double work_ = 0;                // in elements touched, as work_of counts
    bool joined_ = false;            // do the arenas know of it?

    std::vector<Room*> rooms_;  // owned
    std::vector<Room*> idle_;   // those that no run is using; changed with the GIL held
};

extern PyTypeObject* plan_type;

// Creates the type. false, with a Python error set, when that fails.
bool make_plan_type();

// Adds to the current Python error the step where it happened: its attribute `step`.
void set_step(int64_t number);

// Calls `note` with the current Python error, which stays set.
void tell_error(PyObject* note);

}  // namespace tutor
