def weeks(files, most):
    """The paths to read in each week: after what they import, at most so many lines."""
    paths = {path for path, _, _ in files}
    left, done, plan, room = list(files), set(), [], 0
    while left:
        ready = [file for file in left if set(file[2]) & paths <= done and file[1] <= room]
        if ready:
            file = max(ready, key=lambda file: file[1])
            left.remove(file)
            done.add(file[0])
            plan[-1].append(file[0])
            room -= file[1]
        else:
            plan.append([])
            room = most
    return plan
