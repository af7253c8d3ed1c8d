// The room TextFormats.
