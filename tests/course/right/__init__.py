"""Right answers that are not written as ours are: {id: [answer, ...]}. None may be refused."""
