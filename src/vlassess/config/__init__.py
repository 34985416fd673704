"""YAML files and command-line overrides to one typed, strict `RunConfig`."""

from vlassess.config.layers import bundled_configs
from vlassess.config.load import ConfigError, config_of, load_config, override_config, read_params
from vlassess.config.models import load_model, override_model

__all__ = [
    "ConfigError",
    "bundled_configs",
    "config_of",
    "load_config",
    "load_model",
    "override_config",
    "override_model",
    "read_params",
]
