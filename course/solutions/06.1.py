flags = {
    "a": True,
    "b": False,  # x has no such wish
    "c": True,
    "d": False,  # a bool
    "e": True,  # through w
    "f": False,  # nothing was recorded
    "g": True,  # through w
    "h": False,  # a.detach() is a leaf without the wish
}
