"""Lets objects arrive that torch.distributed sends from process to process. It packs them into bytes on the device, which the stand-in moves, but compares and
adds their sizes there as well, which no kernel does here. So while one of its functions for objects runs, each operator on integers that are known is
computed on the host too, and the stand-in is told what came out. What isn't known stays unknown."""
import ctypes
import functools
import threading


class _Unknown(Exception):
    pass


class _Memory:
    """The few bytes of device memory that the stand-in knows."""

    def __init__(self, torch, library):
        self._torch = torch
        self._known, self._put, self._hold = library.weft_dry_known, library.weft_dry_put, library.weft_dry_hold
        self._known.argtypes, self._known.restype = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t], ctypes.c_size_t
        self._put.argtypes, self._put.restype = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t], None
        self._hold.argtypes, self._hold.restype = [ctypes.c_int], ctypes.c_long

    @staticmethod
    def _extent(tensor):
        """Bytes from its first element to the end of its last."""
        if not tensor.numel():
            return 0
        return (1 + sum((n - 1) * stride for n, stride in zip(tensor.shape, tensor.stride()))) * tensor.element_size()

    def on_host(self, tensor):
        """The same tensor in memory of the host."""
        if not tensor.is_cuda:
            return tensor
        if tensor.layout != self._torch.strided or tensor.is_floating_point() or tensor.is_complex():
            raise _Unknown
        size = self._extent(tensor)
        data = bytearray(size or 1)
        if self._known(tensor.data_ptr(), (ctypes.c_char * len(data)).from_buffer(data), size) < size:
            raise _Unknown
        flat = self._torch.frombuffer(data, dtype=self._torch.uint8)[:size]
        return flat.view(tensor.dtype).as_strided(tensor.shape, tensor.stride())

    def write(self, tensor, copy):
        """Device memory holds the same as the copy from now on; None: it isn't known what."""
        same = copy is not None and copy.dtype == tensor.dtype and copy.shape == tensor.shape and tensor.is_contiguous()
        data = bytes(copy.contiguous().view(-1).view(self._torch.uint8).numpy()) if same else None
        self._put(tensor.data_ptr(), data, self._extent(tensor))

    def grown(self, tensor):
        """Nobody wrote what was added behind what there was: zeros may stand there as well as anything."""
        size = self._extent(tensor)
        there = self._known(tensor.data_ptr(), ctypes.create_string_buffer(size or 1), size)
        if there < size:
            self._put(tensor.data_ptr() + there, bytes(size - there), size - there)

    def run(self, function):
        """Its result, and whether anything ran that writes to device memory; nothing is forgotten for that."""
        self._hold(1)
        try:
            result = function()
        finally:
            ran = self._hold(0)
        return result, ran


def _written(operator, result, args, kwargs, leaves):
    """Tensors that the operator wrote: its results, and the arguments that its schema names."""
    arguments = operator._schema.arguments
    given = dict(zip([a.name for a in arguments], args), **kwargs)
    changed = [given[a.name] for a in arguments if a.alias_info is not None and a.alias_info.is_write and a.name in given]
    return leaves((result, changed))


def _follower(torch, memory):
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves, tree_map_only

    def copies_of(args, kwargs):
        try:
            copies = tree_map_only(torch.Tensor, memory.on_host, (args, kwargs))
        except _Unknown:
            return None
        return tree_map_only(torch.device, lambda device: torch.device("cpu"), copies)

    def on_host(operator, args, kwargs):
        try:
            return _written(operator, operator(*args, **kwargs), args, kwargs, tree_leaves)
        except Exception:  # not on the host, or not with these values
            return None

    class Follower(TorchDispatchMode):
        def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            if operator.namespace != "aten":  # collectives move what they move
                return operator(*args, **kwargs)
            copies = copies_of(args, kwargs)
            result, ran = memory.run(lambda: operator(*args, **kwargs))
            if operator._schema.name == "aten::resize_":
                memory.grown(result)
            elif ran:
                host = on_host(operator, *copies) if copies else None
                for i, tensor in enumerate(_written(operator, result, args, kwargs, tree_leaves)):
                    if isinstance(tensor, torch.Tensor) and tensor.is_cuda:
                        memory.write(tensor, host[i] if host else None)
            return result

    return Follower


def follow(torch, library):
    """From now on, in all functions of torch.distributed that send or receive objects."""
    c10d = getattr(getattr(torch, "distributed", None), "distributed_c10d", None)  # None: built without
    names = [name for name in dir(c10d) if "object" in name and not name.startswith("_")]
    follower = _follower(torch, _Memory(torch, library)) if names else None
    here = threading.local()

    def followed(function):
        @functools.wraps(function)
        def run(*args, **kwargs):
            if getattr(here, "follows", False):  # one of them calls another
                return function(*args, **kwargs)
            here.follows = True
            try:
                with follower():
                    return function(*args, **kwargs)
            finally:
                here.follows = False

        return run

    for name in names:
        function = followed(getattr(c10d, name))
        setattr(c10d, name, function)
        setattr(torch.distributed, name, function)
