"""Which part of a plan a run takes: one shard of several, or a few items that stand for all."""

from vlassess.sharding.parts import Shard, ShardError, limit_items, parse_shard, partition, shard_items

__all__ = ["Shard", "ShardError", "limit_items", "parse_shard", "partition", "shard_items"]
