// The room JobRunner.
