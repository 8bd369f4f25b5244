"""Launcher for use from a checkout that is not installed: `python cli.py --help`."""

from genie_dp.launch import main

if __name__ == "__main__":
    main()
