/* Launches of CUDA kernels without ctypes: the hot path of `launcher.py` and `prepared_call.py`.

   Launch   launch(stream, x, y, z, *values): values into bytes, then one call of cuLaunchKernelEx.
            What cannot be converted raises struct.error or OverflowError, as `struct` does.
   Call     call(arguments): compares tensors with those of an earlier call by their DLPack view
            (type, dtype, shape, strides, device), fills addresses in, and launches. It returns
            NotImplemented, with nothing launched, where anything is different.

   All memory of a launch is on the stack, so threads need no lock; the GIL is free while the driver
   runs. The rules are those of the Python code beside which this runs: `packing.py` defines kinds
   and ranges, `prepared_call.py` what a repeated call depends on. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <structmember.h>

#define MAX_BYTES 4096 /* of parameters */
#define MAX_PARAMETERS 256
#define MAX_ARGUMENTS 64
#define MAP_BYTES 128
#define MAP_ALIGNMENT 64

/* ---- the driver ----------------------------------------------------------------------------- */

typedef struct {
  unsigned int grid[3], block[3], shared;
  void *stream, *attributes;
  unsigned int num_attributes;
} Config; /* CUlaunchConfig */

typedef int (*Driver)(const Config *, void *function, void **parameters, void **extra);

/* ---- DLPack 1.x ----------------------------------------------------------------------------- */

typedef struct {
  void *data;
  int32_t device_type, device_id, ndim;
  struct {
    uint8_t code, bits;
    uint16_t lanes;
  } dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
} View; /* DLTensor */

typedef struct {
  uint32_t major, minor;
  void *previous;
  void *allocate, *from_object, *to_object;
  int (*view)(void *object, View *out);
  void *current_stream;
} Exchange; /* DLPackExchangeAPI */

static PyObject *struct_error;

/* ---- Launch --------------------------------------------------------------------------------- */

enum { U64, I64, U32, I32, U16, I16, U8, I8, BOOL, F64, F32, F16, MAP, NUM_KINDS };
static const int kind_bytes[NUM_KINDS] = {8, 8, 4, 4, 2, 2, 1, 1, 1, 8, 4, 2, MAP_BYTES};

typedef struct {
  PyObject_HEAD vectorcallfunc vectorcall;
  Driver driver;
  void *function;
  Config config; /* all but grid and stream */
  unsigned int num_ctas;
  PyObject *failed; /* failed(status, attempt, x, y, z): raises, or the launch is tried again */
  int count, bytes;
  uint8_t kinds[MAX_PARAMETERS];
  uint16_t offsets[MAX_PARAMETERS];
} Launch;

/* `object` as an integer between `low` and `high`, the latter unsigned. */
static int integer(PyObject *object, int64_t low, uint64_t high, uint64_t *result) {
  PyObject *index = PyLong_CheckExact(object) ? Py_NewRef(object) : PyNumber_Index(object);
  if (!index) {
    PyErr_Clear();
    PyErr_SetString(struct_error, "required argument is not an integer");
    return -1;
  }
  int overflow, fits = 0;
  long long value = PyLong_AsLongLongAndOverflow(index, &overflow);
  if (!overflow) {
    fits = value >= low && (value < 0 || (uint64_t)value <= high);
    *result = (uint64_t)value;
  } else if (overflow > 0) {
    *result = PyLong_AsUnsignedLongLong(index);
    fits = !PyErr_Occurred() && *result <= high;
    PyErr_Clear();
  }
  Py_DECREF(index);
  if (!fits) PyErr_SetString(struct_error, "argument out of range");
  return fits ? 0 : -1;
}

static int number(PyObject *object, double *result) {
  *result = PyFloat_AsDouble(object);
  if (*result == -1.0 && PyErr_Occurred()) {
    PyErr_Clear();
    PyErr_SetString(struct_error, "required argument is not a float");
    return -1;
  }
  return 0;
}

/* Write `object` as a parameter of `kind` to `at`. */
static int convert(int kind, PyObject *object, unsigned char *at) {
  uint64_t bits = 0;
  double value;
  switch (kind) {
    case U64:
      if (integer(object, 0, UINT64_MAX, &bits)) return -1;
      break;
    case I64:
      if (integer(object, INT64_MIN, INT64_MAX, &bits)) return -1;
      break;
    case U32:
      if (integer(object, 0, UINT32_MAX, &bits)) return -1;
      break;
    case I32:
      if (integer(object, INT32_MIN, INT32_MAX, &bits)) return -1;
      break;
    case U16:
      if (integer(object, 0, UINT16_MAX, &bits)) return -1;
      break;
    case I16:
      if (integer(object, INT16_MIN, INT16_MAX, &bits)) return -1;
      break;
    case U8:
      if (integer(object, 0, UINT8_MAX, &bits)) return -1;
      break;
    case I8:
      if (integer(object, INT8_MIN, INT8_MAX, &bits)) return -1;
      break;
    case BOOL: {
      int is_true = PyObject_IsTrue(object);
      if (is_true < 0) return -1;
      bits = (uint64_t)is_true;
      break;
    }
    case F64:
      if (number(object, &value)) return -1;
      memcpy(at, &value, 8);
      return 0;
    case F32: {
      if (number(object, &value)) return -1;
      float narrow = (float)value;
      if (isinf(narrow) && !isinf(value)) {
        PyErr_SetString(PyExc_OverflowError, "float too large to pack with f format");
        return -1;
      }
      memcpy(at, &narrow, 4);
      return 0;
    }
    case F16:
      if (number(object, &value)) return -1;
      return PyFloat_Pack2(value, (char *)at, 1);
    case MAP:
      if (!PyBytes_Check(object) || PyBytes_GET_SIZE(object) != MAP_BYTES) {
        PyErr_SetString(struct_error, "a tensor map has 128 bytes");
        return -1;
      }
      memcpy(at, PyBytes_AS_STRING(object), MAP_BYTES);
      return 0;
  }
  memcpy(at, &bits, (size_t)kind_bytes[kind]); /* little-endian, as all hosts of CUDA are */
  return 0;
}

/* Launch with parameters that are in `block`. */
static int fire(Launch *self, const unsigned int grid[3], void *stream, unsigned char *block) {
  void *parameters[MAX_PARAMETERS];
  Config config = self->config;
  for (int i = 0; i < 3; ++i) config.grid[i] = grid[i];
  config.grid[0] *= self->num_ctas;
  config.stream = stream;
  for (int i = 0; i < self->count; ++i) parameters[i] = block + self->offsets[i];
  for (int attempt = 0;; ++attempt) {
    int status;
    Py_BEGIN_ALLOW_THREADS;
    status = self->driver(&config, self->function, parameters, NULL);
    Py_END_ALLOW_THREADS;
    if (!status) return 0;
    PyObject *again = PyObject_CallFunction(
        self->failed, "iiIII", status, attempt, grid[0], grid[1], grid[2]);
    if (!again) return -1;
    Py_DECREF(again);
  }
}

static int has_count(Py_ssize_t given, PyObject *names, Py_ssize_t expected) {
  if (given == expected && (!names || !PyTuple_GET_SIZE(names))) return 1;
  PyErr_Format(PyExc_TypeError, "expected %zd positional arguments, got %zd", expected, given);
  return 0;
}

static PyObject *Launch_vectorcall(
    PyObject *object, PyObject *const *given, size_t flags, PyObject *names) {
  Launch *self = (Launch *)object;
  if (!has_count(PyVectorcall_NARGS(flags), names, self->count + 4)) return NULL;
  uint64_t stream, extents[3];
  unsigned int grid[3];
  if (integer(given[0], 0, UINT64_MAX, &stream)) return NULL;
  for (int i = 0; i < 3; ++i) {
    if (integer(given[i + 1], 0, UINT32_MAX, &extents[i])) return NULL;
    grid[i] = (unsigned int)extents[i];
  }
  if (!grid[0] || !grid[1] || !grid[2]) Py_RETURN_NONE;
  _Alignas(MAP_ALIGNMENT) unsigned char block[MAX_BYTES];
  for (int i = 0; i < self->count; ++i) {
    if (convert(self->kinds[i], given[i + 4], block + self->offsets[i])) return NULL;
  }
  if (fire(self, grid, (void *)stream, block)) return NULL;
  Py_RETURN_NONE;
}

static PyObject *Launch_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  static char *names[] = {"driver",  "function", "threads",    "shared",         "num_ctas",
                          "failed", "kinds",    "attributes", "num_attributes", NULL};
  unsigned long long driver, function, attributes;
  unsigned int threads, shared, num_ctas, num_attributes;
  PyObject *failed, *kinds;
  if (!PyArg_ParseTupleAndKeywords(
          arguments, keywords, "KKIIIOO!KI", names, &driver, &function, &threads, &shared,
          &num_ctas, &failed, &PyTuple_Type, &kinds, &attributes, &num_attributes))
    return NULL;
  Py_ssize_t count = PyTuple_GET_SIZE(kinds);
  if (count > MAX_PARAMETERS) {
    PyErr_SetString(PyExc_ValueError, "too many parameters");
    return NULL;
  }
  Launch *self = (Launch *)type->tp_alloc(type, 0);
  if (!self) return NULL;
  self->vectorcall = Launch_vectorcall;
  self->driver = (Driver)(uintptr_t)driver;
  self->function = (void *)(uintptr_t)function;
  self->config = (Config){{0, 0, 0}, {threads, 1, 1}, shared, NULL, (void *)(uintptr_t)attributes,
                          num_attributes};
  self->num_ctas = num_ctas;
  self->failed = Py_NewRef(failed);
  int at = 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    long kind = PyLong_AsLong(PyTuple_GET_ITEM(kinds, i));
    if (kind < 0 || kind >= NUM_KINDS) {
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "unknown kind of parameter");
      Py_DECREF(self);
      return NULL;
    }
    int alignment = kind == MAP ? MAP_ALIGNMENT : 8;
    at = (at + alignment - 1) / alignment * alignment;
    self->kinds[i] = (uint8_t)kind;
    self->offsets[i] = (uint16_t)at;
    at += kind_bytes[kind];
    if (at > MAX_BYTES) {
      PyErr_SetString(PyExc_ValueError, "too many bytes of parameters");
      Py_DECREF(self);
      return NULL;
    }
  }
  self->count = (int)count;
  self->bytes = at;
  return (PyObject *)self;
}

static int Launch_traverse(PyObject *object, visitproc visit, void *arg) {
  Py_VISIT(((Launch *)object)->failed);
  return 0;
}

static int Launch_clear(PyObject *object) {
  Py_CLEAR(((Launch *)object)->failed);
  return 0;
}

static void Launch_dealloc(PyObject *object) {
  PyObject_GC_UnTrack(object);
  Launch_clear(object);
  Py_TYPE(object)->tp_free(object);
}

static PyTypeObject LaunchType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tilewright_native.Launch",
    .tp_basicsize = sizeof(Launch),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = Launch_new,
    .tp_dealloc = Launch_dealloc,
    .tp_traverse = Launch_traverse,
    .tp_clear = Launch_clear,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Launch, vectorcall),
};

/* ---- Call ----------------------------------------------------------------------------------- */

typedef struct {
  PyObject *type;
  PyObject *value; /* of a number; NULL for a tensor */
  View view;       /* of the tensor of the earlier call; its shape and strides are copies */
} Argument;

typedef struct {
  int one, other;
  uint64_t size, size_of_other;
} Pair; /* two arguments that must not share bytes */

typedef struct {
  int argument, parameter;
  int64_t offset;
  PyObject *encoded; /* encoded(address): the tensor map as bytes; NULL for a plain address */
  uint64_t address;  /* of the last map */
  PyObject *map;
} Filled; /* a parameter that depends on an address */

typedef struct {
  Launch *launch;
  unsigned int grid[3];
  int count;
  Filled *filled;
  unsigned char *block; /* the other parameters */
} Planned;

typedef struct {
  PyObject_HEAD vectorcallfunc vectorcall;
  Exchange *exchange;
  PyObject *owner, *name, *expected; /* a call is only made while owner.name is expected */
  PyObject *stream, *device;         /* stream(device): the handle */
  uint64_t mask;                     /* bits of addresses that must be 0 */
  int num_arguments, num_pairs, num_launches;
  Argument *arguments;
  Pair *pairs;
  Planned *launches;
} Call;

static int is_like(const View *given, const View *wanted) {
  size_t size = (size_t)wanted->ndim * sizeof(int64_t);
  return given->ndim == wanted->ndim && given->device_type == wanted->device_type &&
         given->device_id == wanted->device_id &&
         !memcmp(&given->dtype, &wanted->dtype, sizeof given->dtype) &&
         !memcmp(given->shape, wanted->shape, size) && given->strides &&
         !memcmp(given->strides, wanted->strides, size);
}

/* 1 if the arguments are like those of the earlier call, 0 if not, -1 with an error. */
static int compare(Call *self, PyObject *given, uint64_t *addresses) {
  if (PyTuple_GET_SIZE(given) != self->num_arguments) return 0;
  uint64_t all = 0;
  for (int i = 0; i < self->num_arguments; ++i) {
    PyObject *each = PyTuple_GET_ITEM(given, i);
    const Argument *wanted = &self->arguments[i];
    if ((PyObject *)Py_TYPE(each) != wanted->type) return 0;
    addresses[i] = 0;
    if (wanted->value) {
      int equal = PyObject_RichCompareBool(each, wanted->value, Py_EQ);
      if (equal <= 0) return equal;
      continue;
    }
    View view;
    if (self->exchange->view(each, &view)) { /* nothing that DLPack describes */
      PyErr_Clear();
      return 0;
    }
    if (!is_like(&view, &wanted->view)) return 0;
    addresses[i] = (uint64_t)(uintptr_t)view.data + view.byte_offset;
    all |= addresses[i];
  }
  if (all & self->mask) return 0;
  for (int i = 0; i < self->num_pairs; ++i) {
    const Pair *pair = &self->pairs[i];
    uint64_t one = addresses[pair->one], other = addresses[pair->other];
    if (one < other + pair->size_of_other && other < one + pair->size) return 0;
  }
  return 1;
}

/* Write the tensor map for `address` to `at`. */
static int fill_map(Filled *self, uint64_t address, unsigned char *at) {
  if (!self->map || self->address != address) {
    PyObject *number = PyLong_FromUnsignedLongLong(address);
    PyObject *map = number ? PyObject_CallOneArg(self->encoded, number) : NULL;
    Py_XDECREF(number);
    if (!map) return -1;
    if (convert(MAP, map, at)) {
      Py_DECREF(map);
      return -1;
    }
    PyObject *before = self->map;
    self->map = map;
    self->address = address;
    Py_XDECREF(before);
    return 0;
  }
  memcpy(at, PyBytes_AS_STRING(self->map), MAP_BYTES);
  return 0;
}

static int launch_planned(Planned *self, const uint64_t *addresses, void *stream) {
  _Alignas(MAP_ALIGNMENT) unsigned char block[MAX_BYTES];
  memcpy(block, self->block, (size_t)self->launch->bytes);
  for (int i = 0; i < self->count; ++i) {
    Filled *each = &self->filled[i];
    uint64_t address = addresses[each->argument] + (uint64_t)each->offset;
    unsigned char *at = block + self->launch->offsets[each->parameter];
    if (!each->encoded)
      memcpy(at, &address, 8);
    else if (fill_map(each, address, at))
      return -1;
  }
  return fire(self->launch, self->grid, stream, block);
}

static PyObject *Call_vectorcall(
    PyObject *object, PyObject *const *given, size_t flags, PyObject *names) {
  Call *self = (Call *)object;
  if (!has_count(PyVectorcall_NARGS(flags), names, 1)) return NULL;
  if (!PyTuple_Check(given[0])) {
    PyErr_SetString(PyExc_TypeError, "expected a tuple of arguments");
    return NULL;
  }
  PyObject *found = PyObject_GetAttr(self->owner, self->name);
  if (!found) return NULL;
  int is_expected = found == self->expected;
  Py_DECREF(found);
  uint64_t addresses[MAX_ARGUMENTS];
  int matches = is_expected ? compare(self, given[0], addresses) : 0;
  if (matches < 0) return NULL;
  if (!matches) Py_RETURN_NOTIMPLEMENTED;
  PyObject *handle = PyObject_CallOneArg(self->stream, self->device);
  if (!handle) return NULL;
  uint64_t stream;
  int is_wrong = integer(handle, 0, UINT64_MAX, &stream);
  Py_DECREF(handle);
  if (is_wrong) return NULL;
  for (int i = 0; i < self->num_launches; ++i) {
    if (launch_planned(&self->launches[i], addresses, (void *)stream)) return NULL;
  }
  Py_RETURN_NONE;
}

static int copy_view(View *view) {
  size_t size = (size_t)view->ndim * sizeof(int64_t);
  int64_t *both = PyMem_Malloc(2 * size + 1);
  if (!both || !view->strides) {
    PyMem_Free(both);
    view->shape = NULL;
    PyErr_SetString(PyExc_ValueError, "a tensor without strides");
    return -1;
  }
  memcpy(both, view->shape, size);
  memcpy(both + view->ndim, view->strides, size);
  view->shape = both;
  view->strides = both + view->ndim;
  return 0;
}

/* An argument from (type, is_tensor, tensor or value). */
static int read_argument(Call *self, PyObject *from, Argument *to) {
  PyObject *type, *value;
  int is_tensor;
  if (!PyArg_ParseTuple(from, "OpO", &type, &is_tensor, &value)) return -1;
  to->type = Py_NewRef(type);
  if (!is_tensor) {
    to->value = Py_NewRef(value);
    return 0;
  }
  if (self->exchange->view(value, &to->view)) {
    to->view.shape = NULL;
    return -1;
  }
  return copy_view(&to->view);
}

/* A launch from (Launch, (x, y, z), parameters): of these (argument, offset, encoded or None) is
   filled in with each call, and (value,) is as it is. */
static int read_launch(Call *self, PyObject *from, Planned *to) {
  PyObject *launch, *parameters;
  if (!PyArg_ParseTuple(
          from, "O!(III)O!", &LaunchType, &launch, &to->grid[0], &to->grid[1], &to->grid[2],
          &PyTuple_Type, &parameters))
    return -1;
  to->launch = (Launch *)Py_NewRef(launch);
  if (PyTuple_GET_SIZE(parameters) != to->launch->count) {
    PyErr_SetString(PyExc_ValueError, "a launch lacks parameters");
    return -1;
  }
  to->block = PyMem_Calloc((size_t)to->launch->bytes + 1, 1);
  to->filled = PyMem_Calloc((size_t)to->launch->count + 1, sizeof(Filled));
  if (!to->block || !to->filled) {
    PyErr_NoMemory();
    return -1;
  }
  for (int i = 0; i < to->launch->count; ++i) {
    PyObject *each = PyTuple_GET_ITEM(parameters, i);
    int kind = to->launch->kinds[i];
    if (PyTuple_Check(each) && PyTuple_GET_SIZE(each) == 1) {
      if (convert(kind, PyTuple_GET_ITEM(each, 0), to->block + to->launch->offsets[i])) return -1;
      continue;
    }
    Filled *filled = &to->filled[to->count];
    long long offset;
    PyObject *encoded;
    if (!PyArg_ParseTuple(each, "iLO", &filled->argument, &offset, &encoded)) return -1;
    if (filled->argument < 0 || filled->argument >= self->num_arguments ||
        kind != (encoded == Py_None ? U64 : MAP)) {
      PyErr_SetString(PyExc_ValueError, "a parameter that is no address");
      return -1;
    }
    filled->parameter = i;
    filled->offset = offset;
    filled->encoded = encoded == Py_None ? NULL : Py_NewRef(encoded);
    ++to->count;
  }
  return 0;
}

static int read_pair(Call *self, PyObject *from, Pair *to) {
  unsigned long long size, size_of_other;
  if (!PyArg_ParseTuple(from, "iiKK", &to->one, &to->other, &size, &size_of_other)) return -1;
  if (to->one < 0 || to->other < 0 || to->one >= self->num_arguments ||
      to->other >= self->num_arguments) {
    PyErr_SetString(PyExc_ValueError, "no such argument");
    return -1;
  }
  to->size = size;
  to->size_of_other = size_of_other;
  return 0;
}

static PyObject *Call_new(PyTypeObject *type, PyObject *given, PyObject *keywords) {
  static char *names[] = {"exchange", "owner",     "name",  "expected", "stream", "device",
                          "mask",     "arguments", "pairs", "launches", NULL};
  PyObject *capsule, *owner, *name, *expected, *stream, *device, *arguments, *pairs, *launches;
  unsigned long long mask;
  if (!PyArg_ParseTupleAndKeywords(
          given, keywords, "OOUOOOKO!O!O!", names, &capsule, &owner, &name, &expected, &stream,
          &device, &mask, &PyTuple_Type, &arguments, &PyTuple_Type, &pairs, &PyTuple_Type,
          &launches))
    return NULL;
  Exchange *exchange = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
  if (!exchange) return NULL;
  if (exchange->major != 1 || !exchange->view || PyTuple_GET_SIZE(arguments) > MAX_ARGUMENTS) {
    PyErr_SetString(PyExc_ValueError, "tensors without a view of DLPack 1, or too many arguments");
    return NULL;
  }
  Call *self = (Call *)type->tp_alloc(type, 0);
  if (!self) return NULL;
  self->vectorcall = Call_vectorcall;
  self->exchange = exchange;
  self->owner = Py_NewRef(owner);
  self->name = Py_NewRef(name);
  PyUnicode_InternInPlace(&self->name);
  self->expected = Py_NewRef(expected);
  self->stream = Py_NewRef(stream);
  self->device = Py_NewRef(device);
  self->mask = mask;
  self->arguments = PyMem_Calloc((size_t)PyTuple_GET_SIZE(arguments) + 1, sizeof(Argument));
  self->pairs = PyMem_Calloc((size_t)PyTuple_GET_SIZE(pairs) + 1, sizeof(Pair));
  self->launches = PyMem_Calloc((size_t)PyTuple_GET_SIZE(launches) + 1, sizeof(Planned));
  if (!self->arguments || !self->pairs || !self->launches) {
    PyErr_NoMemory();
    goto failed;
  }
  /* Counts grow with what was begun, so that an error releases it. */
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); ++i) {
    Argument *to = &self->arguments[self->num_arguments++];
    if (read_argument(self, PyTuple_GET_ITEM(arguments, i), to)) goto failed;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(pairs); ++i) {
    Pair *to = &self->pairs[self->num_pairs++];
    if (read_pair(self, PyTuple_GET_ITEM(pairs, i), to)) goto failed;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(launches); ++i) {
    Planned *to = &self->launches[self->num_launches++];
    if (read_launch(self, PyTuple_GET_ITEM(launches, i), to)) goto failed;
  }
  return (PyObject *)self;
failed:
  Py_DECREF(self);
  return NULL;
}

static int Call_traverse(PyObject *object, visitproc visit, void *arg) {
  Call *self = (Call *)object;
  Py_VISIT(self->owner);
  Py_VISIT(self->expected);
  Py_VISIT(self->stream);
  for (int i = 0; i < self->num_arguments; ++i) {
    Py_VISIT(self->arguments[i].type);
    Py_VISIT(self->arguments[i].value);
  }
  for (int i = 0; i < self->num_launches; ++i) {
    Py_VISIT((PyObject *)self->launches[i].launch);
    for (int j = 0; j < self->launches[i].count; ++j) Py_VISIT(self->launches[i].filled[j].encoded);
  }
  return 0;
}

static void Call_dealloc(PyObject *object) {
  Call *self = (Call *)object;
  PyObject_GC_UnTrack(object);
  Py_XDECREF(self->owner);
  Py_XDECREF(self->name);
  Py_XDECREF(self->expected);
  Py_XDECREF(self->stream);
  Py_XDECREF(self->device);
  for (int i = 0; i < self->num_arguments; ++i) {
    Argument *each = &self->arguments[i];
    if (!each->value) PyMem_Free(each->view.shape);
    Py_XDECREF(each->type);
    Py_XDECREF(each->value);
  }
  for (int i = 0; i < self->num_launches; ++i) {
    Planned *each = &self->launches[i];
    for (int j = 0; j < each->count; ++j) {
      Py_XDECREF(each->filled[j].encoded);
      Py_XDECREF(each->filled[j].map);
    }
    Py_XDECREF((PyObject *)each->launch);
    PyMem_Free(each->filled);
    PyMem_Free(each->block);
  }
  PyMem_Free(self->arguments);
  PyMem_Free(self->pairs);
  PyMem_Free(self->launches);
  Py_TYPE(object)->tp_free(object);
}

static PyTypeObject CallType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tilewright_native.Call",
    .tp_basicsize = sizeof(Call),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = Call_new,
    .tp_dealloc = Call_dealloc,
    .tp_traverse = Call_traverse,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Call, vectorcall),
};

/* ---- the module ----------------------------------------------------------------------------- */

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "tilewright_native", "Launches of CUDA kernels.", -1, NULL,
};

PyMODINIT_FUNC PyInit_tilewright_native(void) {
  PyObject *packing = PyImport_ImportModule("struct");
  if (!packing) return NULL;
  struct_error = PyObject_GetAttrString(packing, "error");
  Py_DECREF(packing);
  if (!struct_error) return NULL;
  PyObject *module = PyModule_Create(&definition);
  if (!module) return NULL;
  if (PyModule_AddType(module, &LaunchType) || PyModule_AddType(module, &CallType)) {
    Py_DECREF(module);
    return NULL;
  }
  return module;
}
