// The room SystemIO.
