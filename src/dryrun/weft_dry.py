"""Watches a PyTorch program from inside while it runs dry: turns on PyTorch's memory history before the first allocation, counts steps of
optimisers, and writes down which memory holds parameters, gradients and optimiser state. Keeps no reference to any tensor, so the
program's memory is what it would be without.

Writes into $WEFT_DRY_DIR: roles.PID.jsonl (rows as they come) and snapshot.PID.pickle (torch.cuda.memory._snapshot() at the end)."""
import atexit
import errno
import gc
import json
import os
import sys
import time

import weft_dry_objects

ROLE_STEPS = 16  # roles are looked up after each of the first steps, then after those that are powers of two
MANY_REQUESTS = 300000  # for memory; what is recorded of each takes about 3 KB of the host's


class _Loader:
    """Loads a module as its own loader does, and calls `then` once it is there."""

    def __init__(self, loader, then):
        self._loader, self._then = loader, then

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__loader__ = module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._then(module)

    def __getattr__(self, name):
        return getattr(self._loader, name)


class _Finder:
    """Lets the other finders find torch, and learns when it has been loaded."""

    def __init__(self, then):
        self._then = then

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        for finder in sys.meta_path:
            find = None if finder is self else getattr(finder, "find_spec", None)
            spec = find(name, path, target) if find else None
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _Loader(spec.loader, self._then)
                return spec
        return None


class _Rows:
    """The file of rows; opened with the first of them."""

    def __init__(self, folder):
        self._path = os.path.join(folder, "roles.%d.jsonl" % os.getpid())
        self._file = None
        self._lost = False

    def begun(self):
        return self._file is not None

    def put(self, **row):
        try:
            if self._file is None:
                self._file = open(self._path, "w", encoding="utf-8")
            if not self._lost:
                self._file.write(json.dumps(row) + "\n")
        except OSError as error:
            self._lose(error)

    def flush(self):
        try:
            if self._file is not None and not self._lost:
                self._file.flush()
        except OSError as error:
            self._lose(error)

    def _lose(self, error):
        """The disk is full, most likely: no fault of the program, which goes on. One row instead of all says that nothing can be told."""
        self._lost = True
        if error.errno == errno.ENOENT:  # the command has read all and is gone: whoever outlives it is told about by nobody
            return
        print("weft dry-run: %s can't be written: %s" % (self._path, error.strerror), file=sys.stderr)
        try:
            os.truncate(self._path, 0)
            with open(self._path, "w", encoding="utf-8") as file:
                file.write(json.dumps({"kind": "lost", "text": error.strerror}) + "\n")
        except OSError:
            pass


class _Modules:
    """Modules whose forward ran, by weak reference, with their paths; and, where PyTorch can note it with an allocation, the path of the
    one that runs."""

    def __init__(self, torch, seen, entered):
        import threading
        import warnings
        import weakref

        self._torch, self._seen, self._entered = torch, seen, entered
        self._paths = weakref.WeakKeyDictionary()
        self._roots = {}  # how many of each name
        self._thread = threading.local()
        self._note = getattr(torch._C, "_cuda_setMemoryMetadata", None)
        # What torch.compile says of hooks like these; while it traces they do nothing.
        warnings.filterwarnings("ignore", message="Using `torch.compile\\(module\\)` when there are global hooks")
        hooks = torch.nn.modules.module
        hooks.register_module_forward_pre_hook(self._enter)
        if self._note:
            hooks.register_module_forward_hook(self._leave, always_call=True)

    def all(self):
        return list(self._paths.items())

    def _learn(self, root):
        name = type(root).__name__
        self._roots[name] = self._roots.get(name, 0) + 1
        if self._roots[name] > 1:
            name = "%s#%d" % (name, self._roots[name])
        for path, module in root.named_modules():
            if module not in self._paths:
                self._paths[module] = (name + "." + path if path else name).replace("._orig_mod", "")
                self._seen(module, self._paths[module])

    def _enter(self, module, _):
        if self._torch.compiler.is_compiling():
            return
        self._entered()
        if module not in self._paths:
            self._learn(module)
        if self._note:
            stack = self._thread.__dict__.setdefault("stack", [])
            stack.append(self._paths[module])
            if self._torch.cuda.is_initialized():
                self._note(stack[-1])

    def _leave(self, module, _, output):
        stack = self._thread.__dict__.get("stack")
        if self._torch.compiler.is_compiling() or not stack:
            return
        stack.pop()
        if self._torch.cuda.is_initialized():
            self._note(stack[-1] if stack else "")


class _Graphs:
    """Optimizer steps that are captured in a CUDA graph: they are taken when it is replayed."""

    def __init__(self, torch, stepped):
        import functools
        import weakref

        self._torch = torch
        self._steps = weakref.WeakKeyDictionary()  # by graph
        self._captured = lambda: None  # the graph of the last capture
        begin, replay = torch.cuda.CUDAGraph.capture_begin, torch.cuda.CUDAGraph.replay

        @functools.wraps(begin)
        def watched_begin(graph, *args, **kwargs):
            begin(graph, *args, **kwargs)
            self._captured = weakref.ref(graph)
            self._steps.pop(graph, None)

        @functools.wraps(replay)
        def watched_replay(graph, *args, **kwargs):
            replay(graph, *args, **kwargs)
            for _ in range(self._steps.get(graph, 0)):
                stepped()

        torch.cuda.CUDAGraph.capture_begin, torch.cuda.CUDAGraph.replay = watched_begin, watched_replay

    def captures(self):
        """Whether the step that was just made is captured; then it is kept with its graph."""
        graph = self._captured()
        if graph is None or not self._torch.cuda.is_initialized() or not self._torch.cuda.is_current_stream_capturing():
            return False
        self._steps[graph] = self._steps.get(graph, 0) + 1
        return True


class _Watch:
    def __init__(self, folder, steps):
        self.folder, self.steps_wanted = folder, steps
        self.rows = _Rows(folder)
        self.pid, self.steps, self.done = os.getpid(), 0, False
        self.forked = False
        self.torch = self.modules = self.optimizers = self.graphs = self.stand_in = None
        self.stepped = False  # in compiled code, which can't count
        self.entered = 0  # how often a module's forward began
        self.told_many = self.finishing = False
        self.last = {}  # (role, device): {address: bytes} as last written
        self.exit_at_once = os._exit
        os._exit = self._exit
        os.register_at_fork(before=self._before_fork, after_in_child=self._begin_in_child)

    # ---- beginning ----

    def _before_fork(self):
        self.rows.flush()  # or the child would write its copy of what the file's buffer holds

    def _begin_in_child(self):
        """A forked child is a process of its own, which the report names if it does something with a GPU."""
        self.rows = _Rows(self.folder)
        self.pid, self.steps, self.forked = os.getpid(), 0, True
        self.stepped = self.finishing = False
        self.last = {}

    def _introduce(self, torch, state):
        version, cuda, hip = torch.__version__, torch.version.cuda, getattr(torch.version, "hip", None)
        self.rows.put(kind="python", python=sys.version.split()[0], executable=sys.executable, torch=str(version), cuda=cuda, hip=hip,
                      state=state, argv=sys.argv)
        self.rows.flush()

    def torch_loaded(self, torch):
        state = "cuda" if torch.version.cuda else "rocm" if getattr(torch.version, "hip", None) else "cpu"
        self._introduce(torch, state)
        if state != "cuda":
            self.torch = None
            self.done = True
            raise SystemExit(2)
        version = torch.__version__
        self.torch = torch
        try:
            self._hook(torch)
        except Exception as error:  # a release that works otherwise: said in the report, the program goes on
            self._note("PyTorch %s can't be watched as older ones: %s: %s" % (version, type(error).__name__, error))

    def _hook(self, torch):
        import ctypes
        import weakref

        try:
            self.library = ctypes.CDLL(None)
            self.stand_in = self.library.weft_dry_step
        except AttributeError:  # it would run on the machine's own GPU, if there is one
            self._introduce(torch, "no stand-in")
            self.done = True
            raise SystemExit(2)
        self.record = torch.cuda.memory._record_memory_history
        torch.cuda._lazy_call(self._cuda_begins)
        torch.cuda.memory._record_memory_history = self._record_asked
        self.limit, torch._C._cuda_setMemoryFraction = torch._C._cuda_setMemoryFraction, self._limit_asked
        from torch.optim.optimizer import register_optimizer_step_post_hook

        register_optimizer_step_post_hook(self._step_ended)
        weft_dry_objects.follow(torch, self.library)
        self.optimizers = weakref.WeakSet()
        self.modules = _Modules(torch, self._module_seen, self._module_entered)
        self.graphs = _Graphs(torch, self._count_step)

    def _cuda_begins(self):
        if self.forked and not self.rows.begun():
            self._introduce(self.torch, "cuda")
        # Not before: PyTorch takes the question for the use of a GPU, after which no child may be forked that uses one.
        self.rows.put(kind="code", architectures=getattr(self.torch._C, "_cuda_getArchFlags", str)() or "")
        try:
            self.record("all", context="all", stacks="python", max_entries=sys.maxsize)
        except Exception as error:
            self._note("no memory history: %s: %s" % (type(error).__name__, error))
        observe = getattr(self.torch._C, "_cuda_attach_out_of_memory_observer", None)
        try:
            if observe:
                observe(lambda *_: self._look())  # who holds it when it runs out
        except Exception:  # an allocator that can't be observed records no history either, which is said
            pass

    def _record_asked(self, *args, **kwargs):
        self._note("the program records memory history itself; the dry run's recording goes on in its place")

    def _limit_asked(self, fraction, device):
        self.limit(fraction, device)
        self.rows.put(kind="fraction", device=device, text=repr(fraction))
        self.rows.flush()

    def _note(self, text):
        self.rows.put(kind="note", text=text)
        self.rows.flush()

    # ---- whose memory ----

    def _storages(self, tensor, depth=0):
        """(device, address, bytes) of a tensor's storage; of a tensor made of others, of theirs."""
        torch = self.torch
        if not isinstance(tensor, torch.Tensor) or depth > 4:
            return
        inner = getattr(tensor, "__tensor_flatten__", None)
        if inner is not None:
            for name in inner()[0]:
                yield from self._storages(getattr(tensor, name), depth + 1)
        elif tensor.is_cuda and tensor.layout == torch.strided:
            storage = tensor.untyped_storage()
            if storage.nbytes():
                yield tensor.device.index, storage.data_ptr(), storage.nbytes()
        elif tensor.is_cuda and tensor.layout == torch.sparse_coo:
            yield from self._storages(tensor._indices(), depth + 1)
            yield from self._storages(tensor._values(), depth + 1)

    def _collect(self, found, role, values, module=""):
        for value in values:
            if isinstance(value, (list, tuple)):
                self._collect(found, role, value, module)
            elif isinstance(value, dict):
                self._collect(found, role, value.values(), module)
            else:
                try:
                    for device, address, size in self._storages(value):
                        found.setdefault((role, device), {})[address] = (size, module)
                except Exception:  # a tensor of a kind without storage
                    pass

    def _module_tensors(self, found, module, path):
        self._collect(found, "parameter", module._parameters.values(), path)
        self._collect(found, "buffer", module._buffers.values(), path)

    def _write_roles(self, found):
        now = time.time_ns() // 1000
        for (role, device), storages in found.items():
            last = self.last.setdefault((role, device), {})
            for address, (size, module) in storages.items():
                if last.get(address) != (size, module):
                    self.rows.put(kind="role", role=role, device=device, address=address, bytes=size, module=module, step=self.steps,
                                  time_us=now)
            self.last[(role, device)] = storages

    def _module_seen(self, module, path):
        found = {}
        self._module_tensors(found, module, path)
        for key, storages in found.items():
            storages.update(self.last.get(key, {}))
        self._write_roles(found)

    def _look(self):
        """Looks up what is held now."""
        try:
            found, path_of = {}, {}
            for module, path in self.modules.all():
                self._module_tensors(found, module, path)
                for p in [p for p in module._parameters.values() if p is not None]:
                    path_of[id(p)] = path
                    self._collect(found, "gradient", [p.grad], path)
            # What never ran is in no list: before the first step, an average of weights, all that compiled code trains.
            if self.steps & (self.steps - 1) == 0 or self.finishing:
                if not self.optimizers:
                    self.optimizers.update(o for o in gc.get_objects() if issubclass(type(o), self.torch.optim.Optimizer))
                for p in [p for p in gc.get_objects() if issubclass(type(p), self.torch.nn.Parameter)]:
                    self._collect(found, "parameter", [p], path_of.get(id(p), ""))
                    self._collect(found, "gradient", [p.grad], path_of.get(id(p), ""))
            for optimizer in list(self.optimizers):
                for p in [p for group in getattr(optimizer, "param_groups", ()) for p in group["params"]]:
                    path = path_of.get(id(p), "")
                    self._collect(found, "parameter", [p], path)
                    self._collect(found, "gradient", [p.grad], path)
                    self._collect(found, "optimizer", [optimizer.state.get(p, {})], path)
            self._write_roles(found)
        except Exception as error:
            self._note("who holds memory isn't known: %s: %s" % (type(error).__name__, error))

    # ---- steps and the end ----

    def _step_ended(self, optimizer, args, kwargs):
        if self.torch.compiler.is_compiling():
            self.stepped = True  # compiled code does this each time it has run
            return
        self.optimizers.add(optimizer)
        if self.graphs is None or not self.graphs.captures():
            self._count_step()

    def _module_entered(self):
        self.entered += 1
        if self.stepped:
            self.stepped = False
            self._count_step()
        if self.entered % 1024 == 0:
            self._tell_many()

    def _tell_many(self):
        """Says once that what is recorded grows large: --steps may be missing, or a loop waits for a value."""
        if self.told_many or not self.torch.cuda.is_initialized():
            return
        requests = self.torch.cuda.memory_stats_as_nested_dict().get("allocation", {}).get("all", {}).get("allocated", 0)
        if requests >= MANY_REQUESTS:
            self.told_many = True
            print("weft dry-run: %s requests for memory are recorded so far, at about 3 KB of this machine's memory each; %d optimizer "
                  "steps. A training shows within a few steps what it needs: --steps 3. A loop that waits for a value of the GPU doesn't "
                  "end, all are zeros. Ctrl-C ends the program; then comes the report of what it did." % (format(requests, ","), self.steps),
                  file=sys.stderr)

    def _count_step(self):
        if self.done or os.getpid() != self.pid:
            return
        self.steps += 1
        if self.stand_in is not None:
            self.stand_in()
        if self.steps <= ROLE_STEPS or self.steps & (self.steps - 1) == 0:
            self._look()
        self.rows.put(kind="step", step=self.steps, time_us=time.time_ns() // 1000)
        self.rows.flush()
        if self.steps_wanted and self.steps >= self.steps_wanted:
            self.finish("steps", "")
            raise SystemExit(0)

    def at_exit(self):
        """What ended the program: Python keeps an exception that nobody caught."""
        import signal
        import threading

        self.finishing = True
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # what is known is written whole
        if self.stepped:
            self.stepped = False
            self.steps_wanted = 0
            self._count_step()
        kind, error = getattr(sys, "last_type", None), getattr(sys, "last_value", None)
        ended, text = "exit", ""
        if kind is not None:
            ended, text = "exception", ": ".join([kind.__name__] + [" ".join(str(error).split())] * bool(str(error)))
            if issubclass(kind, KeyboardInterrupt):
                ended = "interrupt"
            elif self.torch is not None and issubclass(kind, self.torch.cuda.OutOfMemoryError):
                ended = "oom"
        self.finish(ended, text)
        if self.torch is not None and self.torch.cuda.is_initialized():
            time.sleep(0.05)  # autograd's threads still free what they held: PyTorch aborts if Python is gone by then

    def _exit(self, status):
        """In the place of os._exit, which runs nothing at the end: forked workers of multiprocessing end by it."""
        fine = status in (0, 128 + 15)  # ended by whoever started it is an end
        try:
            self.finish("exit" if fine else "status", "" if fine else "exit status %d" % status)
        except BaseException:  # whatever happened, it is the program's end
            pass
        self.exit_at_once(status)

    def finish(self, ended, text):
        """Writes what is known. Only the first end counts."""
        if self.done or os.getpid() != self.pid or (self.forked and not self.rows.begun()):
            return
        self.done = self.finishing = True
        if self.torch is None:
            self.rows.put(kind="python", python=sys.version.split()[0], executable=sys.executable, torch=None, state="no torch",
                          argv=getattr(sys, "argv", []), found=_has_torch())
        elif self.torch.cuda.is_initialized():
            if self.modules:
                self._look()
            try:
                self._dump()
            except OSError as error:
                self.rows.put(kind="lost", text="the memory history: %s: %s" % (type(error).__name__, error))
            except Exception as error:  # an allocator that has none
                self._note("the memory history can't be had: %s: %s" % (type(error).__name__, error))
        self._note_hidden()
        self.rows.put(kind="end", ended=ended, text=text[:2000], steps=self.steps, time_us=time.time_ns() // 1000)
        self.rows.flush()

    def _note_hidden(self):
        """A program that sees no GPU mostly was meant for another machine's."""
        chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
        if self.stand_in is not None and chosen is not None and not self.library.weft_dry_visible():
            self.rows.put(kind="hidden", text="CUDA_VISIBLE_DEVICES=" + chosen, count=self.library.weft_dry_devices())

    def _dump(self):
        import pickle

        path = os.path.join(self.folder, "snapshot.%d.pickle" % self.pid)
        try:
            with open(path + ".part", "wb") as file:
                pickle.dump(self.torch.cuda.memory._snapshot(), file, protocol=4)
            os.replace(path + ".part", path)
        except OSError:
            if os.path.exists(path + ".part"):
                os.unlink(path + ".part")
            raise


def _has_torch():
    """Whether this Python could import torch."""
    import importlib.util

    try:
        return importlib.util.find_spec("torch") is not None
    except (ImportError, ValueError):
        return False


def _catch_term(watch):
    """A launcher ends its workers by SIGTERM: then, too, what is known is written. Whoever signals the whole group, as timeout does, sends
    a second one at once by way of the command."""
    import signal
    import threading

    last = [-1e9]

    def end(number, frame):
        again = time.monotonic() - last[0] < 5
        last[0] = time.monotonic()
        if not again and not watch.finishing:
            raise SystemExit(128 + number)

    # None: the stand-in driver's own handler, which knows nothing of Python
    unhandled = signal.getsignal(signal.SIGTERM) in (signal.SIG_DFL, None)
    if threading.current_thread() is threading.main_thread() and unhandled:
        signal.signal(signal.SIGTERM, end)


def _show_driver(folder):
    """Triton links what it compiles with the driver, which it looks for by its file's name."""
    library = next((p for p in os.environ.get("LD_PRELOAD", "").replace(":", " ").split() if os.path.basename(p) == "libweft-dry.so"), None)
    place = os.path.join(folder, "driver")
    if library is None or "TRITON_LIBCUDA_PATH" in os.environ:
        return
    try:
        os.makedirs(place, exist_ok=True)
        if not os.path.lexists(os.path.join(place, "libcuda.so.1")):
            os.symlink(library, os.path.join(place, "libcuda.so.1"))
    except FileExistsError:  # another process of the run was first
        pass
    except OSError:
        return
    os.environ["TRITON_LIBCUDA_PATH"] = place


def start():
    folder = os.environ["WEFT_DRY_DIR"]
    _show_driver(folder)
    watch = _Watch(folder, int(os.environ.get("WEFT_DRY_STEPS") or 0))

    def torch_loaded(torch):
        atexit.register(watch.at_exit)  # after torch's own, so that it runs before them
        _catch_term(watch)
        watch.torch_loaded(torch)

    atexit.register(watch.at_exit)
    sys.meta_path.insert(0, _Finder(torch_loaded))
