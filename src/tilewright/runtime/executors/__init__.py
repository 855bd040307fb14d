"""Work for many processes or machines: fuzzing, schedules, mutants, configurations of a kernel.

Work is a named function of one JSON value, and an item is that function with a value. The key of an
item is a digest of both and of the sources that decide over the result, so that equal items are
done once, results are merged by key, and a log of results is good for the next run:

    gather.gathered(Work.of("tests.fuzz.judging:judge"), values, executor=executor)
         │ submits, retries, merges, logs, reports progress
         ▼
    any `concurrent.futures.Executor`: `processes.processes`, Dask (`dask`), MPI, loky, Ray
         │ runs `worker.perform`
         ▼
    a process of its own for each worker, which an item may end: only that item fails

An item that raises has raised: that is its result. An item whose process died or went silent is
tried again elsewhere, and after some tries reported as *poisonous*, with what was seen.
"""
