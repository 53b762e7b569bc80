"""Bugs of ranks: other bits, a wait without an end, a failure that nobody is told of."""

from mutant import Mutant

GROUP, SUMS = "tutor/distributed/group.py", "tutor/distributed/sums.py"
SHARED, MPI, LAUNCHER = (
    "tutor/distributed/shared.py",
    "tutor/distributed/mpi.py",
    "tutor/distributed/launcher.py",
)
ALL, FAILURES = "distributed/test_collectives.py", "distributed/test_distributed_failures.py"

RANK_MUTANTS = [
    Mutant(
        "ranks add from the left", SUMS,
        'ORDERS = {"tree": tree, "line": line}', 'ORDERS = {"tree": line, "line": line}',
        ALL,
        "4 ranks end with other bits than 1",
        only="leaves or 4-shared",
    ),
    Mutant(
        "ranks cut their tree in the middle", SUMS,
        "half = 1 << (len(rows) - 1).bit_length() - 1", "half = len(rows) // 2",
        ALL,
        "of 3 ranks, r0 + (r1 + r2): the order is another than it is said to be",
        only="the_tree or 3-shared",
    ),
    Mutant(
        "a rank's mean forgets to divide", SUMS,
        'if op == "mean":', 'if op == "average":',
        ALL,
        "gradients are as many times too large as there are ranks",
        only="2-shared",
    ),
    Mutant(
        "a bucket leaves before it is whole", "tutor/distributed/buckets.py",
        "and not self.missing[len(self.sent)]:", "and not all(self.missing[len(self.sent) :]):",
        "distributed/test_parallel.py",
        "a layer that is listed before the one it follows: gradients that come later are lost",
        only="no_rank_uses",
    ),
    Mutant(
        "a rank's change in place is not noted", "tutor/distributed/collectives.py",
        "(self.x if isinstance(self.x, Buffer) else self.x.buf).touch()", "pass",
        ALL,
        "a derivative is computed with numbers that all_reduce has changed, in silence",
        only="out_of_date",
    ),
    Mutant(
        "ranks do not compare what they call", GROUP,
        "if said.agreed != note.agreed}", "if said.call == note.agreed}",
        FAILURES,
        "the sum of one rank's weights and another one's biases, or a wait",
        only="other and shared",
    ),
    Mutant(
        "a rank that is broken goes on", GROUP,
        "            if self.broken:\n                raise self._once_more(note)\n", "",
        FAILURES,
        "after an error that was caught, each call waits for a rank that is gone",
        only="kill-shared",
    ),
    Mutant(
        "an exception is not told to the other ranks", GROUP,
        'self.transport.tell({self.rank: f"has ended by', '({self.rank: f"has ended by',
        FAILURES,
        "the others say that a rank has ended, and not why, or wait for it",
        only="raise-shared",
    ),
    Mutant(
        "kernels of ranks run in whatever block the program is in", GROUP,
        "return self._context.run(_on, backend, move)", "return move()",
        ALL,
        "within tutor.lazy() nothing is added until later, when the other ranks are gone",
        only="promise or beside",
    ),
    Mutant(
        "a socket that closes is not noticed", SHARED,
        "self.closed[rank] = time.monotonic()", "pass",
        FAILURES,
        "a rank that has ended is waited for as long as one that is late",
        only="well-shared",
    ),
    Mutant(
        "the launcher keeps how a rank ended for itself", LAUNCHER,
        "other.control.sendall(word)", "pass",
        FAILURES,
        "the others do not know that it was SIGKILL: memory that ran out, say",
        only="kill-shared",
    ),
    Mutant(
        "the launcher leaves the others alone", LAUNCHER,
        "                os.killpg(self.process.pid, number)\n", "                pass\n",
        FAILURES,
        "a rank that computes for ever keeps its CPU when all others have ended",
        only="never-shared",
    ),
    Mutant(
        "what a rank starts takes itself for a rank", SHARED,
        'partition(" ")[0] == str(os.getppid())', 'partition(" ")[0] != ""',
        "distributed/test_launcher.py",
        "a program that a rank starts fails at the first line of tutor.distributed",
        only="is_told",
    ),
    Mutant(
        "MPI_Init is waited for without an end", MPI,
        "starting.join(timeout)", "starting.join()",
        FAILURES,
        "a rank that ends before it has found the others leaves them waiting for ever",
        only="never_looks",
    ),
    Mutant(
        "a request of MPI is waited for without an end", MPI,
        "if waited > timeout + GRACE / 4:", "if waited > timeout + 1000:",
        FAILURES,
        "one rank that hangs is all of them that hang",
        only="stop-mpi",
    ),
    Mutant(
        "a rank that has done its part is missed for its last word", MPI,
        "if self.did[r] <= self.exchanges:", "if self.did[r] >= 0:",
        FAILURES,
        "on a busy machine the first rank that comes to its end ends the others with an error",
        only="faster",
    ),
    Mutant(
        "a batch that goes in by name has one row", "tutor/distributed/parallel.py",
        ".watch([inputs, options], result)", ".watch(list(inputs), result)",
        "distributed/test_parallel.py",
        "the mean over ranks whose parts are not alike is not that over their rows",
        only="by_name",
    ),
    Mutant(
        "a piece begins where its memory does", "tutor/distributed/sharded.py",
        "p.offset + start, requires_grad=True", "start, requires_grad=True",
        "distributed/test_sharded.py",
        "of a model that is flattened into one row each step changes another parameter",
        only="larger_memory",
    ),
]  # fmt: skip
