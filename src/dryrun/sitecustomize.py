"""Python runs this before any program, because a dry run puts its folder first on PYTHONPATH. It starts the watching, takes the folder off
the path again, and runs the sitecustomize that would have run without it."""
import os
import sys


def _next_one(here):
    """Loads the user's own sitecustomize, in the place of this one."""
    import importlib.machinery
    import importlib.util

    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    mine = sys.modules.get("sitecustomize")
    sys.modules["sitecustomize"] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules["sitecustomize"] = mine
        raise


_here = os.path.dirname(os.path.abspath(__file__))
if os.environ.get("WEFT_DRY_DIR"):
    import weft_dry

    weft_dry.start()
sys.path[:] = [p for p in sys.path if os.path.abspath(p) != _here]
_next_one(_here)
