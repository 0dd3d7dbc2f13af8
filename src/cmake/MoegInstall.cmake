# (see below)
