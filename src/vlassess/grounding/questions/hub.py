"""Questions from the Hugging Face Hub, read by its own library ``datasets``: the extra ``hub``."""

from __future__ import annotations

import importlib.util
from typing import Any

from vlassess.grounding.questions.files import LONGEST_QUESTION, gsm8k
from vlassess.grounding.questions.pools import Pool
from vlassess.grounding.questions.question import QuestionError, Split
from vlassess.schema.grounding import HUB

GSM8K = "openai/gsm8k"
_CONFIGURATION = "main"
_SPLITS: dict[Split, str] = {"train": "train", "evaluation": "test"}


def hub_gsm8k(name: str, split: Split, longest: int = LONGEST_QUESTION, seed: int = 0) -> Pool:
    """Return the word problems of one split of GSM8K on the hub, or of a folder that is laid out like it.

    Args:
        name: Of the data set; empty: `GSM8K`. A folder that ``datasets`` can load, with a configuration "main" and the
            splits "train" and "test", does as well.
        split: "train" is the hub's "train", "evaluation" its "test".
        longest: Characters of a question beyond which it is left out.
        seed: Of the wrong answers, see `read_gsm8k`.

    Raises:
        QuestionError: ``datasets`` is not installed, there is no such data set, or nothing is left of it.
    """
    if importlib.util.find_spec("datasets") is None:
        raise QuestionError("questions from the hub need the library datasets: install `vlassess[hub]`, or give a file")
    return gsm8k(_rows(name or GSM8K, _SPLITS[split]), longest, seed)


def _rows(name: str, split: str) -> Any:
    import datasets

    try:
        return datasets.load_dataset(name, _CONFIGURATION, split=split)
    except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
        first = next(iter(str(error).splitlines()), type(error).__name__)
        raise QuestionError(
            f"{HUB}{name} cannot be loaded ({first}); see that the hub can be reached and has it with the "
            f"configuration {_CONFIGURATION!r} and the split {split!r}, or give a JSONL file"
        ) from error
