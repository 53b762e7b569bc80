import tokenize


def tokens(text):
    """Names, numbers, operators and strings of a text; strings that are statements are free."""
    counted = (tokenize.NAME, tokenize.NUMBER, tokenize.OP, tokenize.STRING)
    count, alone, begun = 0, False, False  # alone: the statement is one string so far
    lines = iter(text.splitlines(keepends=True))
    for token in tokenize.generate_tokens(lines.__next__):
        if token.type == tokenize.NEWLINE:
            count -= alone
            alone = begun = False
        elif token.type in counted:
            alone = token.type == tokenize.STRING and not begun
            begun = True
            count += 1
    return count
