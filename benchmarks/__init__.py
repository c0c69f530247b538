"""How fast the program is, measured against its peers on the machine at hand: `make bench`."""
