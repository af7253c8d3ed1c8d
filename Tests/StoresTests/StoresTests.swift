// Tests of StoresTests.
