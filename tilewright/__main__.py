"""The command by the name of the package: ``python -m tilewright``."""

from tilewright.cli.main import main

if __name__ == "__main__":
    main()
