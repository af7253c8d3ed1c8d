// Tests of AttemptLifeTests.
