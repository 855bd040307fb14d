"""TLX's Hopper and Blackwell tutorials: how each is run (`cases`), one at a time (`__main__`)."""
