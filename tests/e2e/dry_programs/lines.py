"""Asks the stand-in driver for memory from lines of every kind, each time for another number of bytes, without PyTorch. Prints, for each number,
the file, line and function from which Python itself says that it is asked."""
import asyncio
import ctypes
import functools
import json
import sys
import threading

PAGE = 2 << 20
place = ctypes.byref(ctypes.c_void_p())
expected = {}
with_lock = ctypes.PyDLL(None).cudaMalloc  # keeps Python's lock while it runs, as some of PyTorch's calls do; `ask` gives it back
ask = ctypes.CDLL(None).cudaMalloc
for call in (ask, with_lock):
    call.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def size(lines_above=0, frames_above=0):
    frame = sys._getframe(1 + frames_above)
    number = (len(expected) + 1) * PAGE
    name = getattr(frame.f_code, "co_qualname", frame.f_code.co_name)  # from 3.11 on
    expected[number] = [frame.f_code.co_filename, frame.f_lineno - lines_above, name]
    return number


def function():
    ask(place, size())


def caller():
    function()
    ask(place, size())


def generator():
    for _ in range(2):
        ask(place, size())
        yield


async def coroutine():
    await asyncio.sleep(0)
    ask(
        place,
        size(2),
    )


class Body:
    with_lock(place, size())

    def method(self):
        return [ask(place, size()) for _ in range(2)]


def deep(levels):
    if levels:
        return deep(levels - 1)
    ask(place, size())


def raises():
    try:
        raise ValueError
    except ValueError:
        ask(place, size())
    finally:
        ask(place, size())


@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
def compare(a, b):
    ask(place, size())
    return 0


def fünktiön():
    ask(place, size())


caller()
list(generator())
asyncio.run(coroutine())
Body().method()
deep(300)
raises()
ctypes.CDLL(None).qsort(ctypes.create_string_buffer(8), ctypes.c_size_t(2), ctypes.c_size_t(4), compare)
function()  # after C called Python
fünktiön()
functools.partial(function)()
(lambda: ask(place, size()))()
exec("x = 1\nask(place, size(frames_above=1))")  # which has no file: it is this line
for _ in range(4):
    thread = threading.Thread(target=caller)
    thread.start()
    thread.join()
ask(place, size())
json.dump(expected, sys.stdout)
