"""Somebody's class, found by name or by file: benchmarks and policies come to us this way.

A file in a folder with an ``__init__.py`` is imported as ``folder.file``, so that it can use its
neighbours; any other file is imported under a name of its own. Folders are put at the *end* of the
module path: a neighbour called ``random.py`` must not hide the standard library's. Where another package
has the folder's name already (an adapter of ``metaworld`` in a folder ``metaworld``), the folder is imported
under a name of its own too: its files reach each other by relative imports.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import importlib.util
import inspect
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Mapping, Optional, Tuple, Union

from vlassess_link.digest import content_id
from vlassess_link.errors import PluginError
from vlassess_link.jsonable import to_json
from vlassess_link.specs import UNKNOWN, BenchmarkSpec, PolicySpec

Base = Union[type, Tuple[type, ...]]


def load_target(target: str, base: Base, params: Mapping[str, Any]) -> Any:
    """Return an instance of the class that a target names.

    A policy's identity is completed: ``script_digest`` becomes the SHA-256 of the class's file and
    ``config_digest`` that of ``params``, each only where it is "unknown".

    Args:
        target: ``package.module:Class``, ``path/to/file.py:Class``, or ``path/to/file.py`` where the file
            defines exactly one class of the right kind.
        base: What the class must be derived from.
        params: Keyword arguments of its constructor.

    Raises:
        PluginError: the target cannot be found, imported, constructed, or is of another kind; says why.
    """
    return construct(load_class(target, base), params, target)


def construct(cls: Any, params: Mapping[str, Any], target: str) -> Any:
    """Return ``cls(**params)``, its policy identity completed; see `load_target`.

    Raises:
        PluginError: it does not take the parameters, or raised; names ``target``.
    """
    try:
        inspect.signature(cls).bind(**params)
    except TypeError as error:
        raise PluginError(f"{target}: {cls.__name__} does not take the given parameters: {error}") from None
    try:
        instance = cls(**params)
        _complete_identity(instance, cls, params)
    except (Exception, SystemExit) as error:
        raise PluginError(f"{target}: {cls.__name__}() raised {_last_line(error)}") from error
    found = getattr(instance, "spec", None)
    if not isinstance(found, (BenchmarkSpec, PolicySpec)):
        raise PluginError(
            f"{target}: `spec` of {cls.__name__} is {'missing' if found is None else f'a {type(found).__name__}'}; "
            "set it in the class or in its constructor: a benchmark's is a BenchmarkSpec, a policy's a PolicySpec"
        )
    return instance


def load_class(target: str, base: Base) -> Any:
    """Return the class that a target names; see `load_target`.

    Raises:
        PluginError: it cannot be found or imported, or is of another kind.
    """
    place, _, name = target.rpartition(":")
    if target.endswith(".py"):
        place, name = target, ""
    if not place or not (name or target.endswith(".py")):
        raise PluginError(f"{target!r} names no class: write package.module:Class or path/to/file.py:Class")
    is_file = place.endswith(".py") or "/" in place
    module = _import_file(target, Path(place)) if is_file else _import_module(target, place)
    found = getattr(module, name, None) if name else _only_class(target, module, base)
    if found is None:
        raise PluginError(f"{target}: {place} has no {name!r}; it has {_offered(module, base) or 'no such class'}")
    if not (isinstance(found, type) and issubclass(found, base)):
        raise PluginError(f"{target}: {name!r} is not a {_names(base)}; derive it from one")
    return found


def _import_module(target: str, name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(error.name + ".")):
            raise PluginError(f"{target}: there is no module {error.name!r}; install it or name a file") from None
        raise PluginError(f"{target}: importing it raised {_last_line(error)}") from error
    except (Exception, SystemExit) as error:
        raise PluginError(f"{target}: importing it raised {_last_line(error)}") from error


def _import_file(target: str, path: Path) -> ModuleType:
    path = Path(os.path.expanduser(path)).resolve()
    if not path.is_file():
        raise PluginError(f"{target}: there is no file {path}; correct the path")
    in_package = (path.parent / "__init__.py").is_file()
    folder = path.parent.parent if in_package else path.parent
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    if not in_package:
        return _import_alone(target, path, _own_name(path))
    package = path.parent.name
    if _is_taken(package, path.parent):
        package = _own_name(path.parent)
        _import_alone(target, path.parent / "__init__.py", package)
    module = _import_module(target, f"{package}.{path.stem}")
    if Path(module.__file__ or "").resolve() != path:
        raise PluginError(
            f"{target}: the name {module.__name__!r} already belongs to {module.__file__}; rename the folder of {path}"
        )
    return module


def _own_name(path: Path) -> str:
    return f"vlassess_plugin_{path.stem}_{content_id(str(path))[:8]}"


def _is_taken(package: str, folder: Path) -> bool:
    """Whether the top-level name belongs to something else than ``folder``; imports nothing."""
    importlib.invalidate_caches()
    try:
        found = importlib.util.find_spec(package)
    except ValueError:  # a module without a spec, as __main__ may be
        return True
    places = found.submodule_search_locations or () if found is not None else ()
    return folder not in [Path(place).resolve() for place in places]


def _import_alone(target: str, path: Path, name: str) -> ModuleType:
    if name in sys.modules:
        return sys.modules[name]
    folders = [str(path.parent)] if path.name == "__init__.py" else None
    spec = importlib.util.spec_from_file_location(name, path, submodule_search_locations=folders)
    if spec is None or spec.loader is None:
        raise PluginError(f"{target}: {path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up while they are being defined.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise PluginError(f"{target}: importing it raised {_last_line(error)}") from error
    return module


def _only_class(target: str, module: ModuleType, base: Base) -> Any:
    own = _own_classes(module, base)
    if len(own) != 1:
        listed = ", ".join(cls.__name__ for cls in own) or "none"
        raise PluginError(f"{target}: it must define exactly one {_names(base)}, not {listed}: write {target}:Class")
    return own[0]


def _own_classes(module: ModuleType, base: Base) -> Tuple[Any, ...]:
    values = (value for value in vars(module).values() if isinstance(value, type) and issubclass(value, base))
    return tuple(value for value in values if value.__module__ == module.__name__)


def _offered(module: ModuleType, base: Base) -> str:
    return ", ".join(sorted(cls.__name__ for cls in _own_classes(module, base)))


def _names(base: Base) -> str:
    return " or ".join(cls.__name__ for cls in (base if isinstance(base, tuple) else (base,)))


def _last_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[-1]}" if lines else type(error).__name__


def _complete_identity(instance: Any, cls: Any, params: Mapping[str, Any]) -> None:
    spec: Optional[Any] = getattr(instance, "spec", None)
    if not isinstance(spec, PolicySpec):
        return
    identity = spec.identity
    if identity.script_digest == UNKNOWN:
        source = Path(inspect.getfile(cls))
        if source.is_file():
            identity = dataclasses.replace(identity, script_digest=hashlib.sha256(source.read_bytes()).hexdigest())
    if identity.config_digest == UNKNOWN:
        identity = dataclasses.replace(identity, config_digest=_config_digest(params))
    instance.spec = dataclasses.replace(spec, identity=identity)


def _config_digest(params: Mapping[str, Any]) -> str:
    return content_id(to_json(dict(params)))
