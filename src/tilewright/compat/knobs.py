"""``triton.knobs``: settings by attribute or by environment variable.

They are stored so that scripts can set, read and restore them. Two have an effect here, as the
environment variables have it: ``runtime.interpret`` (what `hardware` returns) and
``runtime.debug`` (kernels are compiled with their asserts). The rest is about a GPU's compiler.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

_CUDA_RELEASE = "13.0"
propagate_env = True


@dataclass(frozen=True)
class _Setting:
    """An environment variable and how its text is read."""

    key: str
    default: Any = None
    read: Callable[[str], Any] = str


def _flag(key: str, default: bool | None = False) -> _Setting:
    return _Setting(key, default, lambda text: text.lower() in ("1", "true", "on", "yes", "y"))


def _integer(key: str, default: int) -> _Setting:
    return _Setting(key, default, int)


class HookChain:
    """Functions that are called sequentially."""

    def __init__(self, reversed: bool = False) -> None:
        self.calls: list[Callable[..., Any]] = []
        self.reversed = reversed

    def add(self, func: Callable[..., Any]) -> None:
        if func not in self.calls:
            self.calls.append(func)

    def remove(self, func: Callable[..., Any]) -> None:
        if func in self.calls:
            self.calls.remove(func)

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        for each in self.calls[::-1] if self.reversed else self.calls:
            each(*args, **kwargs)


class base_knobs:
    """A group of settings; what is not set comes from the environment."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.__dict__["_settings"] = dict(settings)
        self.__dict__["_values"] = {}

    def __getattr__(self, name: str) -> Any:
        values: dict[str, Any] = self.__dict__["_values"]
        if name in values:
            return values[name]
        setting = self._known(name)
        if not isinstance(setting, _Setting):
            return setting
        text = os.environ.get(setting.key)
        return setting.default if text is None else setting.read(text)

    def __setattr__(self, name: str, value: Any) -> None:
        setting = self._known(name)
        self.__dict__["_values"][name] = value
        if propagate_env and isinstance(setting, _Setting):
            _set_environment(setting.key, value)

    def __delattr__(self, name: str) -> None:
        self._known(name)
        self.__dict__["_values"].pop(name, None)

    def _known(self, name: str) -> Any:
        settings: dict[str, Any] = self.__dict__["_settings"]
        if name not in settings:
            raise AttributeError(f"triton.knobs has no setting {name!r} here")
        return settings[name]

    @property
    def knobs(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.knob_descriptors}

    @property
    def knob_descriptors(self) -> dict[str, _Setting]:
        settings: dict[str, Any] = self.__dict__["_settings"]
        return {name: each for name, each in settings.items() if isinstance(each, _Setting)}

    def copy(self) -> base_knobs:
        other = base_knobs(self.__dict__["_settings"])
        other.__dict__["_values"].update(self.__dict__["_values"])
        return other

    def reset(self) -> base_knobs:
        self.__dict__["_values"].clear()
        return self

    def clear(self) -> None:
        """Everything at its default, in the environment too."""
        self.reset()
        for setting in self.knob_descriptors.values():
            os.environ.pop(setting.key, None)

    def state(self) -> tuple[dict[str, Any], dict[str, str | None]]:
        """What is set, and the environment of these settings."""
        keys = [setting.key for setting in self.knob_descriptors.values()]
        return dict(self.__dict__["_values"]), {key: os.environ.get(key) for key in keys}

    def restore(self, state: tuple[Mapping[str, Any], Mapping[str, str | None]]) -> None:
        """Back to what `state` gave."""
        values, environment = state
        self.reset()
        self.__dict__["_values"].update(values)
        for key, text in environment.items():
            _set_environment(key, text)

    @contextmanager
    def scope(self) -> Generator[None]:
        """What is set inside the ``with`` ends with it."""
        before = self.state()
        try:
            yield
        finally:
            self.restore(before)


def _set_environment(key: str, value: Any) -> None:
    if value is None:
        os.environ.pop(key, None)
    elif isinstance(value, bool):
        os.environ[key] = "1" if value else "0"
    elif isinstance(value, (int, str)):
        os.environ[key] = str(value)


class _Cache(base_knobs):
    def get_triton_dir(self, dirname: str) -> str:
        return str(Path(self.home_dir) / ".triton" / dirname)


def _below_home(name: str) -> str:
    return str(Path.home() / ".triton" / name)


def _tool(name: str) -> SimpleNamespace:
    return SimpleNamespace(path=name, version=_CUDA_RELEASE)


build = base_knobs(
    {
        "cc": _Setting("CC"),
        "cudacrt_path": _Setting("TRITON_CUDACRT_PATH"),
        "cudart_path": _Setting("TRITON_CUDART_PATH"),
        "impl": None,
    }
)
redis = base_knobs(
    {
        "key_format": _Setting("TRITON_REDIS_KEY_FORMAT", "triton:{key}:{filename}"),
        "host": _Setting("TRITON_REDIS_HOST", "localhost"),
        "port": _integer("TRITON_REDIS_PORT", 6379),
    }
)
cache = _Cache(
    {
        "home_dir": _Setting("TRITON_HOME", str(Path.home())),
        "dump_dir": _Setting("TRITON_DUMP_DIR", _below_home("dump")),
        "override_dir": _Setting("TRITON_OVERRIDE_DIR", _below_home("override")),
        "dir": _Setting("TRITON_CACHE_DIR", _below_home("cache")),
        "manager_class": None,
        "remote_manager_class": None,
    }
)
compilation = base_knobs(
    {
        "override": _flag("TRITON_KERNEL_OVERRIDE"),
        "dump_ir": _flag("TRITON_KERNEL_DUMP"),
        "dump_ir_extract_di_local_variables": _flag("LLVM_EXTRACT_DI_LOCAL_VARIABLES"),
        "store_binary_only": _flag("TRITON_STORE_BINARY_ONLY"),
        "always_compile": _flag("TRITON_ALWAYS_COMPILE"),
        "use_ir_loc": _Setting("USE_IR_LOC"),
        "enable_asan": _flag("TRITON_ENABLE_ASAN"),
        "disable_line_info": _flag("TRITON_DISABLE_LINE_INFO"),
        "front_end_debugging": _flag("TRITON_FRONT_END_DEBUGGING"),
        "allow_non_constexpr_globals": _flag("TRITON_ALLOW_NON_CONSTEXPR_GLOBALS"),
        "instrumentation_mode": _Setting("TRITON_INSTRUMENTATION_MODE", ""),
        "fpsan_homomorphic_casts": _flag("TRITON_FPSAN_HOMOMORPHIC_CASTS"),
        "listener": None,
    }
)
autotuning = base_knobs(
    {
        "cache": _flag("TRITON_CACHE_AUTOTUNING"),
        "print": _flag("TRITON_PRINT_AUTOTUNING"),
        "listener": None,
    }
)
runtime = base_knobs(
    {
        "interpret": _flag("TRITON_INTERPRET"),
        "debug": _flag("TRITON_DEBUG"),
        "override_arch": _Setting("TRITON_OVERRIDE_ARCH"),
        "launch_enter_hook": HookChain(),
        "launch_exit_hook": HookChain(reversed=True),
        "kernel_load_start_hook": HookChain(),
        "kernel_load_end_hook": HookChain(reversed=True),
        "kernel_unload_hook": HookChain(),
        "jit_cache_hook": None,
        "jit_post_compile_hook": None,
        "add_stages_inspection_hook": None,
    }
)
language = base_knobs(
    {
        "fp32_default": _Setting("TRITON_F32_DEFAULT"),
        "default_fp_fusion": _flag("TRITON_DEFAULT_FP_FUSION", default=True),
    }
)
nvidia = base_knobs(
    {
        **{name: _tool(name) for name in ("cuobjdump", "nvdisasm", "ptxas")},
        "ptxas_blackwell": _tool("ptxas-blackwell"),
        "dump_nvptx": _flag("NVPTX_ENABLE_DUMP"),
        "disable_ptxas_opt": _flag("DISABLE_PTXAS_OPT"),
        "ptxas_options": _Setting("PTXAS_OPTIONS"),
        "mock_ptx_version": _Setting("TRITON_MOCK_PTX_VERSION"),
        "dump_ptxas_log": _flag("TRITON_DUMP_PTXAS_LOG"),
        "libdevice_path": _Setting("TRITON_LIBDEVICE_PATH"),
        "libcuda_path": _Setting("TRITON_LIBCUDA_PATH"),
    }
)
amd = base_knobs(
    {
        "use_buffer_ops": _flag("AMDGCN_USE_BUFFER_OPS", default=True),
        "use_buffer_atomics": _flag("AMDGCN_USE_BUFFER_ATOMICS", default=True),
        "dump_amdgcn": _flag("AMDGCN_ENABLE_DUMP"),
        "libhip_path": _Setting("TRITON_LIBHIP_PATH"),
        "use_block_pingpong": _flag("TRITON_HIP_USE_BLOCK_PINGPONG", default=None),
        "use_in_thread_transpose": _flag("TRITON_HIP_USE_IN_THREAD_TRANSPOSE", default=None),
        "use_async_copy": _flag("TRITON_HIP_USE_ASYNC_COPY", default=None),
        "scalarize_packed_fops": _flag("AMDGCN_SCALARIZE_PACKED_FOPS"),
    }
)
proton = base_knobs(
    {
        "disable": _flag("TRITON_PROTON_DISABLE"),
        "enable_nvtx": _flag("TRITON_ENABLE_NVTX", default=True),
        "profile_buffer_size": _integer("TRITON_PROFILE_BUFFER_SIZE", 64 * 1024 * 1024),
    }
)


def refresh_knobs() -> None:
    """Nothing to read again: what is not set is read from the environment every time."""
