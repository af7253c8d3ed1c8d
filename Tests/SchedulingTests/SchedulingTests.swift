// Tests of SchedulingTests.
