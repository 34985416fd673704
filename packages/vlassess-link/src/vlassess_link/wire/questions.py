"""The message "answer": a question with options, asked without a robot. Typed values to payloads and back."""

from __future__ import annotations

from typing import Any, Dict, Mapping, Tuple

from vlassess_link.errors import DecodeError

Options = Mapping[str, str]
"""What may be answered, a letter or a name -> what it stands for."""


def question_payload(question: str, options: Options) -> Dict[str, Any]:
    """Return the payload that asks."""
    return {"question": question, "options": dict(options)}


def parse_question(payload: Mapping[str, Any]) -> Tuple[str, Dict[str, str]]:
    """Return what is asked, and the options.

    Raises:
        DecodeError: a field is missing or has the wrong type.
    """
    question, options = payload.get("question"), payload.get("options")
    if not isinstance(question, str):
        raise DecodeError(f"the question is a {type(question).__name__}; it must be a text")
    if not isinstance(options, dict) or not all(isinstance(text, str) for pair in options.items() for text in pair):
        raise DecodeError("the question's options must be a map of texts to texts")
    return question, options


def choice_payload(choice: str) -> Dict[str, Any]:
    """Return the payload that answers."""
    return {"choice": choice}


def parse_choice(payload: Mapping[str, Any]) -> str:
    """Return what was answered; whether it is one of the options is for the asker to say.

    Raises:
        DecodeError: it is no text.
    """
    choice = payload.get("choice")
    if not isinstance(choice, str):
        raise DecodeError(f"the answer to a question is a {type(choice).__name__}; it must be a text")
    return choice
