"""Bugs of training on ranks: other bits on another number of them, gradients that are not those of
the batch."""

from mutant import Mutant

DATA_PARALLEL = "dist/test_data_parallel.py"

PARALLEL_MUTANTS = [
    Mutant(
        "leaves are added one after another", "tutor/dist/leaves.py",
        "while self.branches and self.branches[-1][0] == count:", "while self.branches:",
        DATA_PARALLEL,
        "2 ranks end with other bits than 1",
        only="tree_of_leaves",
    ),
    Mutant(
        "each rank's leaves draw the same numbers", "tutor/dist/parallel.py",
        "own = (rank() * running.own + k) << APART", "own = k << APART",
        DATA_PARALLEL,
        "dropout on 2 ranks differs from dropout on 1",
        only="test_the_bits_of_one_rank and 2",
    ),
    Mutant(
        "a leaf goes on with the running mean of the one before", "tutor/dist/statistics.py",
        "if t.buf.version != version:\n                t.assign(before)",
        "if t.buf.version == version:\n                t.assign(before)",
        DATA_PARALLEL,
        "a batch norm's statistics depend on the number of ranks",
        only="running_statistics",
    ),
    Mutant(
        "what a rank has not becomes 0", "tutor/dist/buckets.py",
        "NOTHING = -0.0", "NOTHING = 0.0",
        DATA_PARALLEL,
        "-0.0 becomes 0.0 where a rank has no rows",
        only="changes_no_bit",
    ),
    Mutant(
        "ranks count alike, however many rows they have", "tutor/dist/walks.py",
        "self.walk.current.arrived(i, g * self.weight)", "self.walk.current.arrived(i, g)",
        DATA_PARALLEL,
        "the rows of a short last part count more than others",
        only="not_as_many",
    ),
    Mutant(
        "a parameter that nobody uses gets a gradient", "tutor/dist/rounds.py",
        "None if g is None or not n else g / rows", "None if g is None else g / rows",
        DATA_PARALLEL,
        "Adam moves it by what it remembers",
        only="no_rank_uses",
    ),
    Mutant(
        "no bucket leaves before backward is done", "tutor/dist/buckets.py",
        "while len(self.sent) < len(self.buckets) and not self.missing[len(self.sent)]:",
        "while False:",
        DATA_PARALLEL,
        "the ranks wait for all of the messages, one after another",
        only="bucket_leaves",
    ),
    Mutant(
        "pieces of parameters are counted from 0 in each", "tutor/dist/sharded.py",
        "first = rank() * own - at[p.dtype]", "first = rank() * own",
        "dist/test_sharded.py",
        "what the ranks hand round is put where other numbers belong",
        only="same_bits",
    ),
    Mutant(
        "a shard is cut otherwise than its batch", "tutor/data/shard.py",
        "    if parts % 2:", "    if True:",
        "data/test_shard.py",
        "leaves of 2 ranks are other rows than those of 1",
        only="part_of_a_part",
    ),
    Mutant(
        "a rank stops for a Ctrl-C that the others have not seen", "train_mnist.py",
        'return not step % ASKED and dist.all_reduce(asked, "max").item() > 0',
        "return self.asked",
        "dist/test_train_on_ranks.py",
        "the others wait for it, and end with a DistError",
        only="reaches_one",
    ),
    Mutant(
        "a sharded run keeps all of the state on each rank", "train_mnist.py",
        "partial(dist.Sharded, kind) if args.sharded and dist.size() > 1 else kind", "kind",
        "dist/test_train_on_ranks.py",
        "--sharded says that memory is spared, and spares none",
        only="sharded_run",
    ),
    Mutant(
        "rows are chosen by positions that are elsewhere", "tutor/data/dataset.py",
        "t.index_select(0, index.to(t.device))", "t.index_select(0, index)",
        "devices/test_device_data.py",
        "a loader that shuffles data on a device is refused",
    ),
    Mutant(
        "a loader moves its batches nowhere", "tutor/data/loader.py",
        "made = map(partial(moved, device=self.device), made)", "pass",
        "devices/test_device_data.py",
        "DataLoader(device=) is accepted, and the first layer refuses the batch",
    ),
    Mutant(
        "a ring sends once too often", "tutor/dist/cost.py",
        "return 2 * (ranks - 1) * (link", "return 2 * ranks * (link",
        "dist/test_cost.py",
        "one rank by itself waits for its own message",
        only="formula",
    ),
]  # fmt: skip
