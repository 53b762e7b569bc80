"""Texts and names that tutor makes up itself: for language models, without any file.

Both are made by rules from a seed: the only arithmetic is + and * of integers, so the same seed
gives the same text on every machine.

`stories` writes small tales. They offer a model structure at every distance: which letters follow
each other, how words are spelled, which kind of word comes next, and who did what: the name, the
pronoun, the animal and the place at the beginning of a tale come back later in it.

`names` invents names in several languages that do not exist, each with its own syllables.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tutor._util.keyword_aliases import spelled
from tutor.data.loader import count

PEOPLE = (  # name, pronoun, possessive
    ("Ada", "she", "her"), ("Ben", "he", "his"), ("Clara", "she", "her"), ("David", "he", "his"),
    ("Emma", "she", "her"), ("Felix", "he", "his"), ("Grace", "she", "her"), ("Hugo", "he", "his"),
    ("Iris", "she", "her"), ("Jonas", "he", "his"), ("Kate", "she", "her"), ("Leo", "he", "his"),
)  # fmt: skip
ANIMALS = {  # what it does, the sound it makes
    "dog": ("ran", "barked"), "cat": ("crept", "purred"), "crow": ("flew", "cawed"),
    "goat": ("jumped", "bleated"), "horse": ("trotted", "neighed"), "duck": ("waddled", "quacked"),
    "mouse": ("scurried", "squeaked"), "owl": ("glided", "hooted"),
}  # fmt: skip
PLACES = ("garden", "forest", "river", "market", "old mill", "harbour", "meadow", "castle")
COLOURS = ("black", "white", "brown", "grey", "red", "spotted", "small", "lazy", "clever", "hungry")
THINGS = ("key", "apple", "letter", "lantern", "hat", "book", "coin", "map")
WEATHER = ("It was raining", "The sun was shining", "It was a cold morning", "The wind was strong",
           "It had snowed", "The night was clear")  # fmt: skip
NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
           "twelve")  # fmt: skip


def pick(roll: Random, choices: Sequence[str]) -> str:
    return choices[int(len(choices) * roll.random())]


@spelled
def stories(length: int, seed: int = 0) -> str:
    """At least `length` characters of complete tales; a larger length only adds tales."""
    count("stories of length", length, 0)
    count("stories with seed", seed, 0)
    roll, tales, written = Random(seed), [], 0
    while written < length:
        tales.append(tale(roll))
        written += len(tales[-1])
    return "".join(tales)


def tale(roll: Random) -> str:
    """One tale: who has which animal, where they go, what they find there, and how it ends."""
    name, he, his = PEOPLE[int(len(PEOPLE) * roll.random())]
    animal = pick(roll, tuple(ANIMALS))
    moved, sounded = ANIMALS[animal]
    colour, place, thing = pick(roll, COLOURS), pick(roll, PLACES), pick(roll, THINGS)
    sentences = [
        f"{pick(roll, WEATHER)} when {name} went to the {place} with {his} {colour} {animal}.",
        f"The {animal} {moved} ahead and {sounded}.",
    ]
    if roll.random() < 0.5:
        a, b = (1 + int(6 * roll.random()) for _ in range(2))
        sentences.append(
            f"{name} counted {NUMBERS[a - 1]} and {NUMBERS[b - 1]} {plural(thing, 2)}:"
            f" that made {NUMBERS[a + b - 1]}."
        )
    else:
        article = "an" if thing[0] in "aeiou" else "a"
        sentences.append(f"There {he} found {article} {thing}.")
    if roll.random() < 0.6:
        said = pick(roll, (f"Is this your {thing}?", f"Who lost the {thing}?", "What a find!"))
        sentences.append(f'"{said}" {he} asked the {animal}.')
    sentences.append(
        pick(roll, (
            f"But the {animal} only {sounded}, and {name} went home.",
            f"So {name} and {his} {animal} left the {place}, and the {thing} stayed there.",
            f"Then {he} gave the {thing} to the {animal}, which {sounded} and {moved} away.",
        ))
    )  # fmt: skip
    return " ".join(sentences) + "\n\n"


def plural(noun: str, number: int) -> str:
    return noun if number == 1 else f"{noun}s"


# ---- names ---------------------------------------------------------------------------------------

# Beginnings, middles and ends of each made-up language; a name has up to two middles.
LANGUAGES: dict[str, tuple[str, str, str]] = {
    "Avari": (
        "ae al ela fi ila li na sae thi vae",
        "la le lia ne ra ri the va",
        "el ia iel nor ras wen",
    ),
    "Brugh": (
        "bra dru gar gro kru mor thok ur",
        "ba dga ga gro ka mu za",
        "bash dak gash grom kar mug",
    ),
    "Castel": (
        "al be ca do es fe ga lo ma ro",
        "bi da ga li lo man na re ro",
        "ana dez ero ina osa rez",
    ),
    "Dvorin": (
        "bo dra go iva ka mi pe sta vla zo",
        "da li mi no ro sla ti",
        "chev enko ic ov ova sky",
    ),
    "Ekiri": (
        "a e ha ka ki mi na sa ta yu",
        "ka ki ko mi na ra shi to",
        "ka ki ko mi no ro",
    ),
    "Fjalla": (
        "as bjo ei gun hal sig sva tor ulf",
        "al bjo dis fri gei mu ri",
        "ar dis grim ir run son",
    ),
}


@spelled
def names(n: int, seed: int = 0) -> list[tuple[str, str]]:
    """`n` pairs (name, language), drawn by the seed; a larger n only adds more."""
    count("names, n =", n, 0)
    count("names with seed", seed, 0)
    roll, languages = Random(seed), tuple(LANGUAGES)
    return [name(roll, pick(roll, languages)) for _ in range(n)]


def name(roll: Random, language: str) -> tuple[str, str]:
    first, middle, last = (part.split() for part in LANGUAGES[language])
    inner = "".join(pick(roll, middle) for _ in range(int(3 * roll.random())))
    return (pick(roll, first) + inner + pick(roll, last)).capitalize(), language
