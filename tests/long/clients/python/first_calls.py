"""Runs the first calls of one client and prints one JSON line for each: what it was, and why it failed if it did."""

import asyncio
import inspect
import json
import os

ORIGIN = os.environ["GATEWAY_ORIGIN"]
KEY = os.environ["GATEWAY_API_KEY"]
_calls = []


def call(title):
    """Registers a function as a call of the client under test."""

    def register(function):
        _calls.append((title, function))
        return function

    return register


def run():
    for title, function in _calls:
        why = None
        try:
            result = function()
            if inspect.isawaitable(result):
                asyncio.run(asyncio.wait_for(result, 60))
        except BaseException as error:  # A client may end the program; the next call still runs.
            why = f"{type(error).__name__}: {error}"[:600]
        print(json.dumps({"call": title, "why": why}), flush=True)
    # Some clients leave threads behind that would keep the process alive.
    os._exit(0)
