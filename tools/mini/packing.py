"""Packs conversations into rows of tokens, in processes of their own.

A row holds whole conversations as long as they fit; what is left is padding, a sequence without weight. Prompt and answer become tokens
separately, as they do where the model is used: the prompt is given, the answer written token by token.
"""
import bisect
import itertools
import multiprocessing
import os
import pathlib
import random

import numpy

os.environ["TOKENIZERS_PARALLELISM"] = "false"
from tokenizers import Tokenizer  # noqa: E402  (reads the variable above)

import texts  # noqa: E402

WAITING = 48  # conversations that a row is filled from


def encoded(tokenizer, drawn):
    """Token ids of a conversation and the weight of each as a target, which is that of the piece it begins in."""
    ids, weights = [], []
    ends = list(itertools.accumulate(len(text) for text, _ in drawn.pieces))
    for text, start in ((drawn.prompt, 0), (drawn.answer, len(drawn.prompt))):
        encoding = tokenizer.encode(text, add_special_tokens=False)
        ids += encoding.ids
        weights += [drawn.pieces[bisect.bisect_right(ends, start + first)][1] for first, _ in encoding.offsets]
    return ids, weights


def rows(tokenizer, rng, length):
    """Yields ids, weights and sequence numbers of rows without end."""
    waiting = []
    while True:
        ids = numpy.zeros(length, numpy.int16)
        weights = numpy.zeros(length, numpy.float32)
        segments = numpy.zeros(length, numpy.int16)
        at = count = 0
        while True:
            while len(waiting) < WAITING:
                drawn = encoded(tokenizer, texts.mixture(rng, length))
                if len(drawn[0]) <= length:
                    waiting.append(drawn)
            fits = [index for index, each in enumerate(waiting) if len(each[0]) <= length - at]
            if not fits:
                break
            # the oldest that fits; when little is left, the longest that fits
            index = fits[0] if length - at > length // 2 else max(fits, key=lambda each: len(waiting[each][0]))
            drawn_ids, drawn_weights = waiting.pop(index)
            end = at + len(drawn_ids)
            ids[at:end], weights[at:end], segments[at:end] = drawn_ids, drawn_weights, count
            at, count = end, count + 1
        segments[at:] = count
        yield ids, weights, segments


def work(queue, tokenizer_file, seed, length, rows_a_batch):
    tokenizer = Tokenizer.from_file(tokenizer_file)
    source = rows(tokenizer, random.Random(seed), length)
    while True:
        queue.put(tuple(numpy.stack(each) for each in zip(*(next(source) for _ in range(rows_a_batch)))))


class Feeder:
    """Processes that fill a queue with batches of one row length; `next` takes one."""

    def __init__(self, folder, seed, length, rows_a_batch, processes):
        context = multiprocessing.get_context("spawn")
        self.queue = context.Queue(2 * processes)
        file = str(pathlib.Path(folder) / "tokenizer.json")
        self.processes = [context.Process(target=work, args=(self.queue, file, f"{seed}/{length}/{index}", length, rows_a_batch), daemon=True)
                          for index in range(processes)]
        for process in self.processes:
            process.start()

    def next(self):
        return self.queue.get(timeout=120)

    def stop(self):
        for process in self.processes:
            process.terminate()
