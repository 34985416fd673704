"""Bring what rendering without a screen needs: the EGL loader, a vendor's EGL, and a driver.

Installs Debian's Mesa packages where this runs as root with apt and something is missing; says the one
line that does elsewhere. What is there is found by use (load the library, initialise a display), since
a package manager knows neither a vendor's own driver nor a broken one.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys

PACKAGES = ("libegl1", "libegl-mesa0", "libgl1", "libgl1-mesa-dri")
INSTALL = ("apt-get", "install", "-y", "-qq", "--no-install-recommends", *PACKAGES)
EGL_PLATFORM_DEVICE_EXT = 0x313F
MAX_DEVICES = 16


def missing() -> str:
    """Return what stands in the way of rendering, in one clause; empty where nothing does."""
    for library in ("libEGL.so.1", "libGL.so.1"):
        try:
            ctypes.CDLL(library)
        except OSError:
            return f"the library {library} cannot be loaded"
    return "" if _initialises(ctypes.CDLL("libEGL.so.1")) else "no EGL display can be initialised (no driver)"


def _initialises(egl: ctypes.CDLL) -> bool:
    """Whether some EGL device gives a display that starts."""
    address = egl.eglGetProcAddress
    address.restype = ctypes.c_void_p
    query, display = address(b"eglQueryDevicesEXT"), address(b"eglGetPlatformDisplayEXT")
    if not query or not display:
        return False
    query_devices = ctypes.CFUNCTYPE(
        ctypes.c_uint, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_int)
    )(query)
    get_display = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p)(display)
    egl.eglInitialize.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    devices, count = (ctypes.c_void_p * MAX_DEVICES)(), ctypes.c_int()
    if not query_devices(MAX_DEVICES, devices, ctypes.byref(count)):
        return False
    handles = (get_display(EGL_PLATFORM_DEVICE_EXT, device, None) for device in devices[: count.value])
    return any(handle and egl.eglInitialize(handle, None, None) for handle in handles)


def probe() -> str:
    """Return `missing()` as a fresh process finds it: a driver that crashes cannot take this one along."""
    child = subprocess.run([sys.executable, __file__, "--probe"], capture_output=True, text=True, check=False)
    return child.stdout.strip() if child.returncode == 0 else "the EGL driver crashes"


def bring() -> int:
    """Bring what is missing and return the exit code."""
    if sys.platform != "linux" or os.environ.get("MUJOCO_GL", "egl") != "egl":
        return 0
    reason = probe()
    if reason and os.geteuid() == 0 and shutil.which("apt-get"):
        print(f"Rendering needs more: {reason}. Installing {' '.join(PACKAGES)}.", flush=True)
        subprocess.run(["apt-get", "update", "-qq"], check=True)
        subprocess.run(INSTALL, check=True, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
        reason = probe()
    if reason:
        print(f"Rendering is not possible: {reason}. Install it: sudo apt-get install -y {' '.join(PACKAGES)}")
    return 1 if reason else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--probe"]:
        print(missing())
    else:
        sys.exit(bring())
