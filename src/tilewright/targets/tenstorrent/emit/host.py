"""``main.cpp``: the host program of a plan.

It takes a directory with one file a tensor (``A.bin``: the elements in row-major order) and one a
scalar (``alpha.bin``: one float or int32_t), arranges and tilizes the tensors, runs the program on
one device and writes the files of the outputs:

    ./main DIR
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from tilewright.dialects.tensix.formats import Format
from tilewright.dialects.tensix.multicast import NocWord
from tilewright.dialects.tensix.plan import (
    BLOCK_IDS,
    Assignment,
    KernelPlan,
    Plan,
    RuntimeValue,
    ScalarPlan,
    ScalarWord,
    TensorPlan,
)
from tilewright.dialects.tensix.shards import ShardPlan
from tilewright.targets.cxx.syntax import Names
from tilewright.targets.tenstorrent.chain import tensors_of_chain
from tilewright.targets.tenstorrent.core_ranges import rectangles
from tilewright.targets.tenstorrent.emit.host_text import HEADER

_TYPES = {
    Format.BF16: "bfloat16",
    Format.F32: "float",
    Format.F16: "uint16_t",
    Format.U32: "uint32_t",
    Format.I32: "int32_t",
    Format.U16: "uint16_t",
}


def emit_host(*plans: Plan) -> str:
    """The text of ``main.cpp``: one launch, or several in order on the same buffers."""
    plan = max(plans, key=lambda each: len(each.cores.active))
    header = HEADER.format(
        kernel="', '".join(each.kernel for each in plans),
        arch=plan.arch,
        active=len(plan.cores.active),
        num_cores=plan.cores.num_cores,
    )
    body = [f"    {line}" if line else "" for line in _main(plans)]
    return "\n".join([header, "int main(int argc, char** argv) {", *body, "}"]) + "\n"


def _main(plans: Sequence[Plan]) -> Iterator[str]:
    tensors = tensors_of_chain(plans)
    scalars = list(dict.fromkeys(each for plan in plans for each in plan.scalars))
    names = _names(tensors, scalars)
    columns, rows = (max(plan.cores.grid[axis] for plan in plans) for axis in (0, 1))
    yield from (
        "if (argc != 2) {",
        '    std::fprintf(stderr, "usage: %s DIR\\n", argv[0]);',
        "    return 1;",
        "}",
        "const std::string directory = std::string(argv[1]) + '/';",
        "",
        "std::shared_ptr<distributed::MeshDevice> device = "
        "distributed::MeshDevice::create_unit_mesh(0);",
        "distributed::MeshCommandQueue& queue = device->mesh_command_queue();",
        *(() if len(plans) > 1 else _PROGRAM),
        "",
        "const CoreCoord grid = device->compute_with_storage_grid_size();",
        f"if (grid.x < {columns} || grid.y < {rows}) {{",
        "    std::fprintf(",
        f'        stderr, "{columns} x {rows} cores needed, the device offers %zu x %zu\\n",',
        "        size_t(grid.x), size_t(grid.y));",
        "    return 1;",
        "}",
        "",
    )
    for each in tensors:
        yield from _tensor(each, names[each.name])
    for each in scalars:
        yield from _scalar(each, names[each.name])
    if len(plans) == 1:
        yield from _program(plans[0], names)
        yield from _uploads(tensors, names)
        yield from _enqueue()
    else:
        yield from _uploads(tensors, names)
        for plan in plans:
            yield ""
            yield f"// {plan.kernel}"
            yield "{"
            for line in (*_PROGRAM, *_program(plan, names), *_enqueue()):
                yield f"    {line}" if line else ""
            yield "}"
        yield ""
    yield from _downloads(tensors, names)
    yield "return device->close() ? 0 : 1;"


_PROGRAM = ("distributed::MeshWorkload workload;", "Program program{};")


def _program(plan: Plan, names: dict[str, str]) -> Iterator[str]:
    """Circular buffers, kernels and arguments of one launch."""
    yield from _core_set("cores", plan.cores.active)
    yield from _circular_buffers(plan, names)
    yield from _semaphores(plan)
    for kernel in plan.kernels:
        yield from _kernel(plan, kernel, names)
    yield from _runtime_args(plan, names)


def _names(tensors: Sequence[TensorPlan], scalars: Sequence[ScalarPlan]) -> dict[str, str]:
    """The variables of tensors and scalars."""
    names = Names()
    found = {each.name: names.take(each.name, "tensor") for each in tensors}
    return found | {each.name: names.take(each.name, "scalar") for each in scalars}


def _tensor(plan: TensorPlan, name: str) -> Iterator[str]:
    type = _TYPES[Format(plan.format)]
    size = plan.pages * plan.page_bytes
    yield f"// {plan.name}: {'x'.join(map(str, plan.shape))} {plan.format}, {plan.pages} pages."
    yield f"const Layout {name}_layout = {_layout(plan)};"
    yield f"auto {name}_buffer = distributed::MeshBuffer::create("
    yield f"    distributed::ReplicatedBufferConfig{{.size = {size}}},"
    if plan.shards is None:
        yield (
            f"    distributed::DeviceLocalBufferConfig{{.page_size = {plan.page_bytes}, "
            ".buffer_type = BufferType::DRAM},"
        )
    else:
        yield from _shards(plan, plan.shards)
    yield "    device.get());"
    count = prod(plan.shape)
    if plan.role == "output" or plan.workspace:
        yield f"std::vector<{type}> {name}({count});"
    else:
        yield f'std::vector<{type}> {name} = load<{type}>(directory + "{plan.name}.bin", {count});'
    yield ""


def _scalar(plan: ScalarPlan, name: str) -> Iterator[str]:
    type = _TYPES[Format(plan.format)]
    yield f"// {plan.name}: one {type}, as a word."
    yield (f'const uint32_t {name} = load<uint32_t>(directory + "{plan.name}.bin", 1)[0];')
    yield ""


def _shards(plan: TensorPlan, shards: ShardPlan) -> Iterator[str]:
    """The configuration of a buffer in L1: shard after shard on the listed cores."""
    (rows, columns), (high, wide) = shards.tensor, shards.shape
    yield "    distributed::DeviceLocalBufferConfig{"
    yield f"        .page_size = {plan.page_bytes},"
    yield "        .buffer_type = BufferType::L1,"
    yield "        .sharding_args = BufferShardingArgs(BufferDistributionSpec("
    yield f"            Shape({{{rows}, {columns}}}),"
    yield f"            Shape({{{high}, {wide}}}),"
    yield "            std::vector<CoreCoord>{"
    for x, y in shards.cores:
        yield f"                CoreCoord({x}, {y}),"
    yield "            }))},"


def _layout(plan: TensorPlan) -> str:
    """The aggregate of a ``Layout``."""
    strides = [prod(plan.shape[dim + 1 :]) for dim in range(len(plan.shape))]
    *leading, row, column = plan.dims
    extents = ", ".join(str(plan.shape[dim]) for dim in leading)
    steps = ", ".join(str(strides[dim]) for dim in leading)
    axes = ", ".join(_axis(plan, axis, dim, strides) for axis, dim in enumerate((row, column)))
    return f"{{{{{extents}}}, {{{steps}}}, {axes}}}"


def _axis(plan: TensorPlan, axis: int, dim: int, strides: Sequence[int]) -> str:
    extent, stride = (1, 0) if dim < 0 else (plan.shape[dim], strides[dim])
    granule, padded = plan.granules[axis], plan.padded[-2:][axis]
    words = [str(each) for each in (extent, stride, granule, -(-granule // 32) * 32, padded)]
    if plan.starts[axis]:
        lists = (plan.starts[axis], plan.limits[axis])
        words += [f"{{{', '.join(map(str, each))}}}" for each in lists]
    return f"{{{', '.join(words)}}}"


def _core_set(name: str, cores: Sequence[Assignment]) -> Iterator[str]:
    yield f"const CoreRangeSet {name}(std::vector<CoreRange>{{"
    for r in rectangles([(each.x, each.y) for each in cores]).ranges:
        yield f"    CoreRange(CoreCoord({r.x0}, {r.y0}), CoreCoord({r.x1}, {r.y1})),"
    yield "});"
    yield ""


def _circular_buffers(plan: Plan, names: dict[str, str]) -> Iterator[str]:
    for cb in plan.cbs:
        host = Format(cb.format).host_name
        index = f"CBIndex::c_{cb.index}"
        where = "" if cb.tensor is None else f", in the shard of {cb.tensor}"
        yield f"// {cb.name}: {cb.producer} to {cb.consumer}{where}."
        yield "CreateCircularBuffer("
        yield "    program,"
        yield "    cores,"
        yield (
            f"    CircularBufferConfig({cb.pages} * {cb.page_bytes}, "
            f"{{{{{index}, DataFormat::{host}}}}})"
        )
        if cb.tensor is None:
            yield f"        .set_page_size({index}, {cb.page_bytes}));"
        else:
            buffer = f"*{names[cb.tensor]}_buffer->get_backing_buffer()"
            yield f"        .set_page_size({index}, {cb.page_bytes})"
            yield f"        .set_globally_allocated_address({buffer}));"
    yield ""


def _semaphores(plan: Plan) -> Iterator[str]:
    """The semaphores, whose ids the kernels know: they are given out in the order of creation."""
    if plan.multicast is None:
        return
    for each in plan.multicast.semaphores:
        yield f"// {each.name}."
        yield f"if (CreateSemaphore(program, cores, {each.initial}) != {each.id}) {{"
        yield f'    std::fprintf(stderr, "semaphore {each.id} has another id\\n");'
        yield "    return 1;"
        yield "}"
    yield ""


def _kernel(plan: Plan, kernel: KernelPlan, names: dict[str, str]) -> Iterator[str]:
    role, cores = kernel.name, "cores"
    if not isinstance(kernel.cores, str):
        cores = f"{role}_cores"
        yield from _core_set(cores, plan.cores_of(kernel))
    yield f"std::vector<uint32_t> {role}_compile_args;"
    for tensor in plan.accessor_tensors(kernel):
        yield f"TensorAccessorArgs(*{names[tensor]}_buffer).append_to({role}_compile_args);"
    yield f"const KernelHandle {role} = CreateKernel("
    yield "    program,"
    yield f'    "{kernel.file}",'
    yield f"    {cores},"
    if kernel.role == "compute":
        wide = str(plan.compute.fp32_dest_acc).lower()
        yield "    ComputeConfig{"
        yield f"        .math_fidelity = MathFidelity::{plan.compute.math_fidelity},"
        yield f"        .fp32_dest_acc_en = {wide},"
        yield "        .math_approx_mode = false,"
    else:
        yield "    DataMovementConfig{"
        yield f"        .processor = DataMovementProcessor::{kernel.processor},"
        yield f"        .noc = NOC::NOC_{kernel.noc},"
    yield f"        .compile_args = {role}_compile_args}});"
    yield ""


def _runtime_args(plan: Plan, names: dict[str, str]) -> Iterator[str]:
    """A table of the integers, a row for each core, and the calls that pass them."""
    if plan.multicast is not None:
        yield "// NoC coordinates of logical cores."
        for axis in "xy":
            yield f"const auto noc_{axis} = [&](size_t x, size_t y) {{"
            yield (
                "    return uint32_t(device->worker_core_from_logical_core("
                f"CoreCoord(x, y)).{axis});"
            )
            yield "};"
        yield ""
    shared = [each for each in plan.kernels if isinstance(each.cores, str)]
    yield from _table(plan, names, "Work", "work", shared)
    for kernel in plan.kernels:
        if not isinstance(kernel.cores, str):
            yield from _table(plan, names, f"Work_{kernel.name}", f"work_{kernel.name}", [kernel])


def _table(
    plan: Plan, names: dict[str, str], struct: str, table: str, kernels: Sequence[KernelPlan]
) -> Iterator[str]:
    cores = plan.cores_of(kernels[0])
    columns = _integer_arguments(plan, kernels)
    has_lists = any(BLOCK_IDS in kernel.runtime_args for kernel in kernels)
    yield f"struct {struct} {{"
    yield "    CoreCoord core;"
    for name in columns:
        yield f"    uint32_t {name};"
    if has_lists:
        yield f"    std::vector<uint32_t> {BLOCK_IDS};"
    yield "};"
    yield f"const std::vector<{struct}> {table} = {{"
    for core in cores:
        words: dict[str, RuntimeValue] = {}
        for kernel in kernels:
            words |= _arguments(plan, kernel, core)
        values = "".join(f", {_text(words[name])}" for name in columns)
        if has_lists:
            values += f", {{{', '.join(map(str, core.blocks or ()))}}}"
        yield f"    {{CoreCoord({core.x}, {core.y}){values}}},"
    yield "};"
    yield f"for (const {struct}& each : {table}) {{"
    for kernel in kernels:
        yield from _set_arguments(plan, kernel, names)
    yield "}"
    yield ""


def _set_arguments(plan: Plan, kernel: KernelPlan, names: dict[str, str]) -> Iterator[str]:
    texts = [
        _argument(name, argument, names)
        for name, argument in _arguments(plan, kernel, plan.cores_of(kernel)[0]).items()
    ]
    words = f"std::vector<uint32_t>{{{', '.join(texts)}}}"
    if BLOCK_IDS in kernel.runtime_args:
        list, ids = f"{kernel.name}_args", f"each.{BLOCK_IDS}"
        yield f"    std::vector<uint32_t> {list}{{{', '.join(texts)}}};"
        yield f"    {list}.insert({list}.end(), {ids}.begin(), {ids}.end());"
        words = list
    yield "    SetRuntimeArgs("
    yield f"        program, {kernel.name}, each.core,"
    yield f"        {words});"


def _text(word: RuntimeValue) -> str:
    if isinstance(word, NocWord):
        return f"noc_{word.axis}({word.core[0]}, {word.core[1]})"
    return str(word)


def _argument(name: str, argument: RuntimeValue, names: dict[str, str]) -> str:
    if isinstance(argument, ScalarWord):
        return names[argument.scalar]
    if isinstance(argument, str):
        return f"uint32_t({names[argument]}_buffer->address())"
    return f"each.{name}"


def _arguments(plan: Plan, kernel: KernelPlan, core: Assignment) -> dict[str, RuntimeValue]:
    """The run-time arguments of a core by name; a string is a tensor, for its address."""
    names = [name for name in kernel.runtime_args if name != BLOCK_IDS]
    return dict(zip(names, plan.runtime_words(kernel, core), strict=False))


def _integer_arguments(plan: Plan, kernels: Sequence[KernelPlan]) -> list[str]:
    """The names of all run-time arguments that differ from core to core, in order."""
    found: dict[str, None] = {}
    for kernel in kernels:
        for name, argument in _arguments(plan, kernel, plan.cores_of(kernel)[0]).items():
            if isinstance(argument, (int, NocWord)):
                found.setdefault(name)
    return list(found)


def _uploads(tensors: Sequence[TensorPlan], names: dict[str, str]) -> Iterator[str]:
    for each in tensors:
        name, type = names[each.name], _TYPES[Format(each.format)]
        if each.workspace and each.role == "output":
            continue
        yield (
            f"std::vector<{type}> {name}_pages = pages_of({name}, {name}_layout, "
            f"{type}({each.pad_value}));"
        )
        if each.role != "output":
            yield f"distributed::EnqueueWriteMeshBuffer(queue, {name}_buffer, {name}_pages, false);"


def _enqueue() -> Iterator[str]:
    yield (
        "workload.add_program(distributed::MeshCoordinateRange(device->shape()), "
        "std::move(program));"
    )
    yield "distributed::EnqueueMeshWorkload(queue, workload, false);"


def _downloads(tensors: Sequence[TensorPlan], names: dict[str, str]) -> Iterator[str]:
    for each in tensors:
        if each.role != "input" and not each.workspace:
            name = names[each.name]
            yield f"distributed::EnqueueReadMeshBuffer(queue, {name}_pages, {name}_buffer, true);"
            yield f'store(directory + "{each.name}.bin", {name}, {name}_pages, {name}_layout);'
