// The room JobLoader.
