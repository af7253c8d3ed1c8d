// The room Scheduling.
