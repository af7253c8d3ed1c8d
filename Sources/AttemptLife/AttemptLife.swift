// The room AttemptLife.
