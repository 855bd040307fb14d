"""Split the program of a core into reader, compute and writer.

    tensix.core_program { for i { copy A -> a ; elementwise a -> c ; copy c -> C } }
      -> tensix.kernel @reader { for i { reserve a ; read pages ; push a } }
         tensix.kernel @compute { for i { elementwise a -> c } }
         tensix.kernel @writer { for i { wait c ; write pages ; pop c } }

Each kernel gets the control flow and the index arithmetic that it needs, and its own ops; what
remains unused disappears. All three iterate alike because their loops are copies of the same loop:
bounds and conditions depend on arguments and loop indices only, never on data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.func import FuncOp
from tilewright.dialects.memref import LoadOp
from tilewright.dialects.scf import ForOp, IfOp
from tilewright.dialects.scf import YieldOp as ScfYieldOp
from tilewright.dialects.tensix.arguments import ArgAtOp, ArgOp, RasterOp
from tilewright.dialects.tensix.blocks import ConstantTileOp, ReleaseOp, ShardTileOp
from tilewright.dialects.tensix.buffers import CBPopOp, CBWaitOp
from tilewright.dialects.tensix.loops import MatmulKLoopOp
from tilewright.dialects.tensix.multicast import Multicast
from tilewright.dialects.tensix.noc import AccessorOp
from tilewright.dialects.tensix.plan import BLOCK_IDS, WORD_SUFFIX, Plan
from tilewright.dialects.tensix.program import (
    CoreProgramOp,
    EndOp,
    HostPlanOp,
    KernelOp,
    names_attr,
)
from tilewright.dialects.tensix.types import AccessorType, Role
from tilewright.dialects.tile import AllocOp, CopyOp, RegionOp
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.base import integer_attr
from tilewright.dialects.tile.mixed import Mixed
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.effects import is_removable
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.annotations import chip_of, functions, get
from tilewright.passes.tenstorrent.block_shapes import name_of, region_shape
from tilewright.passes.tenstorrent.buffer_uses import is_block_op, role_of
from tilewright.passes.tenstorrent.circular_buffers import needed_plan
from tilewright.passes.tenstorrent.host_plans import host_plan, reader_variants
from tilewright.passes.tenstorrent.in_place import tensor_of, tensors_in_place
from tilewright.passes.tenstorrent.infer_tt_shards import layouts_of, shards_of
from tilewright.passes.tenstorrent.kernel_code import KernelCode
from tilewright.passes.tenstorrent.lower_circular_buffers import COMPUTE
from tilewright.passes.tenstorrent.move_pages import fill_pages, load_pages, store_pages
from tilewright.passes.tenstorrent.multicast_groups import multicast_of, operand_of
from tilewright.passes.tenstorrent.multicast_pages import MulticastCode, Part, argument_names
from tilewright.passes.tenstorrent.reports import DATA_DEPENDENT, NotSupported, reporting
from tilewright.passes.tenstorrent.scalar_words import is_word_type, scalar_ops
from tilewright.passes.tenstorrent.shard_code import (
    after_blocks,
    before_blocks,
    first_tile,
    outputs_in_place,
)
from tilewright.passes.tenstorrent.split_launches import launch_of
from tilewright.passes.tenstorrent.tensor_layouts import TensorLayout
from tilewright.passes.tile.clone_ops import copy_op


@dataclass(frozen=True)
class SplitTtKernels(Pass):
    """Make one kernel per role, and the plan of the host."""

    name = "split-tt-kernels"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for function in list(functions(module)):
            for program in [op for op in walk(function) if isinstance(op, CoreProgramOp)]:
                with reporting(engine):
                    _split(module, function, program)


def _split(module: ModuleOp, function: FuncOp, program: CoreProgramOp) -> None:
    rewriter = Rewriter()
    kernels = [*_readers(function, program)]
    kernels += [
        _Slice(function, program, role, role.value).run()
        for role in Role
        if role is not Role.READER
    ]
    plan = host_plan(function, program, kernels)
    launch = launch_of(function)
    if launch is not None and launch["launches"] > 1:
        plan = _numbered(plan, kernels, launch["position"])
    made = [HostPlanOp(function.sym_name.data, plan.to_attr()), *kernels]
    rewriter.insert_after(function, made)
    rewriter.erase(function)


def _numbered(plan: Plan, kernels: list[KernelOp], position: int) -> Plan:
    """Names of kernels and files that are unique in a chain."""
    for kernel in kernels:
        kernel.sym_name = StringAttr(f"{kernel.sym_name.data}_{position}")
    listed = tuple(replace(each, file=f"{each.name}_{position}.cpp") for each in plan.kernels)
    return replace(plan, kernels=listed)


def _readers(function: FuncOp, program: CoreProgramOp) -> Iterator[KernelOp]:
    """The reader, or with multicast one for each combination of senders and receivers."""
    multicast = multicast_of(function)
    if multicast is None:
        yield _Slice(function, program, Role.READER, Role.READER.value).run()
        return
    for name, (parts, _) in reader_variants(function, multicast).items():
        yield _Slice(function, program, Role.READER, name, multicast, parts).run()


@dataclass
class _Slice:
    """The kernel of one role, under construction."""

    function: FuncOp
    program: CoreProgramOp
    role: Role
    name: str
    multicast: Multicast | None = None
    parts: dict[str, Part] = field(default_factory=dict[str, Part])
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    accessors: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    scalars: list[Operation] = field(default_factory=list[Operation])
    """The ops that convert words to scalars of the user."""

    def run(self) -> KernelOp:
        compute = get(self.function, COMPUTE)
        is_compute = self.role is Role.COMPUTE
        kernel = KernelOp(
            self.name, self.role, fp32_dest_acc=is_compute and compute["fp32_dest_acc"]
        )
        kernel.location = self.function.location
        self.code = KernelCode(kernel)
        self.layouts: dict[SSAValue, TensorLayout] = layouts_of(self.function)
        self.in_place: set[SSAValue | None] = {*tensors_in_place(self.function)}
        arguments = zip(self.program.argument_names, self.program.body_block.args, strict=True)
        for position, (name, argument) in enumerate(arguments):
            self.values[argument] = self.code.head(ArgOp(position, name))
        self._groups: MulticastCode | None = None
        if self.multicast is not None:
            flushes = not chip_of(self.function).ordered_multicast_flags
            self._groups = MulticastCode(self.code, self.multicast, self.parts, flushes)
            loads = [op for op in walk(self.program) if isinstance(op, CopyOp)]
            self._groups.start({operand_of(each) or "": each for each in loads})
        if not is_compute:  # which does so when its calls are made
            before_blocks(self.code, self.program, self.role)
        self._block(self.program.body_block)
        if not is_compute:
            after_blocks(self.code, self.program, self.role)
        if self._groups is not None:
            self._groups.end()
        _drop_unused(kernel)
        self._assign_positions(kernel)
        return kernel

    # -- ops -------------------------------------------------------------------------------------

    def _block(self, block: Block) -> None:
        for op in block.ops:
            self.code.location = op.location
            self._op(op)

    def _op(self, op: Operation) -> None:
        if isinstance(op, ReleaseOp):
            self._release(op)
        elif isinstance(op, MatmulKLoopOp):
            self._k_loop(op)
        elif is_block_op(op):
            if tensor_of(op) in self.in_place:
                self._in_place(op)
            elif role_of(op) is self.role:
                self._block_op(op)
        elif isinstance(op, AllocOp):
            if self.role is Role.COMPUTE:
                self.code.head(copy_op(op, self.values))
        elif isinstance(op, ForOp):
            bounds = [self._value(each) for each in (op.lower_bound, op.upper_bound, op.step)]
            self._loop(op, bounds, op.body.block)
        elif isinstance(op, IfOp):
            self._branch(op)
        elif isinstance(op, RasterOp) and op.listed is not None:
            self._listed_raster(op, op.listed)
        elif isinstance(op, LoadOp):
            raise NotSupported(
                op,
                f"a value of '{name_of(op.memref)}' decides about control flow or addresses: "
                "loop bounds, conditions and offsets may depend on arguments and indices only",
                DATA_DEPENDENT,
            )
        elif not isinstance(op, (RegionOp, EndOp, ScfYieldOp)):
            self.code.add(copy_op(op, self._operands(op)))

    def _operands(self, op: Operation) -> dict[SSAValue, SSAValue]:
        """The map of values, completed by constants from outside the program."""
        for operand in op.operands:
            self._value(operand)
        return self.values

    def _value(self, value: Mixed) -> SSAValue:
        """A value of the program in the kernel."""
        if isinstance(value, int):
            return self.code.constant(value)
        found = self.values.get(value)
        if found is not None:
            return found
        owner = value.owner
        if isinstance(owner, ConstantOp):
            self.values[value] = self.code.head(copy_op(owner, {}))
            return self.values[value]
        if isinstance(owner, Operation) and is_removable(owner) and not owner.regions:
            # Defined in the function, outside the program.
            self.code.add(copy_op(owner, self._operands(owner)))
            return self.values[value]
        assert is_word_type(value.type), "fix-arguments removes the other scalars"
        self.values[value] = self._scalar(value)
        return self.values[value]

    def _scalar(self, argument: SSAValue) -> SSAValue:
        """A scalar argument of the user, from a run-time word."""
        word = self.code.head(ArgOp(0, f"{name_of(argument)}{WORD_SUFFIX}"))
        made = scalar_ops(word, argument.type)
        owner = word.owner
        for op in made:
            assert isinstance(owner, Operation)
            self.code.kernel.body_block.insert_op_after(op, owner)
            owner = op
        self.scalars += made
        return made[-1].results[0]

    def _loop(self, op: Operation, bounds: list[SSAValue], body: Block) -> None:
        name = body.args[0].name_hint or "i"
        with self.code.loop_over(bounds[0], bounds[1], bounds[2], name) as index:
            self.values[body.args[0]] = index
            self._block(body)

    def _branch(self, op: IfOp) -> None:
        if op.results:
            raise NotSupported(op, "a condition that gives a value: use T.if_then_else on indices")
        otherwise = Region(Block([ScfYieldOp()])) if op.regions[1].blocks else None
        made = IfOp(self._value(op.operands[0]), [], None, otherwise)
        self.code.add(made)
        outer = self.code.block
        for region, target in zip(op.regions, made.regions, strict=True):
            if region.blocks:
                self.code.block = target.block
                self._block(region.block)
        self.code.block = outer

    def _listed_raster(self, op: RasterOp, position: SSAValue) -> None:
        """Look the block up among the run-time arguments, by its position in the list."""
        block = ArgAtOp(0, BLOCK_IDS, self._value(position))
        self.code.add(block)
        made = RasterOp("row_major", block.result, self._value(op.rows), self._value(op.columns))
        self.code.add(made)
        self.values[op.row], self.values[op.column] = made.row, made.column

    def _k_loop(self, op: MatmulKLoopOp) -> None:
        bounds = [self._value(each) for each in (op.lower_bound, op.upper_bound, op.step)]
        if self.role is Role.READER:
            self._loop(op, bounds, op.body_block)
        elif self.role is Role.COMPUTE:
            made = MatmulKLoopOp(
                (bounds[0], bounds[1], bounds[2]),
                self.values[op.a],
                self.values[op.b],
                self.values[op.acc],
                op.block_tiles,
                transpose_a=op.transpose_a is not None,
                transpose_b=op.transpose_b is not None,
                clear=op.clear is not None,
                attributes=op.attributes,
            )
            self.code.add(made)
            self._locate_operands(op, made)

    def _locate_operands(self, op: MatmulKLoopOp, made: MatmulKLoopOp) -> None:
        """State in the body of the loop where in their shards the operands of a step are."""
        loads = [each for each in op.body_block.ops if tensor_of(each) in self.in_place]
        if not loads:
            return
        values, outer = dict(self.values), self.code.block
        self.values[op.induction_variable] = made.induction_variable
        self.code.block = made.body_block
        for each in loads:  # whose index arithmetic is copied by demand
            self._in_place(each)
        self.code.block, self.values = outer, values

    # -- shards ----------------------------------------------------------------------------------

    def _in_place(self, op: Operation) -> None:
        """A copy from or to a shard: compute finds the tiles there."""
        assert isinstance(op, CopyOp)
        if self.role is Role.COMPUTE and role_of(op) is Role.READER:
            self._locate(op.dst, op.src)

    def _locate(self, buffer: SSAValue, box: SSAValue) -> None:
        """State where in its shard the box is that `buffer` stands for."""
        tensor, offsets, _ = region_shape(box)
        layout, shards = self.layouts[tensor], shards_of(self.function)[tensor]
        # The offsets of a store may be computed after the op that computes what is stored.
        values = dict(self.values)
        index = first_tile(self.code, layout, shards, offsets, self._value)
        self.code.add(ShardTileOp(values[buffer], index))
        self.values = values

    def _locate_outputs(self, op: Operation) -> None:
        for buffer in outputs_in_place(op):
            (store,) = [
                use.operation
                for use in buffer.uses
                if isinstance(use.operation, CopyOp) and use.operation.src is buffer
            ]
            assert isinstance(store, CopyOp)
            self._locate(buffer, store.dst)

    def _block_op(self, op: Operation) -> None:
        if self.role is Role.COMPUTE:
            self._locate_outputs(op)
            self.code.add(copy_op(op, self._outside(op)))
        elif isinstance(op, ConstantTileOp):
            fill_pages(self.code, op, self._value)
        else:
            assert isinstance(op, CopyOp)
            self._copy(op)

    def _copy(self, op: CopyOp) -> None:
        operand = operand_of(op)
        part = None if operand is None else self.parts.get(operand)
        groups = self._groups
        if self.role is Role.WRITER:
            tensor = base_of(op.dst)
            accessor, layout = self._accessor(tensor), self.layouts[tensor]
            store_pages(self.code, op, accessor, layout, self._value)
        elif part is Part.RECEIVER and operand is not None and groups is not None:
            groups.receive(op, operand)
        else:
            tensor = base_of(op.src)
            accessor, layout = self._accessor(tensor), self.layouts[tensor]
            send: Callable[[SSAValue], None] | None = None
            if part is Part.SENDER and operand is not None and groups is not None:
                send = partial(groups.send, op, operand)
            load_pages(self.code, op, accessor, layout, self._value, send)

    def _outside(self, op: Operation) -> dict[SSAValue, SSAValue]:
        """Values that the body of an element-wise op takes from outside."""
        for inner in walk(op):
            for operand in inner.operands:
                if not op.is_ancestor(operand.owner) and operand not in self.values:
                    self._value(operand)
        return self.values

    def _release(self, op: ReleaseOp) -> None:
        plan = needed_plan(op.buffer)
        if plan.role is not self.role or plan.is_in_place:
            return
        if self.role is Role.COMPUTE:
            self.code.add(copy_op(op, self.values))
            return
        # In the chunks in which the contents are pushed: the buffer may be smaller than they are.
        count = self.code.constant(plan.chunk)
        cb = self.code.cb(op.buffer)
        with self.code.loop(plan.tiles // plan.chunk, "s"):
            self.code.add(CBWaitOp(cb, count))
            self.code.add(CBPopOp(cb, count))

    # -- arguments -------------------------------------------------------------------------------

    def _accessor(self, tensor: SSAValue) -> SSAValue:
        if tensor not in self.accessors:
            name = name_of(tensor)
            layout = self.layouts[tensor]
            address = self.code.head(ArgOp(0, f"{name}_addr"))
            made = AccessorOp(
                address,
                0,
                AccessorType(len(layout.shape), layout.format),
                label=name,
                sharded=tensor in shards_of(self.function),
            )
            owner = address.owner
            assert isinstance(owner, Operation)
            self.code.kernel.body_block.insert_op_after(made, owner)
            self.accessors[tensor] = made.result
        return self.accessors[tensor]

    def _assign_positions(self, kernel: KernelOp) -> None:
        """Addresses in the order of the function's arguments, words of the core, scalars."""
        arguments = self.function.body.block.args
        order = [f"{name_of(each)}_addr" for each in arguments]
        order += self.program.argument_names
        for operand, part in self.parts.items():
            order += argument_names(operand, part)
        order += [f"{name_of(each)}{WORD_SUFFIX}" for each in arguments]
        words = [op for op in kernel.body_block.ops if isinstance(op, ArgOp)]
        words.sort(key=lambda op: order.index(_label(op)))
        for position, op in enumerate(words):
            op.position = _integer(position)
            op.detach()
            self.code.before_body(op)
        names = [_label(op) for op in words]
        lists = [op for op in walk(kernel) if isinstance(op, ArgAtOp)]
        for op in lists:
            op.position = _integer(len(names))
        if lists:
            names.append(BLOCK_IDS)
        if names:
            kernel.properties["runtime_args"] = names_attr(names)
        accessors = [op for op in kernel.body_block.ops if isinstance(op, AccessorOp)]
        accessors.sort(key=lambda op: order.index(f"{_tensor(op)}_addr"))
        names: list[str] = []
        for op in accessors:
            op.ct_offset = _integer(len(names))
            op.detach()
            self.code.before_body(op)
            names += [f"{_tensor(op)}_{word}" for word in self._accessor_words(_tensor(op))]
        # Each is put before those that use it.
        for op in reversed([op for op in self.scalars if op.parent is not None]):
            op.detach()
            self.code.before_body(op)
        if accessors:
            kernel.properties["compile_args"] = names_attr(names)

    def _accessor_words(self, tensor: str) -> list[str]:
        """The names of the compile-time arguments of an accessor."""
        words = ["accessor", "page_bytes"]
        for argument, shards in shards_of(self.function).items():
            if name_of(argument) == tensor:
                words += ["rank", "cores", "rows", "columns", "shard_rows", "shard_columns"]
                words += [f"cores_{n}" for n in range(shards.accessor_words - len(words))]
        return words


def _integer(value: int) -> IntegerAttr:
    found = integer_attr(value)
    assert found is not None
    return found


def _label(op: ArgOp) -> str:
    assert op.label is not None
    return op.label.data


def _tensor(op: AccessorOp) -> str:
    assert op.label is not None
    return op.label.data


def _drop_unused(kernel: KernelOp) -> None:
    """Erase ops without effects whose results are not used, loops and branches included."""
    changed = True
    while changed:
        changed = False
        for op in reversed(list(walk(kernel))):
            if op is kernel or op.parent is None or _stays(op):
                continue
            if any(result.uses for result in op.results):
                continue
            if is_removable(op) or isinstance(op, AllocOp):
                Rewriter().erase(op)
                changed = True


def _stays(op: Operation) -> bool:
    """Whether an op has effects that its regions do not show."""
    return isinstance(op, (EndOp, ScfYieldOp, MatmulKLoopOp))
