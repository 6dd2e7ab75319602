"""`python -m foglight` is the command line."""

from foglight.cli import main

if __name__ == "__main__":
    main()
