"""The named errors: one small tree, so that a caller can catch as widely or as narrowly as wanted.

Every message names the argument, the value that was given and what is accepted.
"""


class TilewrightError(Exception):
    """Root of everything this package raises on purpose."""


class ArgumentError(TilewrightError, ValueError):
    """An argument has a value that is not accepted (shape, layout, spelling)."""


class DTypeError(TilewrightError, TypeError):
    """An array has an element type that is not supported, or two arrays disagree on it."""


class UnsupportedError(TilewrightError):
    """No stencil accepts this problem on this device."""


class CompileError(TilewrightError):
    """The compiler refused a generated source."""


class DeviceError(TilewrightError):
    """A device, a runtime library or a driver is missing or failed."""


class RoomError(DeviceError):
    """A GPU has no room for the memory that a launch needs beside its arrays."""


class RecordsError(TilewrightError):
    """A records file could not be read, written or imported."""


class KernelError(TilewrightError):
    """A kernel that was handed in gives wrong results, faults or does not end, whatever its parameters."""


class ClusterError(TilewrightError):
    """A cluster's scheduler or workers cannot be reached, or are of another version."""


class ClusterGone(ClusterError):
    """A cluster that was there is no more, or has no device left of the kind that is tuned."""
