sizes = [
    (5, 3, 19),  # no size fits its tile; more than two panels; both edges meet in a corner
    (8, 4, 12),  # every size fits: is the edge treated where there is none?
    (1, 1, 1),  # smaller than a tile
]
