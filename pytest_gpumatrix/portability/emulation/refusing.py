"""Refuses operators of PyTorch as the posed device's libraries would, wherever they are called from."""

from __future__ import annotations

import builtins
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from pytest_gpumatrix.hardware.capability import ComputeCapability
from pytest_gpumatrix.portability.emulation import refusals
from pytest_gpumatrix.portability.emulation.refusals import Backend, Call, ErrorType


class _Depth(threading.local):
    """What this thread is in: a backend of attention calls other operators of the table, which are not asked again."""

    in_attention = False


class Refusing:
    """Puts a kernel of ours before PyTorch's own, for the few operators that the device may refuse.

    In the dispatcher, and not by a TorchDispatchMode: no other operator is touched, threads of autograd and code that
    torch.compile made pass here too, and Dynamo sees nothing that would keep it from compiling. ``notes`` says
    what could not be refused. Another ``dispatch_key`` than "CUDA" is for trying it without a GPU.
    """

    def __init__(self, capability: ComputeCapability, dispatch_key: str = "CUDA") -> None:
        self._capability = capability
        self._key = dispatch_key
        self._table = refusals.load()
        self._library: Any = None
        self._depth = _Depth()
        self.notes: tuple[str, ...] = ()
        self.modules: Mapping[str, Callable[[ModuleType], None]] = {"torch": self._follow}

    def undo(self) -> None:
        """PyTorch's own kernels are called again."""
        if self._library is not None:
            self._library._destroy()
            self._library = None

    def _follow(self, torch: ModuleType) -> None:
        known = set(torch._C._dispatch_get_all_op_names())
        if not hasattr(torch.library, "get_kernel"):
            run = f"operators that its libraries refuse on {self._capability} run here all the same"
            self.notes = (f"PyTorch {torch.__version__} is too old for this: {run}",)
            return
        self._library = torch.library.Library("aten", "IMPL")
        for operator in dict.fromkeys(self._table.operators(self._capability)):
            name = f"aten::{operator}"  # a PyTorch may be older than the operator, or have no code for a GPU
            if name in known and torch._C._dispatch_has_kernel_for_dispatch_key(name, self._key):
                self._stand_before(torch, operator)

    def _stand_before(self, torch: ModuleType, operator: str) -> None:
        own = torch.library.get_kernel(f"aten::{operator}", self._key)
        name, _, overload = operator.partition(".")
        names = [argument.name for argument in torch._C._get_schema(f"aten::{name}", overload).arguments]
        backend = self._table.attention_operators.get(operator)

        def kernel(keyset: Any, *args: Any, **kwargs: Any) -> Any:
            arguments = {**dict(zip(names, args, strict=False)), **kwargs}
            if backend is None:
                if not self._depth.in_attention:
                    self._refuse_operator(torch, operator, arguments)
                return own.call_boxed(keyset, *args, **kwargs)
            self._refuse_attention(torch, backend, arguments)
            self._depth.in_attention = True
            try:
                return own.call_boxed(keyset, *args, **kwargs)
            finally:
                self._depth.in_attention = False

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that a kernel is overridden, which is what is meant
            self._library.impl(operator, kernel, self._key, with_keyset=True)

    def _refuse_operator(self, torch: ModuleType, operator: str, arguments: Mapping[str, Any]) -> None:
        refusal = self._table.of(operator, _call(torch, arguments), self._capability)
        if refusal is not None:
            raise _error(refusal.raises, refusal.sentence)

    def _refuse_attention(self, torch: ModuleType, backend: Backend, arguments: Mapping[str, Any]) -> None:
        settings = torch.backends.cuda
        if settings.math_sdp_enabled():  # it serves every call
            return
        call = _call(torch, arguments)
        here = [backend, *_backends_here(settings, arguments)]
        if not any(self._table.serves(other, call, self._capability) for other in here):
            raise _error(self._table.attention.raises, self._table.attention.sentence)


def _call(torch: ModuleType, arguments: Mapping[str, Any]) -> Call:
    tensors = [value for value in arguments.values() if isinstance(value, torch.Tensor)]
    query = arguments.get("query")
    recipes = [*(arguments.get("recipe_a") or ()), *(arguments.get("recipe_b") or ())]
    asked = (arguments.get(name) for name in ("query", "key", "value"))
    return Call(
        dtype=str(tensors[0].dtype).removeprefix("torch.") if tensors else "",
        head_dim=int(query.shape[-1]) if query is not None else None,
        training=torch.is_grad_enabled() and any(tensor is not None and tensor.requires_grad for tensor in asked),
        dropout=bool(arguments.get("dropout_p")),
        recipes=frozenset(int(recipe) for recipe in recipes),
    )


def _backends_here(settings: Any, arguments: Mapping[str, Any]) -> Sequence[Backend]:
    """The backends that are switched on, and that would serve this call on the card that is here."""
    query, key = arguments["query"], arguments["key"]
    parameters = settings.SDPAParams(
        query,
        key,
        arguments["value"],
        arguments.get("attn_bias"),
        float(arguments.get("dropout_p") or 0.0),
        bool(arguments.get("is_causal")),
        query.shape[-3] != key.shape[-3],  # groups of heads share keys
    )
    able = {
        Backend.FLASH: settings.flash_sdp_enabled() and settings.can_use_flash_attention(parameters),
        Backend.EFFICIENT: settings.mem_efficient_sdp_enabled() and settings.can_use_efficient_attention(parameters),
        Backend.CUDNN: settings.cudnn_sdp_enabled() and settings.can_use_cudnn_attention(parameters),
    }
    return [backend for backend, serves in able.items() if serves]


def _error(kind: ErrorType, sentence: str) -> Exception:
    made: Exception = getattr(builtins, kind.value)(sentence)
    return made
