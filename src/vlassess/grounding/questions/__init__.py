"""Questions with one right answer: generated, from a bank of our own, or from files of others."""

from vlassess.grounding.questions.arithmetic import arithmetic
from vlassess.grounding.questions.bank import bank
from vlassess.grounding.questions.files import read_commonsenseqa, read_gsm8k, read_mmlu
from vlassess.grounding.questions.hub import hub_gsm8k
from vlassess.grounding.questions.pools import Pool, shared, split_of, wrong_options
from vlassess.grounding.questions.question import Question, QuestionError, Split, normalised, number, same
from vlassess.grounding.questions.word_problems import word_problems

__all__ = [
    "Pool",
    "Question",
    "QuestionError",
    "Split",
    "arithmetic",
    "bank",
    "hub_gsm8k",
    "normalised",
    "number",
    "read_commonsenseqa",
    "read_gsm8k",
    "read_mmlu",
    "same",
    "shared",
    "split_of",
    "word_problems",
    "wrong_options",
]
