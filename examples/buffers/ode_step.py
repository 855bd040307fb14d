"""An ODE step from nested device functions, each with scratch it declares and does not place.

    python examples/buffers/ode_step.py [--canary] [NAME_location=shared|local ...]

Three reacting species, one system a thread, integrated with the Bogacki-Shampine pair: third order
with an error estimate, and its last slope is the first of the next step. Two components:

    Step    k1      persistent   the slope that the next step starts with
            k2, k3  shared
            error   local, over k2: the estimate is formed when k2 is no longer needed
            stage   local
    Rates   flux    local        called four times a step

Without a GPU the kernel runs in numba-cuda's simulator; set NUMBA_ENABLE_CUDASIM=0 to use a GPU.
"""

from __future__ import annotations

import os
import sys

import numpy as np

# The simulator is chosen before numba is imported.
os.environ.setdefault("NUMBA_ENABLE_CUDASIM", "1")

from numba import cuda

from tilewright.buffers import BufferRegistry

SPECIES, THREADS = 3, 4
PRECISION = np.float32


class Rates:
    """dy/dt of A <-> B -> C, from two fluxes."""

    precision = PRECISION

    def __init__(self, registry: BufferRegistry) -> None:
        registry.register("flux", self, 2, "local")

    def build(self, registry: BufferRegistry):
        alloc_flux = registry.get_allocator("flux", self)

        @cuda.jit(device=True)
        def rates(y, dy, shared, persistent):
            flux = alloc_flux(shared, persistent)
            flux[0] = PRECISION(2.0) * y[0] - PRECISION(0.5) * y[1]
            flux[1] = y[1] * y[1]
            dy[0] = -flux[0]
            dy[1] = flux[0] - flux[1]
            dy[2] = flux[1]

        return rates


class Step:
    """One Bogacki-Shampine step."""

    precision = PRECISION

    def __init__(self, registry: BufferRegistry, rates: Rates) -> None:
        self.rates = rates
        registry.register("k1", self, SPECIES, "local", persistent=True)
        registry.register("k2", self, SPECIES, "shared")
        registry.register("k3", self, SPECIES, "shared")
        registry.register("error", self, SPECIES, "local", aliases="k2")
        registry.register("stage", self, SPECIES, "local")
        registry.register_child(self, rates, "rates")

    def build(self, registry: BufferRegistry):
        rates = self.rates.build(registry)
        rates_shared, rates_persistent = registry.get_child_allocators(self, self.rates, "rates")
        alloc_k1, alloc_k2, alloc_k3, alloc_error, alloc_stage = (
            registry.get_allocator(name, self) for name in ("k1", "k2", "k3", "error", "stage")
        )

        @cuda.jit(device=True)
        def step(y, dt, first, shared, persistent):
            """Advance y by dt; the largest component of the error estimate."""
            below_s = rates_shared(shared, persistent)
            below_p = rates_persistent(shared, persistent)
            k1, k2 = alloc_k1(shared, persistent), alloc_k2(shared, persistent)
            k3, stage = alloc_k3(shared, persistent), alloc_stage(shared, persistent)
            if first:
                rates(y, k1, below_s, below_p)
            for i in range(SPECIES):
                stage[i] = y[i] + dt * PRECISION(1 / 2) * k1[i]
            rates(stage, k2, below_s, below_p)
            for i in range(SPECIES):
                stage[i] = y[i] + dt * PRECISION(3 / 4) * k2[i]
            rates(stage, k3, below_s, below_p)
            for i in range(SPECIES):
                sum3 = PRECISION(2 / 9) * k1[i] + PRECISION(1 / 3) * k2[i]
                stage[i] = y[i] + dt * (sum3 + PRECISION(4 / 9) * k3[i])
            # From here on k2 is spent, and error may lie over it.
            error = alloc_error(shared, persistent)
            for i in range(SPECIES):
                sum2 = PRECISION(-5 / 72) * k1[i] + PRECISION(1 / 12) * k2[i]
                error[i] = dt * (sum2 + PRECISION(1 / 9) * k3[i])
            rates(stage, k1, below_s, below_p)
            largest = PRECISION(0)
            for i in range(SPECIES):
                y[i] = stage[i]
                largest = max(largest, abs(error[i] - dt * PRECISION(1 / 8) * k1[i]))
            return largest

        return step


@cuda.jit(device=True)
def unguarded(shared, persistent):
    pass


@cuda.jit(device=True)
def unchecked(shared, persistent, report):
    pass


def integrate(start, dt, steps, locations=None, registry=None):
    """Final states and largest error estimates, one row a system; and the layout of the step."""
    registry = registry or BufferRegistry()
    rates = Rates(registry)
    registry.update(rates, locations)
    step = Step(registry, rates)
    registry.update(step, locations)
    registry.refresh(step)
    advance = step.build(registry)

    elements = registry.shared_buffer_size(step)
    step.persistent_local_elements = registry.persistent_local_buffer_size(step)
    alloc_shared, alloc_persistent = registry.get_toplevel_allocators(step)
    canary = registry.canary(step) if registry.guard_words else None
    arm, check = canary.device_functions() if canary else (unguarded, unchecked)

    @cuda.jit
    def kernel(states, errors, report):
        system = cuda.grid(1)
        if system < states.shape[0]:
            thread = cuda.threadIdx.x
            shared = alloc_shared()[thread * elements : (thread + 1) * elements]
            persistent = alloc_persistent()
            arm(shared, persistent)
            for n in range(steps):
                found = advance(states[system], PRECISION(dt), n == 0, shared, persistent)
                errors[system] = max(errors[system], found)
            check(shared, persistent, report)

    states = np.array(start, PRECISION)
    errors = np.zeros(len(states), PRECISION)
    report = canary.new_report() if canary else np.zeros(1, np.int32)
    blocks = -(-len(states) // THREADS)
    kernel[blocks, THREADS, 0, THREADS * elements * PRECISION().itemsize](states, errors, report)
    for damage in canary.damage(report) if canary else ():
        print("overwritten:", damage)
    return states, errors, registry.layouts(step)


def reference(start, dt, steps):
    """The same in float64 NumPy, with many small classical Runge-Kutta steps."""

    def slope(y):
        forward, onward = 2.0 * y[:, 0] - 0.5 * y[:, 1], y[:, 1] ** 2
        return np.stack([-forward, forward - onward, onward], axis=1)

    y, h = np.array(start, np.float64), dt / 8
    for _ in range(8 * steps):
        a = slope(y)
        b = slope(y + h / 2 * a)
        c = slope(y + h / 2 * b)
        y += h / 6 * (a + 2 * b + 2 * c + slope(y + h * c))
    return y


def main(arguments: list[str]) -> int:
    locations = dict(argument.split("=", 1) for argument in arguments if "=" in argument)
    registry = BufferRegistry(guard_words=2 if "--canary" in arguments else 0)
    start = np.random.default_rng(0).uniform(0.2, 1.0, size=(6, SPECIES)).astype(PRECISION)
    states, errors, layouts = integrate(start, 0.05, 20, locations, registry)
    print(layouts)
    print("largest error estimate:", errors.max())
    print("largest error:         ", np.abs(states - reference(start, 0.05, 20)).max())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
