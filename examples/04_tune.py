"""Tuning from Python: search, look at what was found, and see that calls use it."""

import tilewright as tw


def main() -> None:
    before = tw.explain("d:6x5x7@100000")
    # A few seconds are enough for a good kernel; tw.tune("d:2..32", effort="patient") is for a lunch break.
    results = tw.tune("d:6x5x7", budget=2, regimes=["memory"], listen=tell)
    for result in results:
        print(f"\n{result.tried} tries in {result.seconds:.1f} s: {result.statuses}")
        if result.best is not None:
            print("winner:", result.best.stencil, result.best.config)
    print("\nbefore:", before, "\nafter:", tw.explain("d:6x5x7@100000"), sep="\n")


def tell(state: object) -> None:
    print(".", end="", flush=True)


# The tuner starts child processes that import this file: keep its work under this line.
if __name__ == "__main__":
    main()
