// The room Diagnostics.
