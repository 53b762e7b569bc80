"""Right answers that are written otherwise than ours: {id: {what differs: text of the cell}}.

A check must take them all: it asks for what the text asks for, and not for our way of doing it.
"""
