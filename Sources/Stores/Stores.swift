// The room Stores.
