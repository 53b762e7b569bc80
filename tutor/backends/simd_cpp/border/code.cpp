#include "border/code.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "border/checks.hpp"
#include "border/errors.hpp"
#include "levels.hpp"
#include "parts.hpp"

namespace tutor {

namespace {

// ---- The kernels of a level, by name ------------------------------------------------------------

using ByDType = std::array<const Row*, DTYPES>;
using ByName = std::unordered_map<std::string_view, ByDType>;

ByName names_of(const Level& level) {
    ByName found;
    for (Table table : level.tables) {
        const Rows rows = table();
        for (int64_t r = 0; r < rows.count; ++r)
            found[rows.begin[r].name][rows.begin[r].dtype] = rows.begin + r;
    }
    return found;
}

// The kernels on the level of `row`, by name.
const ByName& beside(const Row& row) {
    static const std::vector<ByName> all = [] {
        std::vector<ByName> found;
        for (int i = 0; i < LEVELS; ++i) found.push_back(names_of(levels()[i]));
        return found;
    }();
    const auto has = [&](const ByName& names) { return names.at(row.name)[row.dtype] == &row; };
    return *std::find_if(all.begin(), all.end(), has);
}

DType dtype_named(std::string_view name) {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> all;
        for (int d = 0; d < DTYPES; ++d) all.push_back(name_of(static_cast<DType>(d)));
        return all;
    }();
    return static_cast<DType>(std::find(names.begin(), names.end(), name) - names.begin());
}

// ---- Words --------------------------------------------------------------------------------------

bool is_space(char c) { return c == ' ' || (c >= 9 && c <= 13) || (c >= 28 && c <= 31); }

// Takes the next word off the front of `text`: empty at its end.
std::string_view word(std::string_view* text) {
    size_t start = 0, end;
    while (start < text->size() && is_space((*text)[start])) ++start;
    for (end = start; end < text->size() && !is_space((*text)[end]);) ++end;
    const std::string_view found = text->substr(start, end - start);
    *text = text->substr(end);
    return found;
}

// Takes the text up to the first `end`, and that, off the front. false if there is no `end`.
bool split(std::string_view* text, char end, std::string_view* part) {
    const size_t at = text->find(end);
    *part = text->substr(0, at);
    *text = at == text->npos ? std::string_view() : text->substr(at + 1);
    return at != part->npos;
}

// A place as written: its letter and its number, as in r12.
struct Name {
    char letter = 0;
    int number = 0;

    explicit Name(std::string_view text) {
        const bool zeros = text.size() > 2 && text[1] == '0';
        if (text.size() < 2 || text.size() > 5 || zeros) return;
        for (char c : text.substr(1)) {
            if (c < '0' || c > '9') return;
            number = 10 * number + c - '0';
        }
        letter = text[0];
    }
};

// ---- Reading ------------------------------------------------------------------------------------

// A value that a register of that name holds from some instruction on, and its tile.
struct Value {
    int name;
    DType dtype;
    int tile, last;  // last: its last reader, or its writer if nothing reads it
};

class Reader {
  public:
    Reader(const Row& row, const Operands& operands, Params* params)
        : kernels_(beside(row)), operands_(operands), params_(*params), code_(params->code) {}

    // false if anything deviates from bytecode.py, which then says what.
    bool read(std::string_view text) {
        const int count = operands_.count();
        const double results = params_.number[0];
        if (count > MAX_FUSED || !(results >= 1 && results < count)) return false;
        if (results != std::floor(results)) return false;
        code_.results = static_cast<int>(results);
        code_.count = code_.product = 0;
        std::fill_n(code_.written, MAX_FUSED, int8_t(-1));
        std::fill_n(code_.read, MAX_FUSED, int8_t(-1));
        for (bool more = true; more; ++code_.count) {
            std::string_view line;
            more = split(&text, ';', &line);
            if (code_.count == MAX_CODE || !instruction(line)) return false;
        }
        for (int k = 0; k < code_.results; ++k)
            if (code_.written[result(k)] < 0) return false;
        if (params_.axis_count && !reduces_) return false;
        assign_tiles();
        return true;
    }

  private:
    // The operand that result k is: out, or one of the last.
    int result(int k) const { return k == 0 ? 0 : operands_.count() - code_.results + k; }

    bool instruction(std::string_view line) {
        std::string_view left, name, words[4];
        if (!split(&line, '=', &left)) return false;
        const Name dest(word(&left));
        if (!word(&left).empty()) return false;
        name = word(&line);
        int args = 0;
        while (!(words[args] = word(&line)).empty())
            if (++args == 4) return false;
        std::string_view kernel;
        if (!split(&name, '.', &kernel)) return false;
        Instruction& step = code_.of[code_.count];
        DType from[3], made = dtype_named(name);
        for (int a = 0; a < args; ++a)
            if (!argument(Name(words[a]), &step.from[a], &from[a])) return false;
        step.args = static_cast<uint8_t>(args);
        return made != DTYPES && choose(kernel, from, &made, &step) && write(dest, made, &step);
    }

    bool argument(Name name, uint8_t* place, DType* dtype) {
        if (name.letter == 'r') {
            int newest = registers_ - 1;
            while (newest >= 0 && values_[newest].name != name.number) --newest;
            if (newest < 0) return false;
            values_[newest].last = code_.count;
            *dtype = values_[newest].dtype;
            if (code_.product && newest == 0) {  // the product: see begin
                code_.read[*place = 1] = static_cast<int8_t>(code_.count);
                return true;
            }
            *place = static_cast<uint8_t>(MAX_FUSED + newest);
            return true;
        }
        const bool is_input = name.letter == 'i';
        if (!is_input && name.letter != 'o') return false;
        const int inputs = operands_.count() - code_.results;
        if (name.number >= (is_input ? inputs : code_.results)) return false;
        if (is_input && name.number < code_.product) return false;
        const int k = is_input ? name.number + 1 : result(name.number);
        if (!is_input && (code_.written[k] < 0 || (k == 0 && reduces_))) return false;
        if (is_input) code_.read[k] = static_cast<int8_t>(code_.count);
        *dtype = operands_[k].dtype;
        *place = static_cast<uint8_t>(k);
        return true;
    }

    // Finds the kernel of that name for the dtype `*made`, or, if it takes any dtype, the one that
    // gives `*made`. Sets `*made` to the dtype of its result.
    bool choose(std::string_view name, const DType* from, DType* made, Instruction* step) {
        const auto kernel = kernels_.find(name);
        if (kernel == kernels_.end() || step->args == 0) return false;
        const DType named = *made;
        const Row* row = kernel->second[named];  // for a cast as well: it has all dtypes
        if (!row) return false;
        const bool product = row->form == Form::MatMul || row->form == Form::Linear;
        const bool reduces = row->form == Form::Reduce && row->reducer;
        if (!product && !reduces &&
            (row->form != Form::Elementwise || row->params[0] || !row->work))
            return false;
        if (std::strlen(row->types) != step->args + 1u) return false;
        const bool any = row->types[0] == '*';
        if (any) row = kernel->second[from[0]];
        for (int a = 0; a < step->args && !any; ++a)
            if (from[a] != meaning(row->types[a + 1], named)) return false;
        if (!any) *made = meaning(row->types[0], named);
        step->row = row;
        step->work = reduces || product ? nullptr : any ? row->work + named : row->work;
        step->widens = 0;
        if (product) return begin(*step);
        if (code_.product && (reduces || step->work->refused)) return false;
        if (reduces || !step->work->converts()) return true;
        for (int a = 0; a < step->args; ++a)
            step->widens |= static_cast<uint8_t>((from[a] == step->work->stored) << a);
        step->widens |= static_cast<uint8_t>((*made == step->work->stored) << 3);
        return true;
    }

    // A product, of the first inputs. Nobody else reads these, so its own numbers stand at the
    // place of the first one.
    bool begin(const Instruction& step) {
        if (code_.count > 0) return false;
        for (int a = 0; a < step.args; ++a)
            if (step.from[a] != a + 1) return false;
        code_.product = step.args;
        std::fill_n(code_.read, MAX_FUSED, int8_t(-1));
        return true;
    }

    bool write(Name dest, DType made, Instruction* step) {
        if (code_.product && code_.count == 0) {
            values_[registers_++] = {dest.number, made, 0, 0};
            step->to = 1;
            return dest.letter == 'r';
        }
        if (!step->work && (dest.letter != 'o' || dest.number != 0 || none_to_choose(*step)))
            return false;
        if (dest.letter == 'r') {
            values_[registers_] = {dest.number, made, 0, code_.count};
            step->to = static_cast<uint8_t>(MAX_FUSED + registers_++);
            return true;
        }
        if (dest.letter != 'o' || dest.number >= code_.results) return false;
        const int k = result(dest.number);
        if (code_.written[k] >= 0 || operands_[k].dtype != made) return false;
        code_.written[k] = static_cast<int8_t>(code_.count);
        reduces_ |= !step->work;
        step->to = static_cast<uint8_t>(k);
        return true;
    }

    // Whether the step would choose, say, the largest of no elements.
    bool none_to_choose(const Instruction& step) const {
        const std::string_view name = step.row->name;
        if (name == "sum" || name == "prod" || name == "mean") return false;
        for (int a = 0; a < params_.axis_count; ++a)
            if (operands_[1].shape[params_.axis[a]] == 0) return true;
        return false;
    }

    // Gives each register a tile, which is reused after the register's last read. An instruction
    // can write to a tile that it reads only if the elements have the same size.
    void assign_tiles() {
        int free[MAX_CODE], count = 0;
        code_.registers = 0;
        for (int i = 0; i < code_.count; ++i) {
            Instruction& step = code_.of[i];
            Value* written = step.to >= MAX_FUSED ? &values_[step.to - MAX_FUSED] : nullptr;
            int ended[4], ends = 0;
            for (int a = 0; a < step.args; ++a) {
                if (step.from[a] < MAX_FUSED) continue;
                Value& read = values_[step.from[a] - MAX_FUSED];
                step.from[a] = static_cast<uint8_t>(MAX_FUSED + read.tile);
                if (read.last != i) continue;
                read.last = -1;  // it may be read twice
                if (written && itemsize_of[read.dtype] == itemsize_of[written->dtype])
                    free[count++] = read.tile;
                else
                    ended[ends++] = read.tile;
            }
            if (written) {
                written->tile = count ? free[--count] : code_.registers++;
                step.to = static_cast<uint8_t>(MAX_FUSED + written->tile);
                if (written->last == i) ended[ends++] = written->tile;
            }
            std::copy_n(ended, ends, free + count);
            count += ends;
        }
    }

    const ByName& kernels_;
    const Operands& operands_;
    const Params& params_;
    Code& code_;
    Value values_[MAX_CODE];  // the values of registers, in order
    int registers_ = 0;
    bool reduces_ = false;
};

// The error for code that could not be read: bytecode.py reads it again and says what is wrong.
bool explain(PyObject* text, const Operands& operands, const Params& params) {
    std::string formats;
    for (int i = 0; i < operands.count(); ++i) formats += "?bhiqBHIQeEfd"[operands[i].dtype];
    const Operand& x = operands[1];
    PyObject* shape = PyTuple_New(x.ndim);
    PyObject* axis = PyTuple_New(params.axis_count);
    for (int d = 0; shape && d < x.ndim; ++d)
        PyTuple_SET_ITEM(shape, d, PyLong_FromLongLong(x.shape[d]));
    for (int a = 0; axis && a < params.axis_count; ++a)
        PyTuple_SET_ITEM(axis, a, PyLong_FromLongLong(params.axis[a]));
    PyObject* module = shape && axis ? PyImport_ImportModule("tutor.backends.bytecode") : nullptr;
    PyObject* said = module ? PyObject_CallMethod(module, "explain", "OsdOO", text, formats.c_str(),
                                                  params.number[0], shape, axis)
                            : nullptr;
    if (said) PyErr_Format(PyExc_SystemError, "kernel fused: code %R cannot be read", text);
    Py_XDECREF(said);
    Py_XDECREF(module);
    Py_XDECREF(shape);
    Py_XDECREF(axis);
    return false;
}

}  // namespace

bool read_code(const Row& row, PyObject* text, const Operands& operands, Params* params) {
    std::string_view code;
    if (PyUnicode_Check(text)) {
        Py_ssize_t size;
        const char* bytes = PyUnicode_AsUTF8AndSize(text, &size);
        if (!bytes) return false;
        code = {bytes, static_cast<size_t>(size)};
    }
    if (!Reader(row, operands, params).read(code)) return explain(text, operands, *params);
    for (int k = 1; k < params->code.results; ++k)
        if (!operands.check_writable(operands.count() - k, row.name)) return false;
    return true;
}

}  // namespace tutor
